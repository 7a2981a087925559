"""Scores as a table for the terminal."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from pritchel.cli.common import visible

MAX_CHECKS = 40  # of thousands of classes, each of which has one
CAPTIONS = {
    True: "Calibration error: confidence against accuracy; 0 is right.",
    False: "Lower is better for RMSE and CRPS; 90 % is right for what 90 % intervals hold.",
}


def scores_table(notes: Mapping[str, Any], title: str) -> Table:
    """Each target's scores beside those of simpler methods and the constant predictor, of notes on a fit."""
    from pritchel.tables.score_table import MODEL, score_table

    columns, rows = score_table(notes, levels=(0.9,))
    caption = CAPTIONS["accuracy" in notes["scores"][0]] + (
        " After ±: the standard error over folds." if notes.get("folds") else ""
    )
    table = Table(title=title, caption=caption)
    for column in columns:
        table.add_column(column, justify="left" if column in ("target", "") else "right")
    for index, (target, method, *figures) in enumerate(rows):
        is_last = index + 1 == len(rows) or rows[index + 1][1] == MODEL
        table.add_row(visible(target), method, *figures, end_section=is_last)
    return table


def checks_table(checks: list[dict[str, Any]]) -> Table:
    """What was observed beside what tables made up by the model show."""
    num_outside = sum(check["observed"] < check["lower"] or check["observed"] > check["upper"] for check in checks)
    caption = f"{num_outside} outside the range: the model does not make such tables." if num_outside else None
    table = Table(title="Made-up tables against the real one", caption=caption)
    for column in ("target", "statistic", "observed", "nine in ten made-up"):
        table.add_column(column, justify="left" if column in ("target", "statistic") else "right")
    for check in checks[:MAX_CHECKS]:
        spread = f"{check['lower']:.4g} to {check['upper']:.4g}"
        names = (visible(check["target"]), visible(check["statistic"]))
        table.add_row(*names, f"{check['observed']:.4g}", spread)
    if len(checks) > MAX_CHECKS:
        table.add_row("...", f"and {len(checks) - MAX_CHECKS:,} more", "", "")
    return table
