"""The progress of a fit, where somebody is watching: bars at a terminal, a line that rewrites itself in a notebook.

Of workers in other processes: a line as each member ends.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from pritchel.infer.trial import Execution, Progress, Stage
from pritchel.jobs import is_elsewhere
from pritchel.processes import is_first

SECONDS = 1.0  # between two states of a notebook's line
DONE = {"fitting": "fitted", "fitting wider": "fitted wider", "sampling": "sampled"}


@contextmanager
def progress_display(
    progress: bool | Callable[[Progress], None],
    num_trials: int,
    num_steps: int,
    execution: Execution,
    stage: Stage = "fitting",
) -> Iterator[Execution]:
    """The execution with somebody to tell: the user's own function, bars, a line, or nobody.

    Of processes that share a fit, the first one shows it.
    """
    if callable(progress):
        yield execution._replace(on_progress=progress)
        return
    from rich.console import Console

    console, progress = Console(stderr=True), progress and is_first()
    is_watched = progress and (console.is_terminal or is_notebook())
    if is_watched and is_elsewhere():
        ends = _Ends(num_trials, execution.n_jobs, stage, sys.stderr if console.is_terminal else sys.stdout)
        yield execution._replace(on_progress=ends.update)
    elif progress and console.is_terminal:
        with _bars(console, num_trials, num_steps, stage) as update:
            yield execution._replace(on_progress=update)
    elif progress and is_notebook():
        with _Line(num_trials, num_steps, stage, sys.stdout) as line:
            yield execution._replace(on_progress=line.update)
    else:
        yield execution


@contextmanager
def reading_display(
    progress: bool | Callable[[Progress], None], num_rows: int | None
) -> Iterator[Callable[[int], None] | None]:
    """Somebody to tell how many rows have been read, of so many, where that is known; None: nobody."""
    if callable(progress):
        yield lambda done: progress(Progress(0, done, num_rows or 0, float("nan"), None, "reading"))
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not (progress and is_first() and console.is_terminal):
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bars

    with Bars(TextColumn("reading rows"), BarColumn(), MofNCompleteColumn(), console=console, transient=True) as bars:
        task = bars.add_task("", total=num_rows)
        yield lambda done: bars.update(task, completed=done)


def is_notebook() -> bool:
    """Whether this is a notebook's kernel; IPython is not imported to find out."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


@contextmanager
def _bars(console: Any, num_trials: int, num_steps: int, stage: Stage) -> Iterator[Callable[[Progress], None]]:
    """A bar a member; it says that its program is being compiled, and for how long, until there are steps to count."""
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, TextColumn
    from rich.progress import Progress as Bars
    from rich.text import Text

    class Clock(ProgressColumn):
        """Seconds since the start, and then those that are left."""

        def render(self, task: Any) -> Text:
            left = None if task.total is None else task.time_remaining
            return Text(span(task.elapsed or 0.0) if left is None else f"{span(left)} left")

    def name(trial: int, doing: str) -> str:
        return doing if num_trials == 1 else f"{doing} member {trial + 1}"

    told = TextColumn("{task.fields[told]}")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), told, Clock())
    with Bars(*columns, console=console, transient=True) as bars:
        compiling = f"compiling, for {stage}"
        tasks = [bars.add_task(name(trial, compiling), total=None, told="") for trial in range(num_trials)]
        begun: set[int] = set()

        def update(state: Progress) -> None:
            if not begun:  # one program serves all
                for trial in range(num_trials):
                    bars.update(tasks[trial], description=name(trial, "waiting"))
            if state.trial not in begun:
                begun.add(state.trial)
                bars.update(tasks[state.trial], total=num_steps)
            doing = name(state.trial, stage)
            bars.update(tasks[state.trial], completed=state.step, description=doing, told=_told(state))

        yield update


class _Ends:
    """A line as each member ends: from workers in other processes no more can be told."""

    def __init__(self, num_trials: int, num_at_once: int, stage: Stage, out: TextIO):
        self.num_trials, self.num_ended, self.stage, self.out = num_trials, 0, stage, out
        self.start = time.perf_counter()
        count = f"{num_trials} network{'s' if num_trials > 1 else ''}"
        self._write(f"{stage} {count} on joblib's workers, {min(num_trials, num_at_once)} at a time")

    def update(self, state: Progress) -> None:
        """Say that a member has ended."""
        self.num_ended += 1
        took = span(time.perf_counter() - self.start)
        which = f"member {state.trial + 1} ({self.num_ended} of {self.num_trials})"
        self._write(f"{DONE[self.stage]} {which} after {took}: {_told(state)}")

    def _write(self, text: str) -> None:
        self.out.write(f"{text}\n")
        self.out.flush()


def _told(state: Progress) -> str:
    alive = "" if state.units is None else f", units {'+'.join(map(str, state.units))}"
    return f"{'ELBO' if state.stage == 'fitting' else 'log density'} per row {state.elbo:.3f}{alive}"


class _Line:
    """One line for all members, written anew every second."""

    def __init__(self, num_trials: int, num_steps: int, stage: Stage, out: TextIO):
        self.steps, self.num_steps, self.stage, self.out = [0] * num_trials, num_steps, stage, out
        self.start = time.perf_counter()
        self.first: tuple[float, int] | None = None  # when there were steps first, and how many
        self.width = 0
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._rewrite, daemon=True)

    def __enter__(self) -> "_Line":
        self.thread.start()
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        self.is_over.set()
        self.thread.join()
        took = span(time.perf_counter() - self.start)
        num = len(self.steps)
        self._write(f"{DONE[self.stage]} {num} network{'s' if num > 1 else ''} in {took}" if kind is None else "ended")
        self.out.write("\n")

    def update(self, state: Progress) -> None:
        """Take in how a member stands."""
        self.steps[state.trial] = state.step
        if self.first is None:
            self.first = time.perf_counter(), sum(self.steps)

    def text(self, now: float) -> str:
        """What there is to say at a time."""
        if self.first is None:
            return f"compiling, for {self.stage}: {span(now - self.start)}"
        (since, before), done = self.first, sum(self.steps)
        total = self.num_steps * len(self.steps)
        told = f"{self.stage}: {done:,} of {total:,} steps"
        return told if done == before else f"{told}, {span((now - since) / (done - before) * (total - done))} left"

    def _rewrite(self) -> None:
        while not self.is_over.wait(SECONDS):
            self._write(self.text(time.perf_counter()))

    def _write(self, text: str) -> None:
        self.out.write("\r" + text.ljust(self.width))
        self.out.flush()
        self.width = len(text)


def span(seconds: float) -> str:
    """A span of time in words: 8 s, 2 min 5 s."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
