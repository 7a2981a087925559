"""`pritchel fit --processes`: the processes of one fit, started here, or those that srun or mpirun has started."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import IO, Any, NamedTuple

import typer

from pritchel.cli.common import BAD_INPUT, BAD_MODEL, FAILED, INTERRUPTED, say

AUTO = "auto"
LAUNCHER = "PRITCHEL_LAUNCHER"  # the process that has started this one
LOST = 75  # exit code of a process that has lost another, and leaves it to the launcher to say so
ORDERLY = (0, FAILED, BAD_INPUT, BAD_MODEL, INTERRUPTED)
POLL_SECONDS, GRACE_SECONDS = 0.05, 10.0
MAX_TOLD = 2000  # characters of what a process has said before it ended


def num_to_launch(asked: str | None, table: str) -> int:
    """Processes to start from here; 0: none, for this one is alone, or is one of those that were started."""
    if asked is None:
        return 0
    from pritchel.processes import VARIABLE, place

    if os.name == "nt":
        raise ValueError("--processes needs Linux or macOS: JAX connects no processes on Windows.")
    if asked != AUTO and not (asked.isdecimal() and int(asked)):
        raise ValueError(f"--processes must be a number, as in --processes 2, or {AUTO}; got {asked!r}.")
    found = place()
    if table == "-" and (found is not None or asked != "1"):
        raise ValueError("Only one process can read standard input: write the table to a file for --processes.")
    if found is None or (found.count == 1 and VARIABLE not in os.environ):
        if asked == AUTO and found is None:
            raise ValueError(
                f"--processes {AUTO} is for processes that srun or mpirun has started; nothing here says that one of "
                "them has. Give a number, as in --processes 2, to start them on this machine."
            )
        return int(asked) if asked not in (AUTO, "1") else 0
    if asked not in (AUTO, str(found.count)):
        raise ValueError(f"--processes {asked}: {found.count} were started. Give that number, or {AUTO}.")
    return 0


def join_if_started(asked: str | None) -> None:
    """Join the other processes, where there are some; all but the first are then silent, unless in trouble."""
    if asked is None:
        return
    from pritchel.processes import is_first, join, place

    found = place()
    if found is None or found.count == 1:
        return
    if LAUNCHER in os.environ:
        threading.Thread(target=_end_with, args=(int(os.environ[LAUNCHER]),), daemon=True).start()
    join()
    if not is_first():
        warnings.simplefilter("ignore")


def _end_with(launcher: int) -> None:
    """End when the launcher has: without it nobody hears of Ctrl-C."""
    while os.getppid() == launcher:
        time.sleep(1.0)
    os._exit(FAILED)


@contextmanager
def ended_at_once() -> Iterator[None]:
    """Of several processes, one that fails does not wait for the others: to take leave of them could take minutes."""
    try:
        yield
    except typer.Exit as ended:
        from pritchel.processes import crew

        if crew() is not None and ended.exit_code:
            _leave(ended.exit_code)
        raise


def leave_the_lost(error: Exception) -> None:
    """End this process after another is gone; who has launched both says so, if anybody has."""
    if LAUNCHER in os.environ:
        _leave(LOST)
    say(f"Error: {error}")
    _leave(FAILED)


def _leave(code: int) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def wait_for_first() -> None:
    """Until the first process has written what all have come to."""
    from pritchel.processes import PeerLostError, of_first

    try:
        of_first(0)
    except PeerLostError as error:
        leave_the_lost(error)


class Started(NamedTuple):
    """A process of the fit."""

    number: int
    process: subprocess.Popen[bytes]
    told: IO[bytes] | None  # what it says on standard error; the first says it to the user

    def how_it_ended(self) -> str:
        """Its end in words."""
        code = self.process.returncode
        if code < 0:
            why = ", as when memory is short" if code == -signal.SIGKILL else ""
            return f"was ended by signal {-code} ({signal.Signals(-code).name}{why})"
        return f"ended with code {code}"

    def last_words(self) -> str:
        """What it had to say."""
        if self.told is None:
            return ""
        self.told.seek(0)
        return self.told.read().decode(errors="replace").strip()[-MAX_TOLD:]


def launch(count: int, words: Sequence[str], where: Callable[[], str]) -> int:
    """Run a command in so many processes of this machine; its exit code. `where` says what is left of a broken fit."""
    address = free_address()
    with ExitStack() as stack:
        started = [stack.enter_context(_started(index, count, words, address)) for index in range(count)]
        with _signals_to(started):
            return _watched(started, where)


def free_address() -> str:
    """A free port that nobody outside this machine can reach."""
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{own.getsockname()[1]}"


@contextmanager
def _started(index: int, count: int, words: Sequence[str], address: str) -> Iterator[Started]:
    """One of the processes; the first speaks to the user. In the end it is gone."""
    from pritchel.cores import num_cores
    from pritchel.processes import VARIABLE

    share = str(max(num_cores() // count, 1))
    told = {VARIABLE: f"{address},{count},{index}", LAUNCHER: str(os.getpid())}
    cores = {"OMP_NUM_THREADS": share, "NPROC": share}  # the second is for XLA
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(  # noqa: S603 - this program, with the user's own words
            [sys.executable, "-m", "pritchel", *words],
            env=cores | os.environ | told,
            stdin=subprocess.DEVNULL,
            stdout=None if index == 0 else subprocess.DEVNULL,
            stderr=None if index == 0 else said,
            start_new_session=True,  # Ctrl-C comes to all through this process, once
        )
        try:
            yield Started(index, process, None if index == 0 else said)
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(2.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def _signals_to(started: Sequence[Started]) -> Iterator[None]:
    """Pass on what this process is told: Ctrl-C, and an order to end."""

    def pass_on(number: int, _frame: Any) -> None:
        for own in started:
            if own.process.poll() is None:
                own.process.send_signal(number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _watched(started: Sequence[Started], where: Callable[[], str]) -> int:
    """The exit code of the first, once all have ended; where one is lost, a word about it."""
    first = started[0].process
    while first.poll() is None and not any(own.process.poll() for own in started):
        time.sleep(POLL_SECONDS)
    seen = [own for own in started if own.process.poll() not in (None, 0)]  # who ended first, if it was not well
    until = time.monotonic() + GRACE_SECONDS
    while first.poll() not in ORDERLY[1:] and time.monotonic() < until:
        if all(own.process.poll() is not None for own in started):
            break
        time.sleep(POLL_SECONDS)
    if first.poll() in ORDERLY:
        return int(first.returncode)
    for own in started:
        _end(own.process)
    lost = min(seen or started, key=_blame)
    text = f"Error: process {lost.number} of {len(started)} (counted from 0; pid {lost.process.pid}) "
    say(f"{text}{lost.how_it_ended()}: the fit cannot go on without it. {where()}")
    if words := lost.last_words():
        say(f"It had said: {words}")
    return FAILED


def _blame(own: Started) -> int:
    """Who is likely to have brought the others down: least is most. Who has lost another says so, or is aborted."""
    code = own.process.returncode
    return 2 if code in (None, LOST, -signal.SIGABRT) else 1 if code > 0 else 0
