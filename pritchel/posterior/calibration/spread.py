"""One factor on the spread of predictions."""

import numpy as np

from pritchel.model.likelihoods.base import Components
from pritchel.posterior.calibration.base import (
    UNSEEN,
    FoundCalibration,
    at_most,
    calibration,
    check_factors,
    in_words,
    most_likely,
    num_rows,
)


@calibration
class Spread(FoundCalibration):
    r"""$y' = m(x) + s(y - m(x))$ with $m$ the predictive mean, one $s$ a target: the mean stays, all spread follows."""

    kind = "spread"
    is_for = "numbers on the real line"
    moves_draws = True

    @classmethod
    def suits(cls, likelihood):
        """Numbers on the real line."""
        return not likelihood.has_classes and not likelihood.has_counts

    @classmethod
    def find(cls, unseen, seed):
        """The factor of greatest likelihood, one a target."""
        unseen, num_targets = at_most(unseen), unseen[0].rows.targets.shape[1]

        def made(factor: float) -> FoundCalibration:
            return cls(np.full(num_targets, factor), num_rows(unseen), seed)

        factors = [most_likely(unseen, made, target) for target in range(num_targets)]
        return cls(np.asarray(factors), num_rows(unseen), seed)

    def check(self, num_targets):
        """A factor a target."""
        check_factors(self.values, num_targets)

    @property
    def factor(self):
        """As found."""
        return self.values

    def components(self, parts, center):
        """Drawn together, or apart."""
        return SpreadComponents(parts, center, self.values)

    def __str__(self) -> str:
        words = [in_words(factor, "too wide", "too narrow") for factor in self.values]
        found = f"found from {self.num_rows:,} rows {UNSEEN}"
        if len(words) == 1:
            return f"spread {self.values[0]:.2f}, {found}: predictions were {words[0]}"
        each = (f"{factor:.2f} ({word})" for factor, word in zip(self.values, words, strict=True))
        return f"spread {', '.join(each)}, {found}"


class SpreadComponents(Components):
    """Components whose distance from a center, (rows, targets), is multiplied by a factor."""

    def __init__(self, parts: Components, center: np.ndarray, factor: np.ndarray):
        self.parts, self.center, self.factor = parts, center, factor
        self.mean, self.var = self._there(parts.mean), factor**2 * parts.var
        self.dof, self.num_humps = parts.dof, parts.num_humps

    def _there(self, values: np.ndarray) -> np.ndarray:
        return self.center + self.factor * (values - self.center)

    def _back(self, values: np.ndarray) -> np.ndarray:
        return self.center + (values - self.center) / self.factor

    def log_density(self, values):
        """That of where the values come from, and the change of units."""
        return self.parts.log_density(self._back(values)) - np.log(self.factor)

    def cdf(self, values):
        """That of where the values come from."""
        return self.parts.cdf(self._back(values))

    def quantile(self, level):
        """Moved as everything is."""
        return self._there(self.parts.quantile(level))

    def sample(self, rng):
        """Moved as everything is."""
        return self._there(self.parts.sample(rng))
