"""What the commands share: exit codes, messages on standard error, errors as sentences, the words of a command."""

import json
import os
import shlex
import sys
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

FAILED, BAD_INPUT, BAD_MODEL, INTERRUPTED = 1, 2, 3, 130
FLAGS = {
    "na_values": "--na-value",
    "quantiles": "--quantile",
    "frame": "--table",
}  # where it is not the argument's name

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output, and nothing else.")]
NaValues = Annotated[
    list[str] | None, typer.Option("--na-value", help="A text that means missing, besides NA, nan and empty cells.")
]
Sep = Annotated[str | None, typer.Option("--sep", help="What separates the cells of a CSV; default: a guess.")]
Encoding = Annotated[str | None, typer.Option("--encoding", help="Of a CSV, such as cp1252; default: a guess.")]
Decimal = Annotated[str | None, typer.Option("--decimal", help="The decimal mark of a CSV's numbers, . or ,")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is already there.")]


def say(text: str) -> None:
    """Tell the person at the terminal; standard output is for results."""
    typer.echo(text, err=True)


def tell(message: Any) -> None:
    """Pass on what a `TableModel` has to say."""
    say(message.spelled(as_flag))


def as_flag(option: Any) -> str:
    """An argument of Python as it is typed here: `--drop when`."""
    flag = FLAGS.get(option.name, f"--{option.name.replace('_', '-')}")
    return flag if option.value is None else f"{flag} {shlex.quote(str(option.value))}"


def print_json(value: Any) -> None:
    """One JSON object on standard output."""
    typer.echo(json.dumps(value, indent=1))


def command_words(context: typer.Context, without: Collection[str]) -> list[str]:
    """The command as it was given, without some of its parameters; options by their long names."""
    words = ["pritchel", str(context.info_name)]
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        if name in without or source is None or source.name != "COMMANDLINE":
            continue
        value = context.params[name]
        flag = max(parameter.opts, key=len)
        if parameter.param_type_name == "argument":
            words.append(str(value))
        elif isinstance(value, bool):
            words.append(flag if value else max(parameter.secondary_opts, key=len))
        else:
            for part in value if isinstance(value, (list, tuple)) else [value]:
                words += [flag, str(part)]
    return words


@contextmanager
def warnings_told() -> Iterator[None]:
    """Tell the library's warnings in words, as they come."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_args, **_rest: say(f"Note: {message}")
        yield


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn what a user can mend into one sentence and an exit code."""
    from pritchel.serial import FileError
    from pritchel.tables.messages import TableError

    try:
        yield
    except FileError as error:
        say(f"Error: {error}")
        raise typer.Exit(BAD_MODEL) from None
    except TableError as error:
        say(f"Error: {error.message.spelled(as_flag)}")
        raise typer.Exit(BAD_INPUT) from None
    except (FileExistsError, FileNotFoundError, ValueError) as error:
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
