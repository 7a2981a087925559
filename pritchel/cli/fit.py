"""`pritchel fit`: from a table to a model folder."""

import functools
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from pritchel.cli.common import (
    INTERRUPTED,
    AsJson,
    Decimal,
    Encoding,
    NaValues,
    Overwrite,
    Sep,
    as_flag,
    command_words,
    console,
    plain_errors,
    print_json,
    put,
    say,
    tell,
)
from pritchel.cli.launch import (
    ended_at_once,
    join_if_started,
    launch,
    leave_the_lost,
    num_to_launch,
    wait_for_first,
)
from pritchel.cli.options import with_estimator_options
from pritchel.cli.partial import SO_FAR, partial_folder, partial_name, parts_of, remove_partial, what_is_left

# What a command says about this run of it, not about the model.
OF_THE_RUN = ("output", "overwrite", "resume", "quiet", "as_json", "processes")


@with_estimator_options
def fit(
    context: typer.Context,
    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            help="CSV (also .gz), Parquet, 'folder/*.csv' or '*.parquet' in quotes, a folder, or - for CSV on stdin.",
        ),
    ],
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
            help="auto (categorical for texts; else noise as the rows ask for it), gaussian, student_t, "
            "heteroscedastic, mixture (several humps), poisson, negative_binomial, zero_inflated or categorical."
        ),
    ] = "auto",
    holdout: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=0.9, help="Part of the rows kept from the fit, to score it on; 0 for none. [default: 0.1]"
        ),
    ] = None,
    refit: Annotated[bool, typer.Option("--refit", help="After scoring, fit again to all rows.")] = False,
    folds: Annotated[
        int | None,
        typer.Option(
            min=2, help="Cross-validation: so many fits, each scored on rows it has not seen; then one to all."
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="One model for each value of this column, such as a store or a sensor, in one folder."),
    ] = None,
    min_rows: Annotated[
        int | None, typer.Option(min=2, help="With --by: groups with fewer rows have no model. [default: 10]")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Leave a column out.")] = None,
    keep: Annotated[list[str] | None, typer.Option(help="Use a column that looks like an id or is constant.")] = None,
    category: Annotated[list[str] | None, typer.Option(help="A column of categories, whatever it looks like.")] = None,
    number: Annotated[list[str] | None, typer.Option(help="A column of numbers, whatever it looks like.")] = None,
    weight: Annotated[str | None, typer.Option(help="A column that says how many rows each row counts for.")] = None,
    sep: Sep = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    na_value: NaValues = None,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--no-stream",
            help="Read the table in batches, so that it need not fit into memory. [default: for a file of more than "
            "1 GB, and several of more than 200,000 rows in all]",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Fixes the split, the fit and every prediction.")] = 0,
    processes: Annotated[
        str | None,
        typer.Option(
            help="Share every batch among so many processes, started here; auto: those that srun or mpirun has started."
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from an unfinished fit of the same command.")] = False,
    overwrite: Overwrite = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
    as_json: AsJson = False,
    **arguments: Any,
) -> None:
    """Fit a model to a table and write it to a folder.

    Missing values and categories are taken care of; constant and id-like columns are left out; dates are refused with
    advice. How each column is taken is listed beside the option that changes it. A part of the rows is held out to
    score the fit against ridge regression (of classes: logistic regression), gradient boosting and the constant
    predictor; with --folds every row is, by a fit that did not see it, and the model is fitted to all rows.

    The state of the fit is kept every few seconds in a folder beside the model, OUTPUT.partial: after a crash or Ctrl-C
    the same command with --resume goes on from there, to the same result. What Ctrl-C leaves of a fit can be used as
    the model OUTPUT.partial/model; only a finished fit takes OUTPUT's place.

    With --by each value of a column, such as a store, has a model of its own, all in one folder. Columns are taken
    alike in all of them, and groups are fitted side by side. A group that cannot be fitted is listed with the reason.
    After a crash or Ctrl-C, --resume fits the groups that are missing.

    With --processes 2 two processes of this machine share every batch, for networks and batches so large that a step
    takes long; srun pritchel fit ... --processes auto does so on the machines of a job. After one is
    lost, --resume goes on.

    Example: pritchel fit houses.csv --target price -o houses-model

    Exit codes: 0 done; 1 failed; 2 wrong option or table; 3 not a sound model; 130 interrupted.
    """
    with plain_errors():
        if by is not None and processes is not None:
            raise ValueError("--by fits groups side by side, each in one process: leave --processes out.")
        _start_processes(context, processes, table, output)
    with ended_at_once(), plain_errors("pritchel.tables.model", "optax"):
        from pritchel.cli.presets import make_estimator
        from pritchel.processes import is_first
        from pritchel.tables.columns import Told
        from pritchel.tables.look import LookedTable
        from pritchel.tables.model import TableModel
        from pritchel.tables.streamed import read_or_look
        from pritchel.tables.training import asks_for_classes
        from pritchel.writing import owned

        if by is not None and stream:
            raise ValueError("--by wants the whole table in memory: leave --stream out.")
        join_if_started(processes)
        folder = _free_folder(output, resume, overwrite) if by is None else None
        frame = read_or_look(table, stream if by is None else False, sep, encoding, not (quiet or as_json))
        rows = frame.sample if isinstance(frame, LookedTable) else frame
        lists = {"drop": drop, "keep": keep, "category": category, "number": number, "na_values": na_value}
        told = Told(**{name: names or () for name, names in lists.items()}, weight=weight, decimal=decimal)
        arguments |= {"random_state": seed, "progress": not (quiet or as_json), "checkpoint": folder}
        if likelihood not in ("auto", "categorical"):
            arguments["likelihood"] = likelihood
        estimator = make_estimator(preset, asks_for_classes(rows, target, likelihood, told=told), arguments)
        model = TableModel(
            estimator,
            likelihood=likelihood,
            **told._asdict(),
            holdout=holdout,
            refit=refit,
            folds=folds,
            random_state=seed,
        )
        if folder is None:
            from pritchel.cli.groups import GroupsCommand

            GroupsCommand(str(by), output, min_rows, resume, overwrite, as_json).run(model, frame, target)
            return
        if min_rows is not None:
            raise ValueError("--min-rows is for one model a group: add --by COLUMN.")
        with owned(output) if is_first() else nullcontext():
            _free_folder(output, resume, overwrite)
            if not resume and is_first():
                remove_partial(folder)
            _fit(model, frame, target, folder)
            model.notes_["source"] |= {"table": table, "command": command_words(context, without=OF_THE_RUN)}
            if is_first():
                _write(model, output, folder, overwrite)
        wait_for_first()
        facts = _facts(model, folder / SO_FAR if model.is_interrupted else output)
        if is_first() and as_json:
            print_json(facts)
        elif is_first():
            _print(facts)
    if facts["is_interrupted"]:
        say(f"Interrupted: {facts['model']} holds what was fitted. The same command with --resume goes on.")
        raise typer.Exit(INTERRUPTED)


def _start_processes(context: typer.Context, asked: str | None, table: str, output: Path) -> None:
    """Have processes run this command, if some are to be started here, and end as they do."""
    if count := num_to_launch(asked, table):
        left = functools.partial(what_is_left, partial_name(output))
        raise typer.Exit(launch(count, command_words(context, without=())[1:], left))


def _free_folder(output: Path, resume: bool, overwrite: bool) -> Path:
    """The folder for a fit under way; where processes share it, the first of them looks whether it is free."""
    from pritchel.processes import is_first

    return partial_folder(output, resume, overwrite) if is_first() else partial_name(output)


def _fit(model: Any, frame: Any, target: list[str], partial: Path) -> None:
    """Fit and score; after Ctrl-C in between, say where the fit is."""
    from pritchel.processes import PeerLostError, is_first

    try:
        model.fit(frame, target, say=tell if is_first() else None)
    except KeyboardInterrupt:
        if not parts_of(partial):
            raise
        say(f"Interrupted: the state of the fit is in {partial}. The same command with --resume goes on from it.")
        raise typer.Exit(INTERRUPTED) from None
    except PeerLostError as error:
        leave_the_lost(error)


def _write(model: Any, output: Path, partial: Path, overwrite: bool) -> None:
    """Write the model in its place; that of an interrupted fit beside it."""
    if model.is_interrupted:
        model.save(partial / SO_FAR, overwrite=True)
    else:
        _save(model, output, partial, overwrite)
        remove_partial(partial)


def _save(model: Any, output: Path, partial: Path, overwrite: bool) -> None:
    """Write the model, or say where the fit is if that cannot be."""
    try:
        model.save(output, overwrite=overwrite)
    except (OSError, ValueError) as error:
        places = f"The state of the fit is in {partial}; --resume goes on from it." if parts_of(partial) else ""
        try:
            elsewhere = model.save(Path(tempfile.mkdtemp(prefix="pritchel-")) / "model")
            places = f"The model is in {elsewhere} instead. {places}"
        except (OSError, ValueError):
            places = places or "There was no room for it anywhere else."
        why = getattr(error, "strerror", None) or error
        raise OSError(f"The fit is done, but {output} could not be written ({why}). {places}") from error


def _facts(model: Any, output: Path) -> dict[str, Any]:
    from pritchel.model.likelihoods import LIKELIHOODS
    from pritchel.settings import name_of
    from pritchel.tables.judgement import judge

    estimator, plan = model.estimator_, model.plan_
    verdicts = judge(estimator, model.notes_)
    return {
        "model": str(output),
        "targets": list(plan.targets),
        "likelihood": name_of(LIKELIHOODS, estimator.likelihood_settings()),
        "inputs": {column.name: column.kind for column in plan.columns},
        "left_out": {name: str(why) for name, why in plan.left_out.items()},
        "units_offered": [list(member.offered) for member in estimator.posterior_.members],
        "units_kept": estimator.units_kept_.tolist(),
        "inference": str(estimator.sampling_report_),
        "noise": None if estimator.noise_report_ is None else str(estimator.noise_report_),
        "calibration": None if estimator.calibration_ is None else str(estimator.calibration_),
        "is_collapsed": estimator.is_collapsed_,
        "is_interrupted": model.is_interrupted,
        **model.notes_,
        "verdicts": [verdict.spelled(as_flag) for verdict in verdicts],
    }


def _print(facts: dict[str, Any]) -> None:
    from pritchel.cli.scores import scores_table
    from pritchel.tables.score_table import rows_scored

    numbers = [name for name, kind in facts["inputs"].items() if kind == "number"]
    categories = [name for name, kind in facts["inputs"].items() if kind == "category"]
    put(f"Inputs: {len(numbers)} number(s)" + (f", {len(categories)} category column(s)" if categories else ""))
    for name, reason in facts["left_out"].items():
        put(f"Left out: {name} ({reason})")
    for index, (kept, offered) in enumerate(zip(facts["units_kept"], facts["units_offered"], strict=True)):
        layers = ", ".join(f"{in_use} of {count}" for in_use, count in zip(kept, offered, strict=True))
        put(f"Network {index + 1}: hidden units in use {layers}")
    if facts["noise"] is not None:
        put(f"Noise: {facts['noise']}.")
    if facts["calibration"] is not None:
        put(f"Calibration: {facts['calibration']}.")
    if facts.get("scores"):
        console().print(scores_table(facts, f"On {rows_scored(facts)}"))
        for verdict in facts["verdicts"]:
            put(verdict)
    put(f"Written: {facts['model']}  (next: pritchel predict {facts['model']} NEW.csv -o OUT.csv)")
