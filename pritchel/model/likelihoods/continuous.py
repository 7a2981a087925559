"""Predictive components on the real line: Student-t and Gaussian."""

import numpy as np
from scipy import special

from pritchel.model.likelihoods.base import Components


class StudentComponents(Components):
    """Location (draws, rows, targets), scale and degrees of freedom that broadcast against it."""

    def __init__(self, location: np.ndarray, scale: np.ndarray, dof: np.ndarray):
        self.mean, self.scale, self.dof = location, scale, dof
        inflation = np.where(dof > 2, dof / np.maximum(dof - 2, 1e-9), np.inf)
        self.var = np.broadcast_to(scale**2 * inflation, location.shape)

    def log_density(self, values):
        """Student-t log density."""
        dof = self.dof
        constant = special.gammaln((dof + 1) / 2) - special.gammaln(dof / 2) - 0.5 * np.log(np.pi * dof)
        standard = (values - self.mean) / self.scale
        return constant - np.log(self.scale) - (dof + 1) / 2 * np.log1p(standard**2 / dof)

    def cdf(self, values):
        """Student-t distribution function."""
        return special.stdtr(self.dof, (values - self.mean) / self.scale)

    def quantile(self, level):
        """Student-t quantiles."""
        return self.mean + self.scale * special.stdtrit(self.dof, level)

    def sample(self, rng):
        """Student-t noise around the location."""
        return self.mean + self.scale * rng.standard_t(np.broadcast_to(self.dof, self.mean.shape))


class NormalComponents(Components):
    """Location and scale, (draws, rows, targets)."""

    def __init__(self, location: np.ndarray, scale: np.ndarray):
        self.mean, self.scale, self.var = location, scale, scale**2

    def log_density(self, values):
        """Gaussian log density."""
        return -0.5 * (((values - self.mean) / self.scale) ** 2 + np.log(2 * np.pi)) - np.log(self.scale)

    def cdf(self, values):
        """Gaussian distribution function."""
        return special.ndtr((values - self.mean) / self.scale)

    def quantile(self, level):
        """Gaussian quantiles."""
        return self.mean + self.scale * special.ndtri(level)

    def sample(self, rng):
        """Gaussian noise around the location."""
        return self.mean + self.scale * rng.standard_normal(self.mean.shape)
