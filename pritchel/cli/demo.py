"""`pritchel demo`: the method on three small problems."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the picture.", file_okay=False)] = Path(
        "demo"
    ),
) -> None:
    """Fit a curve, Friedman's function and the diabetes table, print scores beside yardsticks, draw the curve.

    Needs no data and no network; takes well under a minute. Drawing needs the extra `plots`.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        typer.echo("The demo draws a picture and needs matplotlib: pip install 'pritchel[plots]'.", err=True)
        raise typer.Exit(2) from None
    from rich.console import Console
    from rich.table import Table

    from pritchel.experiments.demo import run_demo
    from pritchel.report.demo_figure import draw_demo

    found = run_demo(say=lambda text: typer.echo(text, err=True))
    rows = found.rows
    table = Table(
        title="On rows held out from the fit",
        caption="RMSE: lower is better. Log-lik.: higher. Coverage: 90 % is right.",
    )
    for column in ("data", "method", "units", "RMSE", "log-lik.", "coverage"):
        table.add_column(column, justify="left" if column in ("data", "method") else "right")
    for index, row in enumerate(rows):
        scores = row.scores
        is_last = index + 1 == len(rows) or rows[index + 1].data != row.data
        table.add_row(
            row.data,
            row.method,
            row.units,
            f"{scores.rmse:.4g}",
            f"{scores.log_likelihood:.3f}",
            f"{scores.coverage:.0%}",
            end_section=is_last,
        )
    Console().print(table)
    path = draw_demo(found.curve, found.X, found.y, output)
    typer.echo(f"The picture of the curve, what is predicted of it and the units that carry it: {path}")
