"""Targets that are no smooth quantity: on a coarse grid, of one value in many rows, counts with too many zeros."""

import numpy as np

COARSE = 0.1  # standard deviations: a grid with smaller steps is as good as none
TIED = 0.5  # of the rows: where fewer distinct values than that are left, rounding is worth a look
HEAVY, ALONE = 0.2, 3.0  # share of the rows of one value, and how much commoner than the next it is
MANY = 10  # distinct values: fewer are levels, not a quantity
ROUNDING = 1e-4  # of a step: what single precision leaves of standardized values
KNOWN = 0.5  # of a step: noise does not look at targets on a grid more closely than this
MORE_ZEROS = 0.05  # share of rows


def coarse_step(values: np.ndarray) -> float | None:
    """The step of the grid that all values lie on, where it is a good part of their spread; None: there is none."""
    distinct = np.unique(values)
    if not 1 < len(distinct) <= TIED * len(values):
        return None
    steps = np.diff(distinct)
    step = float(steps.min())
    is_grid = np.all(np.abs(steps / step - np.round(steps / step)) < ROUNDING * np.maximum(steps / step, 1))
    return step if is_grid and step >= COARSE * values.std() else None


def rounding_variance(targets: np.ndarray) -> np.ndarray | None:
    """Of each target, (rows, targets), how far values on a coarse grid may be from what they stand for; None: no grid.

    As if that were spread evenly over `KNOWN` of a step.
    """
    steps = np.array([coarse_step(np.asarray(values, float)) or 0.0 for values in targets.T])
    return (KNOWN * steps) ** 2 / 12 if steps.any() else None


def heavy_value(values: np.ndarray) -> tuple[float, float] | None:
    """One value that many rows share and no other comes near in that, with its share of the rows; None: none does."""
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) < MANY:
        return None
    second, first = np.sort(counts)[-2:]
    if first < HEAVY * len(values) or first < ALONE * second:
        return None
    return float(distinct[counts.argmax()]), float(first / len(values))


def has_many_zeros(values: np.ndarray) -> bool:
    """Whether counts hold more zeros than negative binomial ones of the same mean and variance."""
    mean, var = values.mean(), values.var()
    if mean <= 0 or np.any(values < 0) or np.any(values != np.round(values)):
        return False
    dispersion = mean**2 / max(var - mean, 1e-9 * mean)
    expected = np.exp(-dispersion * np.log1p(mean / dispersion))
    return bool(np.mean(values == 0) > expected + MORE_ZEROS)
