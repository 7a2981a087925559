"""One model a group, on the command line: `pritchel fit --by`, and what `pritchel inspect` says of its folder."""

import statistics
from pathlib import Path
from typing import Any, NamedTuple

import typer

from pritchel.cli.common import INTERRUPTED, console, print_json, put, say, tell, visible

MAX_WORST, MAX_FAILED = 5, 10


class GroupsCommand(NamedTuple):
    """What was asked for."""

    by: str
    output: Path
    min_rows: int | None
    resume: bool
    overwrite: bool
    as_json: bool

    def run(self, model: Any, frame: Any, target: list[str]) -> None:
        """Fit, and say what came of it."""
        from pritchel.tables.fit_groups import MIN_ROWS, fit_groups

        n_jobs = model.estimator.n_jobs
        try:
            models = fit_groups(
                frame,
                target,
                self.by,
                self.output,
                model=model,
                min_rows=MIN_ROWS if self.min_rows is None else self.min_rows,
                n_jobs=n_jobs,
                resume=self.resume,
                overwrite=self.overwrite,
                say=tell,
            )
        except KeyboardInterrupt:
            say(f"Interrupted: models so far are in {self.output}.partial. The same command with --resume goes on.")
            raise typer.Exit(INTERRUPTED) from None
        facts = describe_groups(models)
        if self.as_json:
            print_json(facts)
        else:
            show_groups(facts)
            put(f"Written: {self.output}  (next: pritchel predict {self.output} NEW.csv -o OUT.csv)")


def describe_groups(models: Any) -> dict[str, Any]:
    """What a folder of models is, as plain values; the worst are those least ahead of the constant predictor."""
    index = models.index
    widths = [max(map(sum, group["units_kept"]), default=0) for group in index["groups"]]
    scored = sorted((group for group in index["groups"] if group["scores"]), key=_gain)
    return {
        "model": str(models.path),
        "by": models.by,
        "targets": index["targets"],
        "created": index["created"],
        "versions": index["versions"],
        "is_finished": index["is_finished"],
        "num_groups": len(models.groups),
        "num_rows": sum(group["rows"] for group in index["groups"]),
        "num_collapsed": sum(group["is_collapsed"] for group in index["groups"]),
        "units": None if not widths else [min(widths), statistics.median(widths), max(widths)],
        "gain": None if not scored else statistics.median(map(_gain, scored)),
        "worst": [_in_short(group) for group in scored[:MAX_WORST]],
        "failed": models.failed,
        "settings": index["settings"],
    }


def _gain(group: dict[str, Any]) -> float:
    """Log-likelihood a row beyond the constant predictor's, of all targets."""
    return sum(score["log_likelihood"] - score["constant_log_likelihood"] for score in group["scores"])


def _in_short(group: dict[str, Any]) -> dict[str, Any]:
    score = group["scores"][0]
    kind = "accuracy" if "accuracy" in score else "rmse"
    error = {kind: score[kind], f"constant_{kind}": score[f"constant_{kind}"]}
    return {
        "name": group["name"],
        "rows": group["rows"],
        "num_scored": group["num_scored"],
        "gain": _gain(group),
        **error,
    }


def show_groups(facts: dict[str, Any]) -> None:
    """Print what a folder of models is."""
    what = f"{facts['num_groups']:,} models of {', '.join(facts['targets'])}, one a {facts['by']}"
    put(f"{facts['model']}: {what}, written {facts['created']}")
    if not facts["is_finished"]:
        put("The run was interrupted: the same command with --resume fits the groups that are missing.")
    if facts["units"] is not None:
        low, middle, high = facts["units"]
        put(f"{facts['num_rows']:,} rows; hidden units in use {low} to {high}, median {middle:g}")
    if facts["num_collapsed"]:
        put(f"No better than the constant predictor: {facts['num_collapsed']:,} of them")
    if facts["worst"]:
        put(f"Log-likelihood a held-out row beyond the constant predictor's: median {facts['gain']:.3f}")
        _show_worst(facts["worst"])
    for name, reason in list(facts["failed"].items())[:MAX_FAILED]:
        put(f"Failed: {name}: {reason}")
    if len(facts["failed"]) > MAX_FAILED:
        put(f"Failed: {len(facts['failed']) - MAX_FAILED:,} more; --json lists them all")


def _show_worst(worst: list[dict[str, Any]]) -> None:
    from rich.table import Table

    kind = "accuracy" if "accuracy" in worst[0] else "rmse"
    table = Table(title="The groups that are least ahead of the constant predictor")
    table.add_column("group")
    for title in ("rows", "held out", "log-likelihood beyond", kind, f"constant {kind}"):
        table.add_column(title, justify="right")
    for own in worst:
        figures = (f"{own['gain']:.3f}", f"{own[kind]:.4g}", f"{own[f'constant_{kind}']:.4g}")
        table.add_row(visible(own["name"]), f"{own['rows']:,}", f"{own['num_scored']:,}", *figures)
    console().print(table)
