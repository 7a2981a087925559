"""Counts with Poisson noise around a rate that is the exponential of the output."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy import special

from pritchel.model.likelihoods.base import Components, Likelihood, LikelihoodStart, likelihood
from pritchel.numerics import log_normal_moment
from pritchel.shapes import AnyArray, Outputs, Scalar, Targets


@likelihood("poisson")
class PoissonLikelihood(Likelihood):
    r"""$y \sim \mathrm{Poisson}(e^{f + o})$ with $o$ the log of the mean count, so that $f$ starts from there.

    Exposure goes into the sample weights: counts divided by exposure as y, exposure as `sample_weight`. The term
    $-\ln y!$, which no parameter moves, is added up once, on the host.
    """

    is_scaled = False
    log_rate: Float[AnyArray, " targets"]
    log_factorials: Scalar

    @classmethod
    def create(cls, start: LikelihoodStart) -> "PoissonLikelihood":
        """The likelihood for the given counts."""
        return cls(log_mean(start), log_factorials(start))

    @classmethod
    def check_targets(cls, targets: np.ndarray) -> None:
        """Counts are not negative."""
        check_counts(targets)

    def expected_log_density(
        self, params: Float[AnyArray, " none"], targets: Targets, mean: Outputs, var: Outputs
    ) -> Float[AnyArray, " examples"]:
        r"""$y\,E[f + o] - E[e^{f + o}]$: exact but for $-\ln y!$."""
        log_rate = mean + self.log_rate
        return (targets * log_rate - log_normal_moment(log_rate, var, 1.0)).sum(-1)

    def kl(self, params: Float[AnyArray, " none"]) -> Scalar:
        r"""$\sum\ln y!$: nothing to learn."""
        return jnp.asarray(self.log_factorials)

    def moments(self, outputs, values, ops):
        """The rate, twice."""
        rate = ops.exp(outputs + np.asarray(self.log_rate, float))
        return rate, rate

    def components(self, outputs, values, location, scale):
        """Poisson."""
        return PoissonComponents(np.exp(outputs + np.asarray(self.log_rate, float)))


class PoissonComponents(Components):
    """Rates (draws, rows, targets)."""

    is_discrete = True

    def __init__(self, rate: np.ndarray):
        self.mean = self.var = rate

    def log_density(self, values):
        """Log probability."""
        return special.xlogy(values, self.mean) - self.mean - special.gammaln(values + 1)

    def cdf(self, values):
        """P(y <= values)."""
        return np.where(values < 0, 0.0, special.gammaincc(np.floor(np.maximum(values, 0)) + 1, self.mean))

    def quantile(self, level):
        """Bounds on the quantile are enough: a normal approximation with room to spare, here its point."""
        return np.floor(self.mean + special.ndtri(level) * np.sqrt(self.mean))

    def sample(self, rng):
        """Counts."""
        return rng.poisson(self.mean).astype(float)


def check_counts(targets: np.ndarray) -> None:
    """Counts, or counts divided by exposure, are not negative."""
    if np.any(targets < 0):
        row = int(np.argwhere(targets < 0)[0][0])
        raise ValueError(f"y must hold counts, which are not negative; row {row} is {targets[row]}.")


def log_mean(start: LikelihoodStart) -> np.ndarray:
    """Log of the mean count a target; 0 where there are no data or only zeros."""
    mean = start.weights @ start.targets / max(start.num_rows, 1.0)
    return np.log(np.where(mean > 0, mean, 1.0)).astype(float)


def log_factorials(start: LikelihoodStart) -> np.ndarray:
    """The sum of ln y! over the table, weights counted."""
    return np.asarray(float((start.weights @ special.gammaln(start.targets.astype(float) + 1)).sum()))
