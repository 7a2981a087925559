"""Fits of the toy sine that two experiments share: what is fitted, what is recorded, how it is compared."""

from typing import Any

import numpy as np

from pritchel.data.toy import sine
from pritchel.experiments.paper.settings import make_estimator
from pritchel.experiments.records import Key, Record, matching
from pritchel.experiments.scores import estimator_scores
from pritchel.experiments.statistics import Interval, t_interval

GRID = np.linspace(-5, 5, 101)
IS_INSIDE = np.abs(GRID) <= 4  # where the data are
NUM_SEEDS, QUICK_STEPS = 5, 300


def fit_curve(key: Key) -> dict[str, Any]:
    """Fit one set of rows; the band on a grid is kept for the first seed only."""
    seed = key["split"]
    X, y = sine(key["rows"], seed)
    estimator = make_estimator(key, len(y)).fit(X, y)
    grid = GRID[:, None]
    mean, spread = estimator.predict(grid), estimator.predict_uncertainty(grid)
    scores = estimator_scores(estimator, *sine(500, 1000 + seed))
    inside = [values[IS_INSIDE] for values in (mean, spread.total, spread.epistemic)]
    result: dict[str, Any] = {
        "curve_rmse": round(float(np.sqrt(np.mean((inside[0] - np.sin(GRID[IS_INSIDE])) ** 2))), 4),
        "predictive_sd": round(float(inside[1].mean()), 4),
        "function_sd": round(float(inside[2].mean()), 4),
        "noise_sd": round(float(spread.aleatoric.mean()), 4),
        "coverage": round(scores.coverage, 4),
        "ll": round(scores.log_likelihood, 4),
        "kept": int(estimator.units_kept_[0, 0]),
        "collapsed": estimator.is_collapsed_,
    }
    if seed == 0:
        lower, upper = estimator.predict_interval(grid, 0.9).T
        result["band"] = [np.round(part, 3).tolist() for part in (mean, lower, upper, spread.epistemic)]
    return result


def values(records: list[Record], metric: str, **match: Any) -> np.ndarray:
    """A metric of the records whose key has the given entries, by seed."""
    found = {record["key"]["split"]: record["result"][metric] for record in matching(records, **match)}
    return np.array([found[seed] for seed in sorted(found)])


def log_ratio(first: np.ndarray, second: np.ndarray) -> Interval:
    """The interval of ln(first / second), paired; of as many as both have."""
    num = min(len(first), len(second))
    return t_interval(np.log(first[:num] / second[:num]))
