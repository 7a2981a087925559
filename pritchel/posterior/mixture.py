"""Equal mixtures of Student-t distributions: the exact predictive of a set of weight draws."""

from typing import NamedTuple

import numpy as np
from scipy import special

MAX_ITERATIONS = 80


class StudentMixture(NamedTuple):
    """One component a draw; `location` has a leading axis of draws, `scale` and `dof` broadcast against it."""

    location: np.ndarray
    scale: np.ndarray
    dof: np.ndarray

    def log_density(self, values: np.ndarray) -> np.ndarray:
        """Log density of each component: draws first. Mix with `log_mean_exp` once targets are added up."""
        dof = self.dof
        constant = special.gammaln((dof + 1) / 2) - special.gammaln(dof / 2) - 0.5 * np.log(np.pi * dof)
        standard = (values - self.location) / self.scale
        return constant - np.log(self.scale) - (dof + 1) / 2 * np.log1p(standard**2 / dof)

    def cdf(self, values: np.ndarray) -> np.ndarray:
        """P(y <= values), mixed."""
        return special.stdtr(self.dof, (values - self.location) / self.scale).mean(0)

    def quantile(self, level: float) -> np.ndarray:
        """The value below which the mixture puts probability `level`.

        Newton's method held inside a bracket that closes on the root; the quantiles of the components are the bracket.
        """
        component = self.location + self.scale * special.stdtrit(self.dof, level)
        low, high = component.min(0), component.max(0)
        value = component.mean(0)
        tolerance = 1e-9 * np.max(self.scale)
        for _ in range(MAX_ITERATIONS):
            excess = self.cdf(value) - level
            low, high = np.where(excess < 0, value, low), np.where(excess >= 0, value, high)
            density = np.exp(self.log_density(value)).mean(0)
            step = value - excess / np.maximum(density, np.finfo(float).tiny)
            proposal = np.where((step > low) & (step < high), step, 0.5 * (low + high))
            if np.all(np.abs(proposal - value) <= tolerance):
                return proposal
            value = proposal
        return value


def log_mean_exp(values: np.ndarray) -> np.ndarray:
    """ln of the mean over the leading axis of exp(values)."""
    return special.logsumexp(values, axis=0) - np.log(len(values))
