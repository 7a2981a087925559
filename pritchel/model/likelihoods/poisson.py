"""Counts with Poisson noise around a rate that is the exponential of the output."""

import dataclasses

import numpy as np
from jaxtyping import Float
from scipy import special

from pritchel.lazy import jax, jnp
from pritchel.model.likelihoods.base import Components, LikelihoodSettings, LikelihoodStart, NumpyOps, likelihood
from pritchel.model.likelihoods.counts import CountLikelihood, poisson_counts
from pritchel.numerics import log_normal_moment
from pritchel.shapes import AnyArray, Outputs, Scalar, Targets


class PoissonLikelihood(CountLikelihood):
    r"""$y \sim \mathrm{Poisson}(e^{f + o})$."""

    def expected_log_density(
        self, params: Float[AnyArray, " none"], targets: Targets, mean: Outputs, var: Outputs
    ) -> Float[AnyArray, " examples"]:
        r"""$y\,E[f + o] - E[e^{f + o}]$: exact but for $-\ln y!$."""
        log_rate = mean + self.log_rate
        return (targets * log_rate - log_normal_moment(log_rate, var, 1.0)).sum(-1)

    def log_density(self, params, targets, outputs):
        r"""$y(f + o) - e^{f + o} - \ln y!$."""
        log_rate = outputs + self.log_rate
        return (targets * log_rate - jnp.exp(log_rate) - jax.lax.lgamma(targets + 1)).sum(-1)

    def kl(self, params: Float[AnyArray, " none"]) -> Scalar:
        r"""$\sum\ln y!$: nothing to learn."""
        return jnp.asarray(self.log_factorials)

    def moments(self, outputs, values, ops):
        """The rate, twice."""
        rate = self.rate(outputs, ops)
        return rate, rate

    def components(self, outputs, values, location, scale):
        """Poisson."""
        return PoissonComponents(self.rate(outputs, NumpyOps))


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
        return poisson_counts(rng, self.mean)


@likelihood("poisson")
@dataclasses.dataclass(frozen=True)
class Poisson(LikelihoodSettings):
    """Counts with Poisson noise. With exposure, fit counts / exposure with `sample_weight=exposure`.

    Examples
    --------
    >>> from pritchel import HorseshoeRegressor, Poisson
    >>> HorseshoeRegressor(likelihood=Poisson()).likelihood  # or likelihood="poisson"
    Poisson()
    """

    kind = PoissonLikelihood

    def build(self, start: LikelihoodStart) -> PoissonLikelihood:
        """The likelihood for given counts."""
        return PoissonLikelihood.of_counts(start)
