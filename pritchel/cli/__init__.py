"""The command line: one file a command. Heavy imports sit inside the commands, so that `--help` is instant."""

import importlib
from typing import Annotated

import typer

from pritchel.cli.help import Command, Group

# In the order of `--help`. Each is the function of that name in the file of that name.
COMMANDS = ("fit", "predict", "evaluate", "inspect", "prune", "export", "report", "reproduce", "demo")

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
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


for name in COMMANDS:
    app.command(cls=Command)(getattr(importlib.import_module(f"{__name__}.{name}"), name))
