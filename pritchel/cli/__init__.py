"""The command line: one file a command. Heavy imports sit inside the commands, so that `--help` is instant."""

from typing import Annotated

import typer

from pritchel.cli.demo import demo
from pritchel.cli.evaluate import evaluate
from pritchel.cli.export import export
from pritchel.cli.fit import fit
from pritchel.cli.inspect import inspect
from pritchel.cli.predict import predict
from pritchel.cli.prune import prune
from pritchel.cli.report import report
from pritchel.cli.reproduce import reproduce

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


for command in (fit, predict, evaluate, inspect, prune, export, report, reproduce, demo):
    app.command()(command)
