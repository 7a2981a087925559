"""Fit and score many splits of a table, several at a time."""

import os
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from pritchel.data.sources import Table
from pritchel.estimators.regressor import HorseshoeRegressor
from pritchel.experiments.scores import Scores, constant_scores, estimator_scores
from pritchel.posterior.diagnostics import CollapseWarning


class SplitRun(NamedTuple):
    """One split: the fitted estimator, its test scores and the constant predictor's, the seconds it took to fit."""

    split: int
    estimator: HorseshoeRegressor
    scores: Scores
    constant: Scores
    seconds: float


def run_splits(
    table: Table,
    splits: Sequence[int],
    make: Callable[[int], HorseshoeRegressor],
    n_jobs: int | None = None,
    on_done: Callable[[SplitRun], None] | None = None,
) -> list[SplitRun]:
    """Fit `make(split)` to each split's training rows and score it on the test rows, on all cores by default.

    `on_done` is told of each split as it ends, from the thread that ran it.
    """

    def run(split: int) -> SplitRun:
        train_X, train_y, test_X, test_y = table.split(split)
        start = time.perf_counter()
        estimator = make(split).set_params(progress=False, n_jobs=1).fit(train_X, train_y)
        seconds = time.perf_counter() - start
        scores = estimator_scores(estimator, test_X, test_y)
        finished = SplitRun(split, estimator, scores, constant_scores(train_y, test_y), seconds)
        if on_done is not None:
            on_done(finished)
        return finished

    with warnings.catch_warnings(), ThreadPoolExecutor(n_jobs or os.cpu_count() or 1) as pool:
        warnings.simplefilter("ignore", CollapseWarning)  # scores stand beside the constant predictor's anyway
        return list(pool.map(run, splits))
