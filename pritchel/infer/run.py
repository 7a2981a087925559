"""One fit from start to end: chunks of compiled steps, dead units leaving, early stopping, checkpoints."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from pritchel.crew import Crew
from pritchel.guide.network import NetworkGuide
from pritchel.guide.prune_rule import surviving_units
from pritchel.infer.checkpoint import Checkpoint, Kept, OfFirst
from pritchel.infer.dead_units import Cut, DeadUnits, UnitsState
from pritchel.infer.elbo import Elbo
from pritchel.infer.feed import Feed, FeedState
from pritchel.infer.shared_step import run_together
from pritchel.infer.step import State, Steps, adam_state, ravel, run_chunk, start_adam, unravel
from pritchel.infer.stopping import Judge, JudgeState
from pritchel.infer.trial import FitResult, FitSettings, Progress, Status, Trial
from pritchel.lazy import jax
from pritchel.programs import keep_few_programs
from pritchel.serial import stored

Keeper = Checkpoint | Kept | OfFirst


@stored
class RunState(NamedTuple):
    """All that changes from chunk to chunk: what a checkpoint holds, and what a run begins from."""

    guide: NetworkGuide  # the parameters as the last step left them
    average: np.ndarray | None  # their running average, where one is kept
    adam: tuple[np.ndarray, ...]
    trainable: np.ndarray
    feed: FeedState | None
    units: UnitsState
    judge: JudgeState
    history: np.ndarray  # parts of the bound, (steps, parts)
    num_skipped: int
    status: Status

    @classmethod
    def start(cls, trial: Trial, settings: FitSettings) -> "RunState":
        """Before the first step."""
        guide = jax.tree.map(np.asarray, trial.guide)
        params = ravel(guide)
        return cls(
            guide=guide,
            average=params if settings.average else None,
            adam=tuple(np.asarray(part) for part in start_adam(params)) if trial.adam is None else trial.adam,
            trainable=np.ones_like(params) if trial.trainable is None else ravel(trial.trainable),
            feed=None,
            units=UnitsState.start(trial.guide),
            judge=JudgeState(),
            history=np.zeros((0, len(Elbo._fields)), np.float32),
            num_skipped=0,
            status="finished",
        )


class Run:
    """A fit under way."""

    def __init__(self, trial: Trial, settings: FitSettings, num_fits: int, state: RunState, crew: Crew | None = None):
        self.trial, self.settings, self.crew = trial, settings, crew
        self.template, self.trainable = state.guide, state.trainable
        self.params = ravel(self.template)
        self.average = self.params if state.average is None else state.average
        adam = adam_state(*state.adam)
        average = None if state.average is None else state.average.copy()
        self.state = State(self.params, adam, average, np.asarray(state.num_skipped, np.int32))
        self.feed = Feed(trial, settings, self.template, state.feed, crew)
        self.num_rows = self.feed.num_rows if trial.num_rows is None else trial.num_rows
        self.judge = None
        if trial.held_out is not None and settings.patience is not None:
            self.judge = Judge(trial, trial.held_out, settings, settings.patience, state.judge)
        num_rows_to_come = float(self.feed.batch_rows * settings.num_steps * num_fits)
        self.units = DeadUnits(trial.model.prior, state.units, settings.drop_dead_units, num_rows_to_come)
        self.history = [state.history]
        self.done, self.num_skipped = len(state.history), state.num_skipped
        self.status: Status = state.status

    @property
    def guide(self) -> NetworkGuide:
        """The guide as it stands: the running average of its parameters, where one is kept."""
        return unravel(self.template, self.average)

    def snapshot(self) -> RunState:
        """What a run that goes on from here begins from."""
        return RunState(
            guide=unravel(self.template, self.params),
            average=None if self.state.average is None else self.average,
            adam=tuple(np.asarray(part) for part in self.state.optimizer),
            trainable=self.trainable,
            feed=self.feed.state,
            units=self.units.state,
            judge=JudgeState() if self.judge is None else self.judge.state,
            history=np.concatenate(self.history),
            num_skipped=self.num_skipped,
            status=self.status,
        )

    def result(self) -> FitResult:
        """What the run has come to."""
        best = None if self.judge is None else self.judge.state.best
        guide, kept = best if best is not None else (self.guide, self.units.state.kept)
        # After an interrupt the optimizer's arrays may have been given away to steps under way.
        adam = () if self.status == "interrupted" else tuple(np.array(part) for part in self.state.optimizer)
        return FitResult(guide, kept, Elbo(*np.concatenate(self.history).T), self.status, self.num_skipped, adam)

    def progress(self, trial_index: int) -> Progress:
        """How it stands, for whoever is watching."""
        total = self.history[-1].sum(1)
        bound = float(np.nanmean(total) / self.num_rows) if np.isfinite(total).any() else float("nan")
        guide = self.guide
        units = tuple(map(len, surviving_units(self.trial.model.prior, guide))) if guide.has_unit_scales() else None
        return Progress(trial_index, self.done, self.settings.num_steps, bound, units)

    def next_chunk(self, chunk: tuple[Steps, int], checkpoint: Keeper | None) -> tuple[Steps, int] | None:
        """Run a chunk of steps and make the next; None: there is none."""
        steps, num_filled = chunk
        arguments = (self.state, self.template, self.trial.model, steps, self.trainable, num_filled)
        how = (float(self.num_rows), self.settings.objective)
        num_asked: Any = 0  # processes that were told to stop
        with jax.enable_x64(False):  # the same fit, whatever else the process computes
            if self.crew is None:
                keep_few_programs(run_chunk, *arguments)
                state, trace = run_chunk(*arguments, *how)
            else:
                state, trace, num_asked = run_together(self.crew, *arguments, *how)
        is_last = self.done + num_filled == self.settings.num_steps
        is_due = checkpoint is not None and (is_last or checkpoint.is_due())
        upcoming = None
        if not is_last and not is_due:
            upcoming = self.feed.chunk(self.done + num_filled)  # made while the chunk above computes
        if self._take_over(state, np.asarray(trace)[:num_filled]) == num_filled:
            self.status = "diverged"
            return None
        if self.crew is not None and int(num_asked):
            self.crew.stop.set()
        if self.judge is not None and self.judge.should_stop(self.guide, self.units.state.kept, self.done):
            self.status, upcoming = "stopped early", None
        cut = None if is_last else self.units.look(self.guide, 1 - self.done / self.settings.num_steps)
        if cut is not None and self.status == "finished":
            self._cut(cut)
            upcoming = None if upcoming is None else self.feed.with_new_noise(upcoming)
        if checkpoint is not None and is_due:
            checkpoint.save(self.snapshot())
        if upcoming is None and not is_last and self.status == "finished":
            upcoming = self.feed.chunk(self.done)
        return upcoming

    def _take_over(self, state: State, trace: np.ndarray) -> int:
        """Copy what a chunk came to (the next takes its buffers over, and an interrupt must not lose them); the number
        of its steps that were skipped."""
        newly_skipped = int(state.num_skipped) - self.num_skipped
        self.state, self.params = state, np.array(state.params)
        self.average = self.params if state.average is None else np.array(state.average)
        self.history.append(trace)
        self.done, self.num_skipped = self.done + len(trace), self.num_skipped + newly_skipped
        return newly_skipped

    def _cut(self, cut: Cut) -> None:
        """Let units leave: of the guide, of the optimizer's state and of the factors on its updates."""
        adam, larger = self.state.optimizer, self.template
        self.template = cut.apply(unravel(larger, self.params))
        self.params = ravel(self.template)
        mu, nu, self.trainable = (
            ravel(cut.apply_to_updates(unravel(larger, np.asarray(values))))
            for values in (adam.mu, adam.nu, self.trainable)
        )
        average = None
        if self.state.average is not None:
            average = ravel(cut.apply(unravel(larger, self.average)))
        self.average = self.params if average is None else average
        self.state = State(self.params, adam._replace(mu=mu, nu=nu), average, self.state.num_skipped)
        self.feed.make_noise_for(self.template)


