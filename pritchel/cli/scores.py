"""Scores as a table for the terminal."""

from typing import Any

from rich.table import Table

from pritchel.cli.common import visible

MAX_CHECKS = 40  # of thousands of classes, each of which has one


def scores_table(scores: list[dict[str, Any]], num_rows: int, title: str) -> Table:
    """Each target's scores beside the constant predictor's."""
    if "accuracy" in scores[0]:
        return _class_table(scores, num_rows, title)
    table = Table(
        title=f"{title} ({num_rows:,})", caption="Lower is better for RMSE and CRPS; 90 % is right for coverage."
    )
    for column in ("target", "", "RMSE", "log-lik.", "CRPS", "90 % coverage"):
        table.add_column(column, justify="left" if column in ("target", "") else "right")
    for score in scores:
        table.add_row(
            visible(score["target"]),
            "model",
            f"{score['rmse']:.4g}",
            f"{score['log_likelihood']:.3f}",
            f"{score['crps']:.4g}",
            f"{score['coverage'][2]:.0%}",
        )
        constant = (score["constant_rmse"], score["constant_log_likelihood"], score["constant_crps"])
        figures = (f"{constant[0]:.4g}", f"{constant[1]:.3f}", f"{constant[2]:.4g}")
        table.add_row("", "constant predictor", *figures, "", end_section=True)
    return table


def _class_table(scores: list[dict[str, Any]], num_rows: int, title: str) -> Table:
    table = Table(
        title=f"{title} ({num_rows:,})", caption="Calibration error: confidence against accuracy; 0 is right."
    )
    for column in ("target", "", "accuracy", "log-lik.", "Brier", "calibration error"):
        table.add_column(column, justify="left" if column in ("target", "") else "right")
    for score in scores:
        figures = (f"{score['log_likelihood']:.3f}", f"{score['brier']:.3f}", f"{score['calibration_error']:.3f}")
        table.add_row(visible(score["target"]), "model", f"{score['accuracy']:.1%}", *figures)
        constant = (f"{score['constant_accuracy']:.1%}", f"{score['constant_log_likelihood']:.3f}")
        table.add_row("", "constant predictor", *constant, "", "")
    return table


def checks_table(checks: list[dict[str, Any]]) -> Table:
    """What was observed beside what tables made up by the model show."""
    table = Table(
        title="Made-up tables against the real one", caption="Outside the range: the model does not make such tables."
    )
    for column in ("target", "statistic", "observed", "nine in ten made-up"):
        table.add_column(column, justify="left" if column in ("target", "statistic") else "right")
    for check in checks[:MAX_CHECKS]:
        spread = f"{check['lower']:.4g} to {check['upper']:.4g}"
        names = (visible(check["target"]), visible(check["statistic"]))
        table.add_row(*names, f"{check['observed']:.4g}", spread)
    if len(checks) > MAX_CHECKS:
        table.add_row("...", f"and {len(checks) - MAX_CHECKS:,} more", "", "")
    return table
