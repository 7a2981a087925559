"""The command line. Heavy imports sit inside the commands, so that `--help` is instant."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Bayesian neural networks that choose their own width.",
)


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        from pritchel import __version__

        typer.echo(f"pritchel {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Bayesian neural networks that choose their own width."""


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the picture.", file_okay=False)] = Path(
        "demo"
    ),
) -> None:
    """Fit a toy curve and the diabetes table, print scores beside the yardsticks, draw the band and the units.

    Needs no data and no network; takes well under a minute. Drawing needs the extra: pip install 'pritchel[plots]'.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        typer.echo("The demo draws a picture and needs matplotlib: pip install 'pritchel[plots]'.", err=True)
        raise typer.Exit(2) from None
    from rich.console import Console
    from rich.table import Table

    from pritchel.experiments.demo import run_demo

    rows, path = run_demo(output, say=lambda text: typer.echo(text, err=True))
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
    typer.echo(f"The picture of the sine's predictive band and of its units is {path}")
