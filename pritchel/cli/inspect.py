"""`pritchel inspect`: what a model folder holds."""

from pathlib import Path
from typing import Annotated, Any

import typer

from pritchel.cli.common import AsJson, as_flag, console, plain_errors, print_json, put, visible

MAX_SHOWN = 16  # inputs


def inspect(model: Annotated[Path, typer.Argument(help="Model folder.")], as_json: AsJson = False) -> None:
    """Say what a model is: targets, units in use, what each input is worth, scores, settings, versions.

    An input is worth what predictions lose when its values change places among the rows that were held out from the
    fit (or, where none were, the rows of the fit): log-likelihood a row, and error. Ranges hold nine posterior draws in
    ten. Of two inputs that say the same, each alone may be worth little.

    Of a folder with one model a group: how many there are, how wide, the worst of them, and those that failed.

    Exit codes: 0 done; 3 not a sound model.
    """
    with plain_errors():
        from pritchel.cli.groups import describe_groups, show_groups
        from pritchel.tables.groups import GroupedModel, load_to_ask

        loaded = load_to_ask(model)
        of_groups = isinstance(loaded, GroupedModel)
        facts = describe_groups(loaded) if of_groups else describe(loaded, str(model))
        if as_json:
            print_json(facts)
        else:
            (show_groups if of_groups else show)(facts)


def describe(model: Any, folder: str) -> dict[str, Any]:
    """What a loaded model is, as plain values."""
    from pritchel.tables.judgement import judge

    fitted, spec = model.spec_["fitted"], model.spec_
    return {
        "model": folder,
        "estimator": spec["estimator"],
        "created": spec["created"],
        "format_version": spec["format_version"],
        "versions": spec["versions"],
        "targets": list(model.plan_.targets),
        "left_out": {name: str(why) for name, why in model.plan_.left_out.items()},
        "units_offered": [member["offered"] for member in fitted["members"]],
        "units_present": [[len(kept) for kept in member.kept] for member in model.estimator_.posterior_.members],
        "units_in_use": fitted["units_kept"],
        "status": fitted["status"],
        "inference": str(model.estimator_.sampling_report_),
        "noise": None if model.estimator_.noise_report_ is None else str(model.estimator_.noise_report_),
        "calibration": None if model.estimator_.calibration_ is None else str(model.estimator_.calibration_),
        "is_collapsed": fitted["is_collapsed"],
        "width_remark": model.estimator_.width_remark_,
        "importances": model.notes_.get("importances", []),
        "notes": model.notes_,
        "verdicts": [verdict.spelled(as_flag) for verdict in judge(model.estimator_, model.notes_)],
        "settings": spec["settings"],
    }


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def show(facts: dict[str, Any]) -> None:
    """Print what a model is."""
    from pritchel.cli.scores import scores_table
    from pritchel.tables.score_table import rows_scored

    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    put(f"{facts['model']}: a {facts['estimator']} for {', '.join(facts['targets'])}, written {facts['created']}")
    put(f"Format version {facts['format_version']}; {versions}")
    rows = zip(facts["units_in_use"], facts["units_present"], facts["units_offered"], facts["status"], strict=False)
    for index, (in_use, present, offered, status) in enumerate(rows):
        layers = ", ".join(
            f"{a} of {c}" + (f" ({b} present)" if b != a else "")
            for a, b, c in zip(in_use, present, offered, strict=True)
        )
        put(f"Network {index + 1}: hidden units in use {layers}; fit {status}")
    put(_sentence(facts["inference"]))
    if facts["noise"] is not None:
        put(f"Noise: {facts['noise']}.")
    if facts["calibration"] is not None:
        put(f"Calibration: {facts['calibration']}.")
    if facts["width_remark"] is not None:
        put(facts["width_remark"])
    if facts["is_collapsed"]:
        put("The fit is no better than the constant predictor, on its own rows or on rows left out of it.")
    _show_importances(facts["importances"])
    for name, reason in facts["left_out"].items():
        put(f"Left out: {name} ({reason})")
    if facts["notes"].get("scores"):
        console().print(scores_table(facts["notes"], f"On {rows_scored(facts['notes'])}"))
        for verdict in facts["verdicts"]:
            put(verdict)


def _show_importances(found: list[dict[str, Any]]) -> None:
    """Print what inputs are worth: all of a few, the first and last of many."""
    from rich.table import Table

    from pritchel.posterior.importance import with_range

    if not found:
        put("What each input is worth is not on record; `importances(X, y)` of the model in Python measures it.")
        return
    table = Table(title="What each input is worth: lost when it is shuffled")
    table.add_column("column")
    table.add_column("log-likelihood a row", justify="right")
    table.add_column("error", justify="right")
    shown = found if len(found) <= MAX_SHOWN else [*found[: MAX_SHOWN // 2], None, *found[-MAX_SHOWN // 2 :]]
    for own in shown:
        if own is None:
            table.add_row("...", "", "")
        else:
            table.add_row(visible(own["name"]), with_range(own, "log_likelihood"), with_range(own, "error"))
    console().print(table)
