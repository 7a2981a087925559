"""Posterior-predictive checks: do tables that the model makes up look like the one that was seen?"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

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
