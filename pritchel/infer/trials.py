"""Many fits in one call, in threads that share one compiled function."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from pritchel.infer.checkpoint import Checkpoint
from pritchel.infer.run import fit
from pritchel.infer.trial import FitResult, FitSettings, Progress, Trial
from pritchel.infer.turns import Turns, num_under_way
from pritchel.programs import require_own_process


def fit_trials(
    trials: Sequence[Trial],
    settings: FitSettings,
    *,
    n_jobs: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
    checkpoints: Sequence[Checkpoint] | None = None,
) -> list[FitResult]:
    """Fit many trials, `n_jobs` at a time.

    Each trial runs exactly the program it would run alone, so it gives the same numbers to the bit, and trials may
    differ in rows, seeds and hyper-parameters. (Batching trials by `vmap` gives neither, nor a second core.)
    """
    require_own_process()
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
