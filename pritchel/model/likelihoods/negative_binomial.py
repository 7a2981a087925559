"""Counts with more spread than Poisson."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import special

from pritchel.lazy import jax, jnp
from pritchel.model.likelihoods.base import Components, LikelihoodSettings, LikelihoodStart, NumpyOps, likelihood
from pritchel.model.likelihoods.counts import LARGEST, CountLikelihood, poisson_counts
from pritchel.numerics import LOG_2PI, as_parameter, gauss_hermite
from pritchel.shapes import AnyArray, Outputs, Scalar, Targets

NUM_NODES = 12
PRIOR_SD = 2.0  # of the log dispersion


class NegativeBinomialLikelihood(CountLikelihood):
    r"""$y \sim \mathrm{NB}$ of mean $\mu = e^{f + o}$, variance $\mu + \mu^2/r$; $\ln r \sim N(0, 2^2)$ at its best."""

    def start(self, num_targets: int) -> Float[AnyArray, " targets"]:
        """Starting parameters: ln r = 0."""
        return as_parameter(np.zeros(num_targets))

    def expected_log_density(
        self, params: Float[AnyArray, " targets"], targets: Targets, mean: Outputs, var: Outputs
    ) -> Float[AnyArray, " examples"]:
        r"""$\ln\frac{\Gamma(y+r)}{\Gamma(r)} + y\,E[g] - (y+r)\,E[\ln(1 + e^{g})]$, $g = f + o - \ln r$: quadrature."""
        return self.expected_terms(params, targets, mean, var).sum(-1)

    def expected_terms(self, params: Any, targets: Any, mean: Any, var: Any) -> Any:
        """The same, a target each."""
        dispersion, log_odds = jnp.exp(params), mean + self.log_rate - params
        nodes, weights = gauss_hermite(NUM_NODES)
        at_nodes = log_odds[..., None] + jnp.sqrt(var)[..., None] * jnp.asarray(nodes, mean.dtype)
        expected = jax.nn.softplus(at_nodes) @ jnp.asarray(weights, mean.dtype)
        ratio = jax.lax.lgamma(targets + dispersion) - jax.lax.lgamma(dispersion)
        return ratio + targets * log_odds - (targets + dispersion) * expected

    def log_density(self, params, targets, outputs):
        r"""$\ln\frac{\Gamma(y+r)}{\Gamma(r)\,y!} + y\,g - (y+r)\ln(1 + e^{g})$, $g = f + o - \ln r$."""
        return self.terms(params, targets, outputs).sum(-1)

    def terms(self, params: Any, targets: Any, outputs: Any) -> Any:
        """The same, a target each."""
        dispersion, log_odds = jnp.exp(params), outputs + self.log_rate - params
        ratio = jax.lax.lgamma(targets + dispersion) - jax.lax.lgamma(dispersion) - jax.lax.lgamma(targets + 1)
        return ratio + targets * log_odds - (targets + dispersion) * jax.nn.softplus(log_odds)

    def log_prior(self, params: Float[AnyArray, " targets"]) -> Scalar:
        """The Gaussian prior of the log dispersion."""
        return (-0.5 * (params / PRIOR_SD) ** 2 - 0.5 * LOG_2PI - np.log(PRIOR_SD)).sum()

    def kl(self, params: Float[AnyArray, " targets"]) -> Scalar:
        r"""Minus the log prior of the log dispersion, up to a constant, and $\sum\ln y!$."""
        return 0.5 * ((params / PRIOR_SD) ** 2).sum() + self.log_factorials

    def noise_values(self, params):
        """The dispersion."""
        return {"dispersion": np.exp(params)}

    def moments(self, outputs, values, ops):
        r"""$\mu$ and $\mu + \mu^2/r$."""
        rate = self.rate(outputs, ops)
        return rate, rate + rate * rate / values["dispersion"]

    def components(self, outputs, values, location, scale):
        """Negative binomial."""
        return NegativeBinomialComponents(self.rate(outputs, NumpyOps), values["dispersion"])


class NegativeBinomialComponents(Components):
    """Means (draws, rows, targets) and dispersions that broadcast against them."""

    is_discrete = True

    def __init__(self, mean: np.ndarray, dispersion: np.ndarray):
        self.mean, self.dispersion = mean, np.broadcast_to(dispersion, mean.shape)
        self.var = mean + mean**2 / self.dispersion

    def log_density(self, values):
        """Log probability."""
        r, mean = self.dispersion, self.mean
        ratio = special.gammaln(values + r) - special.gammaln(r) - special.gammaln(values + 1)
        return ratio + r * np.log(r / (r + mean)) + special.xlogy(values, mean / (r + mean))

    def cdf(self, values):
        """P(y <= values)."""
        whole = np.floor(np.maximum(values, 0))
        below = special.betainc(self.dispersion, whole + 1, self.dispersion / (self.dispersion + self.mean))
        return np.where(values < 0, 0.0, below)

    def quantile(self, level):
        """A normal approximation's point: where the search for the mixture's quantile begins."""
        return np.floor(self.mean + special.ndtri(level) * np.sqrt(self.var))

    def sample(self, rng):
        """Counts: Poisson's, of rates with a gamma distribution."""
        rate = rng.standard_gamma(self.dispersion) / self.dispersion
        return poisson_counts(rng, np.minimum(self.mean, LARGEST) * rate)


@likelihood("negative_binomial")
@dataclasses.dataclass(frozen=True)
class NegativeBinomial(LikelihoodSettings):
    """Counts with more spread than Poisson noise has; how much more is learned.

    Examples
    --------
    >>> from pritchel import HorseshoeRegressor, NegativeBinomial
    >>> HorseshoeRegressor(likelihood=NegativeBinomial()).likelihood  # or likelihood="negative_binomial"
    NegativeBinomial()
    """

    kind = NegativeBinomialLikelihood

    def build(self, start: LikelihoodStart) -> NegativeBinomialLikelihood:
        """The likelihood for given counts."""
        return NegativeBinomialLikelihood.of_counts(start)
