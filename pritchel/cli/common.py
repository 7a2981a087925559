"""What the commands share: exit codes, messages on standard error, errors as sentences."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

FAILED, BAD_INPUT, BAD_MODEL, INTERRUPTED = 1, 2, 3, 130
EXIT_CODES = "Exit codes: 0 done; 1 failed; 2 wrong option or table; 3 not a sound model; 130 interrupted."

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output, and nothing else.")]
NaValues = Annotated[
    list[str] | None, typer.Option("--na-value", help="A text that means missing, besides NA, nan and empty cells.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is already there.")]


def say(text: str) -> None:
    """Tell the person at the terminal; standard output is for results."""
    typer.echo(text, err=True)


def print_json(value: Any) -> None:
    """One JSON object on standard output."""
    typer.echo(json.dumps(value, indent=1))


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn what a user can mend into one sentence and an exit code."""
    from pritchel.data.tables import TableError
    from pritchel.serial import FileError

    try:
        yield
    except FileError as error:
        say(f"Error: {error}")
        raise typer.Exit(BAD_MODEL) from None
    except (TableError, FileExistsError, FileNotFoundError, ValueError) as error:
        say(f"Error: {error}")
        raise typer.Exit(BAD_INPUT) from None
    except BrokenPipeError:  # whoever read standard output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except (FloatingPointError, OSError) as error:
        say(f"Error: {error}")
        raise typer.Exit(FAILED) from None
    except KeyboardInterrupt:
        say("Interrupted; nothing was written.")
        raise typer.Exit(INTERRUPTED) from None
