"""`pritchel fit`: from a table to a model folder."""

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from pritchel.cli.common import INTERRUPTED, AsJson, NaValues, Overwrite, plain_errors, print_json, say
from pritchel.cli.options import with_estimator_options


class FitRequest(NamedTuple):
    """What was asked for on the command line."""

    table: str
    targets: list[str]
    output: Path
    preset: str
    likelihood: str
    holdout: float
    refit: bool
    drop: list[str]
    keep: list[str]
    na_values: list[str]
    seed: int
    resume: bool
    overwrite: bool
    is_quiet: bool
    arguments: dict[str, Any]  # of the estimator


@with_estimator_options
def fit(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="CSV (also .gz), Parquet, or - for CSV on stdin.")],
    target: Annotated[list[str], typer.Option("--target", "-t", help="Column to predict; give it again for several.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the model.", file_okay=False)] = Path(
        "model"
    ),
    preset: Annotated[
        str, typer.Option(help="default, fast (a first look) or paper (the authors' settings).")
    ] = "default",
    likelihood: Annotated[
        str,
        typer.Option(
            help="auto (categorical for texts, else gaussian), gaussian, student_t, heteroscedastic, poisson, "
            "negative_binomial or categorical."
        ),
    ] = "auto",
    holdout: Annotated[
        float, typer.Option(min=0.0, max=0.9, help="Part of the rows kept from the fit, to score it on; 0 for none.")
    ] = 0.1,
    refit: Annotated[bool, typer.Option("--refit", help="After scoring, fit again to all rows.")] = False,
    drop: Annotated[list[str] | None, typer.Option(help="Leave a column out.")] = None,
    keep: Annotated[list[str] | None, typer.Option(help="Use a column that looks like an id or is constant.")] = None,
    na_value: NaValues = None,
    seed: Annotated[int, typer.Option(min=0, help="Fixes the split, the fit and every prediction.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from an unfinished fit of the same command.")] = False,
    overwrite: Overwrite = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
    as_json: AsJson = False,
    **arguments: Any,
) -> None:
    """Fit a model to a table and write it to a folder.

    Missing values and categories are taken care of; constant and id-like columns are left out and named; dates are
    refused with advice. A part of the rows is held out to score the fit against the constant predictor.

    Ctrl-C keeps what is fitted so far. The state of the fit is kept beside the model every few seconds: after a crash,
    the same command with --resume goes on from there, to the same result.

    Example: pritchel fit houses.csv --target price -o houses-model

    Exit codes: 0 done; 1 failed; 2 wrong option or table; 3 not a sound model; 130 interrupted.
    """
    with plain_errors():
        asked = FitRequest(
            table=table,
            targets=target,
            output=output,
            preset=preset,
            likelihood=likelihood,
            holdout=holdout,
            refit=refit,
            drop=drop or [],
            keep=keep or [],
            na_values=na_value or [],
            seed=seed,
            resume=resume,
            overwrite=overwrite,
            is_quiet=quiet or as_json,
            arguments=arguments,
        )
        model, is_interrupted = _fit(asked)
        facts = _facts(model, output, is_interrupted)
        if as_json:
            print_json(facts)
        else:
            _print(facts)
    if is_interrupted:
        say(f"Interrupted: {output} holds what was fitted. The same command with --resume --overwrite goes on.")
        raise typer.Exit(INTERRUPTED)


def _fit(asked: FitRequest) -> tuple[Any, bool]:
    """The fitted and written model, and whether Ctrl-C cut its fit short."""
    import shutil

    from pritchel.cli.fitting import fit_with_notes, make_estimator
    from pritchel.files.folder import require_free
    from pritchel.table_model import TableModel

    output = asked.output
    require_free(output, asked.overwrite)
    partial = output.with_name(f"{output.name}.partial")
    if partial.exists() and not asked.resume:
        if not asked.overwrite:
            raise FileExistsError(
                f"{partial} holds an unfinished fit. Add --resume to go on from it, or --overwrite to discard it."
            )
        shutil.rmtree(partial)
    data, classes, source = _read(asked)
    arguments = asked.arguments
    if asked.likelihood not in ("auto", "categorical"):
        arguments = {**arguments, "likelihood": asked.likelihood}
    estimator = make_estimator(asked.preset, asked.seed, not asked.is_quiet, arguments, classes)
    estimator.set_params(checkpoint=partial / "fit")
    notes, arrays = fit_with_notes(estimator, data, say)
    is_interrupted = "interrupted" in estimator.status_
    if asked.refit and not is_interrupted and data.is_held_out.any():
        say("Fitting again to all rows ...")
        estimator.set_params(checkpoint=partial / "refit")
        fit_with_notes(estimator, data._replace(is_held_out=data.is_held_out & False), say)
        is_interrupted = "interrupted" in estimator.status_
        source["refit"] = True
    model = TableModel(estimator.set_params(checkpoint=None), data.plan, {**notes, "source": source}, arrays)
    model.save(output, overwrite=asked.overwrite)
    if not is_interrupted:
        shutil.rmtree(partial, ignore_errors=True)
    return model, is_interrupted


