"""Intervals that hold as many new rows as they promise, whatever the model: split conformal prediction."""

import math

import numpy as np

from pritchel.checks import MOST_ROWS
from pritchel.model.likelihoods.base import Components
from pritchel.posterior.calibration.base import TAIL, UNSEEN, FoundCalibration, calibration, num_rows
from pritchel.posterior.mixture import mixed_cdf, mixed_quantiles

ROUNDING = 1e-9


@calibration
class Conformal(FoundCalibration):
    r"""The central interval as wide as all but a few unseen rows needed it.

    A row's score is the half-width in probability of the narrowest central interval that holds it,
    $|F(y \mid x) - \frac12|$. With $n$ unseen rows the interval of coverage $c$ reaches as far as the
    $\lceil(n + 1)c\rceil$-th smallest score: it holds a new row like them with probability $c$ or more. A row outside
    the interval of all but two in a million scores a half and by how many widths of that it would have to be longer.

    `values` are the scores, a line a target, and last the rows' weights: one of weight two is two rows. Where there are
    too few rows for a coverage, the interval is the wider of the model's own and the one that holds all unseen rows.
    """

    kind = "conformal"
    is_for = "numbers on the real line"

    @classmethod
    def suits(cls, likelihood):
        """Numbers on the real line."""
        return not likelihood.has_classes and not likelihood.has_counts

    @classmethod
    def find(cls, unseen, seed):
        """The scores of the unseen rows."""
        scores = [own.over_rows(rows.inputs, rows.targets, _scores) for own, rows in unseen]
        weights = [rows.weights for _, rows in unseen]
        return cls(np.vstack([np.concatenate(scores).T, np.concatenate(weights)]), num_rows(unseen), seed)

    def check(self, num_targets):
        """A score a target and row, and weights."""
        values = self.values
        if values.ndim != 2 or values.shape != (num_targets + 1, self.num_rows) or self.num_rows < 1:
            raise ValueError("its calibration is not a score for each of its rows and targets")
        scores, weights = values[:-1], values[-1]
        is_sound = np.all((scores >= 0) & (scores < 1e6)) and np.all((weights > 0) & (weights <= MOST_ROWS))
        if values.dtype != np.float64 or not is_sound:
            raise ValueError("its calibration has scores, or weights, that no rows have")

    def own_levels(self, levels):
        """A level stands for the interval that leaves as much above as below."""
        side = np.sign(levels - 0.5)
        reach = np.stack([self._reach(target, np.abs(2 * levels - 1)) for target in range(len(self.values) - 1)])
        return 0.5 + side * np.minimum(reach, 0.5 - TAIL), side * np.maximum(reach - 0.5, 0.0)

    def quantiles(self, parts, levels):
        """The ends of intervals."""
        own, beyond = self.own_levels(levels)
        found = mixed_quantiles(parts, own.ravel()).reshape(*parts.mean.shape[1:], *own.shape)
        ends = np.stack([found[:, target, target] for target in range(len(own))], 1)
        if not beyond.any():
            return ends
        low, high = np.moveaxis(_widest(parts), -1, 0)
        return ends + beyond * (high - low)[..., None]

    def cdf(self, parts, values, cdf):
        """A value is inside the interval of some coverage if and only if its level is."""
        scores = _scores(parts, values, cdf)
        covered = np.stack([self._covered(target, own) for target, own in enumerate(scores.T)], -1)
        return 0.5 + 0.5 * np.sign(cdf - 0.5) * covered

    def complaint(self, levels):
        """Coverages that so few rows cannot guarantee."""
        coverage = float(np.abs(2 * levels - 1).max(initial=0.0))
        total = self.values[-1].sum()
        if coverage * (total + 1) <= total + ROUNDING:
            return None
        needed = math.ceil(coverage / (1 - coverage) - ROUNDING)
        return (
            f"A conformal interval of {coverage:.4g} needs {needed:,} unseen rows and has {total:.4g}. It is the wider "
            f"of the model's own and the one that holds all unseen rows, and only {total / (total + 1):.1%} are sure. "
            "Fit to more rows, or with a larger unseen_fraction."
        )

    def __str__(self) -> str:
        reach = [float(self._reach(target, np.array([0.9]))[0]) for target in range(len(self.values) - 1)]
        words = (f"the model's own of {2 * own:.1%}" if own < 0.5 else "wider than any of the model's" for own in reach)
        return f"conformal, found from {self.num_rows:,} rows {UNSEEN}: intervals of 90 % are {', '.join(words)}"

    def steps(self):
        """The share of rows, of all and one more, whose scores are as small."""
        order = np.argsort(self.values[:-1], kind="stable")
        filled = np.cumsum(self.values[-1][order], axis=1)
        return filled / (filled[:, -1:] + 1), np.take_along_axis(self.values[:-1], order, 1)

    def _reach(self, target: int, coverage: np.ndarray) -> np.ndarray:
        """Scores that intervals reach to: (coverages,)."""
        covered, scores = (part[target] for part in self.steps())
        place = np.searchsorted(covered, coverage - ROUNDING)
        known = scores[np.minimum(place, len(scores) - 1)]
        reach = np.where(place < len(scores), known, np.maximum(known, 0.5 * coverage))
        return np.where(coverage < ROUNDING, 0.0, reach)  # the median stays

    def _covered(self, target: int, own: np.ndarray) -> np.ndarray:
        """The least coverage, or just above it, whose interval reaches to the given scores."""
        covered, scores = (part[target] for part in self.steps())
        place = np.searchsorted(scores, own, side="left")
        least = np.concatenate([[0.0], covered])[place] + 2 * ROUNDING
        return np.minimum(np.where(place < len(scores), least, np.maximum(least, 2 * own)), 1.0)


def _scores(parts: Components, values: np.ndarray, cdf: np.ndarray | None = None) -> np.ndarray:
    """Of each row and target: how far a central interval must reach to hold it."""
    inside = np.abs((mixed_cdf(parts, values) if cdf is None else cdf) - 0.5)
    if np.all(inside <= 0.5 - TAIL):
        return inside
    low, high = np.moveaxis(_widest(parts), -1, 0)
    missing = np.maximum(np.maximum(low - values, values - high), 0.0) / (high - low)
    return np.where(inside <= 0.5 - TAIL, inside, 0.5 + missing)


def _widest(parts: Components) -> np.ndarray:
    return mixed_quantiles(parts, np.array([TAIL, 1 - TAIL]))