def fit(
    trial: Trial,
    settings: FitSettings,
    *,
    trial_index: int = 0,
    num_fits: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
    stop: threading.Event | None = None,
    checkpoint: Keeper | None = None,
    turns: AbstractContextManager = nullcontext(),  # noqa: B008 - has no state
    crew: Crew | None = None,
) -> FitResult:
    """Fit one trial. Ctrl-C, or `stop`, ends it after the current chunk with what is fitted so far.

    `num_fits` says how many fits of this kind share what is compiled. With a `checkpoint` the run is written there now
    and then, and goes on from there if it is the same fit's; the outcome is that of a run that was never stopped. Each
    chunk waits for its `turns`. A `crew` of processes shares every batch; all of them call this.
    """
    saved: Any = None if checkpoint is None else checkpoint.load()
    run = Run(trial, settings, num_fits, RunState.start(trial, settings) if saved is None else saved, crew)
    try:
        upcoming = run.feed.chunk(run.done) if run.done < settings.num_steps else None
        while upcoming is not None and run.status == "finished":
            with turns:
                upcoming = run.next_chunk(upcoming, checkpoint)
            if on_progress is not None:
                on_progress(run.progress(trial_index))
            if stop is not None and stop.is_set() and run.done < settings.num_steps:
                run.status = "interrupted"
    except KeyboardInterrupt:
        if run.done == 0:
            raise
        run.status = "interrupted"
    return run.result()