def _read(asked: FitRequest) -> tuple[Any, bool, dict[str, Any]]:
    """The training table, whether its target is classes, and where it came from."""
    import numpy as np

    from pritchel.data.tables import has_classes, read_table
    from pritchel.model.likelihoods import LIKELIHOODS
    from pritchel.table_model import training_table

    if asked.likelihood not in ("auto", *LIKELIHOODS):
        raise ValueError(f"--likelihood must be one of auto, {', '.join(LIKELIHOODS)}; got {asked.likelihood!r}.")
    frame = read_table(asked.table, asked.na_values)
    targets = asked.targets
    classes = asked.likelihood == "categorical" or (asked.likelihood == "auto" and has_classes(frame, targets))
    if classes and len(targets) != 1:
        raise ValueError("A model of classes has one --target.")
    options = {"drop": asked.drop, "keep": asked.keep, "holdout": asked.holdout, "seed": asked.seed}
    data = training_table(frame, targets, **options, classes=classes)
    if classes:
        labels, counts = np.unique(data.targets.astype(str), return_counts=True)
        shown = ", ".join(f"{label} ({count})" for label, count in zip(labels, counts, strict=True))
        say(f"{targets[0]} is taken as {len(labels)} classes: {shown}")
    elif asked.likelihood == "auto":
        for index, name in enumerate(targets):
            _hint_at_codes(name, data.targets[:, index])
    _say_what_is_left(data)
    source = {"table": asked.table, "rows": len(frame), "without_target": len(data.rows_without_target)}
    return data, classes, {**source, "seed": asked.seed, "holdout": asked.holdout}


MAX_CODES = 10
MAX_ROWS_NAMED = 5
FEW_ROWS = 20


def _say_what_is_left(data: Any) -> None:
    """Rows that were dropped, by number, and a word where hardly any are left."""
    dropped = data.rows_without_target
    if dropped:
        named = ", ".join(map(str, dropped[:MAX_ROWS_NAMED])) + (", ..." if len(dropped) > MAX_ROWS_NAMED else "")
        say(f"Dropped: {len(dropped)} row(s) without a target, or cut short (row {named})")
    num_fitted = int((~data.is_held_out).sum())
    if num_fitted < FEW_ROWS:
        say(f"Only {num_fitted} rows are left to fit: expect little more than the constant predictor.")


def _hint_at_codes(target: str, values: Any) -> None:
    """Few distinct whole numbers may be codes of classes, or counts; they are taken as numbers unless told."""
    import numpy as np

    distinct = np.unique(values)
    if len(distinct) <= min(MAX_CODES, len(values) // 2) and np.array_equal(distinct, np.round(distinct)):
        say(
            f"{target} has {len(distinct)} distinct whole numbers and is taken as numbers; for classes add "
            "--likelihood categorical, for counts --likelihood poisson."
        )


def _facts(model: Any, output: Path, is_interrupted: bool) -> dict[str, Any]:
    estimator, plan = model.estimator, model.plan
    return {
        "model": str(output),
        "targets": list(plan.targets),
        "likelihood": "categorical" if model.has_classes else estimator.likelihood,
        "inputs": {column.name: column.kind for column in plan.columns},
        "left_out": plan.left_out,
        "units_offered": [list(member.offered) for member in estimator.posterior_.members],
        "units_kept": [[int(count) for count in row] for row in estimator.units_kept_.reshape(-1, len(
            estimator.posterior_.members[0].offered
        ))],
        "is_collapsed": estimator.is_collapsed_,
        "is_interrupted": is_interrupted,
        **model.notes,
    }  # fmt: skip


def _print(facts: dict[str, Any]) -> None:
    from rich.console import Console

    from pritchel.cli.scores import scores_table

    numbers = [name for name, kind in facts["inputs"].items() if kind == "number"]
    categories = [name for name, kind in facts["inputs"].items() if kind == "category"]
    typer.echo(f"Inputs: {len(numbers)} number(s)" + (f", {len(categories)} category column(s)" if categories else ""))
    for name, reason in facts["left_out"].items():
        typer.echo(f"Left out: {name} ({reason})")
    for index, (kept, offered) in enumerate(zip(facts["units_kept"], facts["units_offered"], strict=True)):
        layers = ", ".join(f"{in_use} of {count}" for in_use, count in zip(kept, offered, strict=True))
        typer.echo(f"Network {index + 1}: hidden units in use {layers}")
    if facts.get("scores"):
        Console().print(scores_table(facts["scores"], facts["num_scored"], "On rows held out from the fit"))
    typer.echo(f"Written: {facts['model']}  (next: pritchel predict {facts['model']} NEW.csv -o OUT.csv)")
