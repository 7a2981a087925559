"""Many fits in one call: in threads that share one compiled function, or on the workers that joblib is told of.

In processes that share their fits, one after another: all compute each of them.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from pritchel.crew import Crew
from pritchel.infer.checkpoint import Checkpoint, CheckpointElsewhere, Kept, OfFirst, fingerprint
from pritchel.infer.run import fit
from pritchel.infer.trial import FitResult, FitSettings, Progress, Trial
from pritchel.infer.turns import Turns, num_under_way
from pritchel.jobs import answers, is_elsewhere
from pritchel.processes import together
from pritchel.programs import require_own_process


def fit_trials(
    trials: Sequence[Trial],
    settings: FitSettings,
    *,
    n_jobs: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
    checkpoints: Sequence[Checkpoint] | None = None,
) -> list[FitResult | None]:
    """Fit many trials, `n_jobs` at a time; an interrupt leaves fewer, and on workers None for those under way.

    Each trial runs exactly the program it would run alone, so it gives the same numbers to the bit, and trials may
    differ in rows, seeds and hyper-parameters. (Batching trials by `vmap` gives neither, nor a second core.)
    """
    require_own_process()
    if is_elsewhere():
        return _fit_elsewhere(trials, settings, n_jobs, on_progress, checkpoints)
    with together(checkpoints[0].path.parent if checkpoints else None) as crew:
        if crew is not None:
            return [*_fit_together(trials, settings, on_progress, checkpoints, crew)]
        return [*_fit_here(trials, settings, n_jobs, on_progress, checkpoints)]


def mark_of(trial: Trial, settings: FitSettings, num_fits: int) -> str:
    """A digest of all that a fit depends on."""
    parts = [trial.model, trial.guide, trial.data.mark(), tuple(trial.held_out or ()), trial.trainable]
    return fingerprint(parts, settings, trial.seed, num_fits)


def _fit_together(
    trials: Sequence[Trial],
    settings: FitSettings,
    on_progress: Callable[[Progress], None] | None,
    checkpoints: Sequence[Checkpoint] | None,
    crew: Crew,
) -> list[FitResult]:
    """Each with all processes, which must have been given the same rows; Ctrl-C in any stops all after one chunk."""
    marks = {id(trial.data): mark_of(trial, settings, len(trials)) for trial in trials}
    crew.require_same(repr([*marks.values()]), "rows, options or seeds")
    results: list[FitResult] = []
    for index, trial in enumerate(trials):
        results.append(
            fit(
                trial,
                settings,
                trial_index=index,
                num_fits=len(trials),
                on_progress=on_progress,
                stop=crew.stop,
                checkpoint=None if checkpoints is None else OfFirst(checkpoints[index], crew),
                crew=crew,
            )
        )
        if results[-1].status == "interrupted":
            break
    return results


def _fit_here(
    trials: Sequence[Trial],
    settings: FitSettings,
    n_jobs: int,
    on_progress: Callable[[Progress], None] | None,
    checkpoints: Sequence[Checkpoint] | None,
) -> list[FitResult]:
    stop, turns = threading.Event(), Turns(n_jobs)

    def run(index: int) -> FitResult:
        return fit(
            trials[index],
            settings,
            trial_index=index,
            num_fits=len(trials),
            on_progress=on_progress,
            stop=stop,
            checkpoint=None if checkpoints is None else checkpoints[index],
            turns=turns,
        )

    if n_jobs == 1 or len(trials) == 1:
        results: list[FitResult] = []
        try:
            while len(results) < len(trials) and (not results or results[-1].status != "interrupted"):
                results.append(run(len(results)))
        except KeyboardInterrupt:  # before the first steps of a trial
            if not results:
                raise
        return results
    with ThreadPoolExecutor(num_under_way(len(trials), n_jobs)) as pool:
        futures = [pool.submit(run, index) for index in range(len(trials))]
        try:
            return [future.result() for future in futures]
        except KeyboardInterrupt:
            stop.set()
            return [future.result() for future in futures if not future.cancel()]
        except BaseException:
            stop.set()  # what the others have come to is kept
            raise


class Ended(NamedTuple):
    """What a worker sends of a fit."""

    result: FitResult
    progress: Progress | None  # the last there was
    state: Any  # for a checkpoint, where the worker could not write it


def _fit_elsewhere(
    trials: Sequence[Trial],
    settings: FitSettings,
    n_jobs: int,
    on_progress: Callable[[Progress], None] | None,
    checkpoints: Sequence[Checkpoint] | None,
) -> list[FitResult | None]:
    """Progress is told, and a checkpoint written, as each ends; an interrupt keeps those that have."""
    sent = [None] * len(trials) if checkpoints is None else [CheckpointElsewhere.of(own) for own in checkpoints]
    tasks = [(trial, settings, len(trials), own) for trial, own in zip(trials, sent, strict=True)]
    ended: dict[int, FitResult] = {}
    try:
        for index, own in answers(fit_one, tasks, n_jobs):
            ended[index] = own.result
            if checkpoints is not None and own.state is not None:
                checkpoints[index].save(own.state)
            if on_progress is not None and own.progress is not None:
                on_progress(own.progress._replace(trial=index))
            if own.result.status == "interrupted":
                break
    except KeyboardInterrupt:
        if not ended:
            raise
    if len(ended) < len(trials):
        ended = {index: result._replace(status="interrupted") for index, result in ended.items()}
    return [ended.get(index) for index in range(len(trials))]


def fit_one(trial: Trial, settings: FitSettings, num_fits: int, sent: CheckpointElsewhere | None) -> Ended:
    """On a worker: one fit of several."""
    told: deque[Progress] = deque(maxlen=1)
    checkpoint = None if sent is None else sent.opened()
    result = fit(trial, settings, num_fits=num_fits, on_progress=told.append, checkpoint=checkpoint)
    state = checkpoint.state if isinstance(checkpoint, Kept) else None
    return Ended(result, told[0] if told else None, state)
