"""Highest-density regions: the smallest sets that hold a new observation with a given probability, gaps and all."""

from typing import Any

import numpy as np
from scipy import special

from pritchel.model.likelihoods.base import Components
from pritchel.posterior.mixture import log_mean_exp, mixed_quantile

NUM_POINTS = 160  # evenly between far quantiles, and as many where components lie
LEVELS = special.ndtr((-3.5, -2.5, -1.7, -1.1, -0.7, -0.3, 0.0, 0.3, 0.7, 1.1, 1.7, 2.5, 3.5))  # of those
TAIL = 1e-3  # probability of a new observation that the points leave out, of all that is left outside a region


def density_regions(components: Components, coverage: float) -> list[list[np.ndarray]]:
    """Intervals (intervals, 2) of each row and target, in rising order.

    Density and probability are those of points between far quantiles, more of them where components lie, so that a
    narrow hump has its own; between points the density is taken as a line.
    """
    outside = TAIL * (1 - coverage)
    low, high = (mixed_quantile(components, level) for level in (outside / 2, 1 - outside / 2))
    own = np.concatenate([components.quantile(level) for level in LEVELS])
    own = np.quantile(own, np.linspace(0, 1, NUM_POINTS), axis=0).clip(low, high)
    points = np.sort(np.concatenate([np.linspace(low, high, NUM_POINTS), own]), axis=0)  # (points, rows, targets)
    density = np.exp([log_mean_exp(components.log_density(at)) for at in points])
    return [
        [_intervals(points[:, row, target], density[:, row, target], coverage) for target in range(points.shape[2])]
        for row in range(points.shape[1])
    ]


def _intervals(points: np.ndarray, density: np.ndarray, coverage: float) -> np.ndarray:
    level = _level(points, density, coverage)
    is_in = density >= level
    edges = np.flatnonzero(np.diff(is_in))
    share = (level - density[edges]) / (density[edges + 1] - density[edges])
    crossings = points[edges] + share * (points[edges + 1] - points[edges])
    ends = np.concatenate([points[:1][is_in[:1]], crossings, points[-1:][is_in[-1:]]])
    return ends.reshape(-1, 2)


def _level(points: np.ndarray, density: np.ndarray, coverage: float) -> float:
    """The density above which a part `coverage` of the probability lies, by bisection."""
    low, high = 0.0, float(density.max())
    widths = np.diff(points)
    total = _mass_above(0.0, widths, density)
    for _ in range(60):
        middle = 0.5 * (low + high)
        is_enough = _mass_above(middle, widths, density) >= coverage * total
        low, high = (middle, high) if is_enough else (low, middle)
    return low


def _mass_above(level: float, widths: np.ndarray, density: np.ndarray) -> float:
    """The integral, over where the broken line is above the level, of the line."""
    first, second = np.minimum(density[:-1], density[1:]), np.maximum(density[:-1], density[1:])
    rise: Any = np.where(second > first, second - first, 1.0)
    part = np.where(first >= level, 1.0, np.clip((second - level) / rise, 0.0, 1.0))
    return float((widths * part * 0.5 * (np.maximum(first, level) + second) * (second >= level)).sum())
