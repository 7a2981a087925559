"""What the commands share: exit codes, messages on standard error, errors as sentences, the words of a command."""

import importlib
import json
import os
import shlex
import signal
import sys
import threading
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

FAILED, BAD_INPUT, BAD_MODEL, INTERRUPTED = 1, 2, 3, 130
CACHE_TROUBLE = ("Error reading persistent", "Error writing persistent")  # as JAX begins, a file of its cache at a time
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
Targets = Annotated[
    list[str] | None,
    typer.Option("--target", "-t", help="The column with the target, if it has another name than at the fit."),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is already there.")]


def say(text: str) -> None:
    """Tell the person at the terminal; standard output is for results."""
    typer.echo(visible(text), err=True)


def put(text: str) -> None:
    """A line of results on standard output."""
    typer.echo(visible(text))


def visible(text: str) -> str:
    """The text with control characters spelled out: a name from a file does nothing to the terminal."""
    spelled = (ascii(each)[1:-1] if not each.isprintable() and each not in " \n\t" else each for each in str(text))
    return "".join(spelled)


def console() -> Any:
    """Where tables are printed; square brackets in a name are square brackets."""
    from rich.console import Console

    return Console(markup=False, emoji=False, highlight=False)


def tell(message: Any) -> None:
    """Pass on what a `TableModel` has to say."""
    say(message.spelled(as_flag))


def as_flag(option: Any) -> str:
    """An argument of Python as it is typed here: `--drop when`."""
    flag = FLAGS.get(option.name, f"--{option.name.rpartition('__')[2].replace('_', '-')}")
    return flag if option.value is None else f"{flag} {shlex.quote(str(option.value))}"


def print_json(value: Any) -> None:
    """One JSON object on standard output; what is not finite, which JSON cannot say, is null."""
    from pritchel.serial import without_infinities

    typer.echo(json.dumps(without_infinities(value), indent=1, allow_nan=False))


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
    """Tell the library's warnings in words, as they come; of the cache of compiled programs, one in all."""
    is_cache_told = False

    def show(message: Any, *_args: Any, **_rest: Any) -> None:
        nonlocal is_cache_told
        text = str(message)
        if text.startswith(CACHE_TROUBLE):
            if is_cache_told:
                return
            is_cache_told = True
            text = (
                "the folder of compiled programs (PRITCHEL_CACHE, else ~/.cache/pritchel/programs) is damaged, or "
                f"cannot be written to. Programs are compiled anew; delete its files to mend it. First: {text[:200]}"
            )
        say(f"Note: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back until the end: packages that are being imported may swallow it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


@contextmanager
def plain_errors(*packages: str) -> Iterator[None]:
    """Turn what a user can mend into one sentence and an exit code, and warnings into notes.

    `packages` are those that the command will need besides what asking a model needs.
    """
    try:
        with warnings_told(), interrupts_held():
            for name in ("pritchel.tables.loaded", *packages):  # and all that is heavy with it
                importlib.import_module(name)
        with warnings_told(), _errors_as_sentences():
            yield
    except KeyboardInterrupt:
        say("Interrupted; nothing was written.")
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def _errors_as_sentences() -> Iterator[None]:
    from pritchel.crew import ProcessError
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
    except MemoryError as error:
        say(f"Error: not enough memory ({error}). Give fewer rows at a time, or fit with fewer --num-draws.")
        raise typer.Exit(FAILED) from None
    except (FloatingPointError, OSError, ProcessError) as error:
        say(f"Error: {error}")
        raise typer.Exit(FAILED) from None
