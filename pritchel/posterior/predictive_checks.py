"""Posterior-predictive checks: do tables that the model makes up look like the one that was seen?"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pritchel.posterior.predict import Posterior

MAX_CHECKED_ROWS = 20_000
Statistic = Callable[[np.ndarray], Any]  # a column of targets to a number


class PredictiveCheck(NamedTuple):
    """One statistic of one target, seen and made up.

    Nine in ten made-up tables lie between `lower` and `upper`. `above` is the share of them with a larger value, ties
    counted half: near 0 or 1, the model does not make tables like this one.
    """

    target: str
    statistic: str
    observed: float
    lower: float
    upper: float
    above: float


def _share(column: np.ndarray, value: Any) -> Any:
    return np.mean(column == value)


def _variance_over_mean(column: np.ndarray) -> float:
    mean = column.mean()
    return float(column.var() / mean) if mean > 0 else 1.0


NUMBERS: dict[str, Statistic] = {"mean": np.mean, "sd": np.std, "smallest": np.min, "largest": np.max}
COUNTS: dict[str, Statistic] = {
    "mean": np.mean,
    "variance over mean": _variance_over_mean,
    "share of zeros": partial(_share, value=0),
    "largest": np.max,
}


def class_statistics(labels: np.ndarray) -> dict[str, Statistic]:
    """The share of every class."""
    return {f"share of {label}": partial(_share, value=label) for label in labels}


def check_posterior(
    posterior: Posterior,
    inputs: np.ndarray,
    observed: np.ndarray,
    names: list[str],
    *,
    labels: np.ndarray | None = None,
    statistics: Mapping[str, Statistic] | None = None,
    num_tables: int = 200,
    seed: int = 0,
) -> list[PredictiveCheck]:
    """Statistics of the observed targets, (rows, targets), beside those of tables that the posterior makes up.

    Of classes both are given as indices and looked at as `labels`. Without `statistics` it looks at what suits the
    kind of target. Of more than 20,000 rows that many are taken at random.
    """
    rows = np.arange(len(observed))
    if len(rows) > MAX_CHECKED_ROWS:
        rows = np.sort(np.random.default_rng(seed).choice(rows, MAX_CHECKED_ROWS, replace=False))
    observed, made_up = observed[rows], posterior.sample_targets(inputs[rows], num_tables, seed)
    if labels is not None:
        observed, made_up = labels[observed.astype(int)], labels[made_up.astype(int)]
    if statistics is None:
        by_kind = COUNTS if posterior.likelihood.has_counts else NUMBERS
        statistics = by_kind if labels is None else class_statistics(labels)
    return predictive_checks(observed, made_up, names, statistics)


def predictive_checks(
    observed: np.ndarray, made_up: np.ndarray, targets: list[str], statistics: Mapping[str, Statistic]
) -> list[PredictiveCheck]:
    """Every statistic of every target: `observed` is (rows, targets), `made_up` (rows, targets, tables)."""
    checks = []
    for index, target in enumerate(targets):
        for name, statistic in statistics.items():
            seen = float(statistic(observed[:, index]))
            values = np.asarray([statistic(column) for column in made_up[:, index].T], float)
            above = np.mean(values > seen) + 0.5 * np.mean(values == seen)
            lower, upper = np.quantile(values, (0.05, 0.95))
            checks.append(PredictiveCheck(target, name, seen, float(lower), float(upper), float(above)))
    return checks
