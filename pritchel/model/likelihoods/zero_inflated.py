"""Counts with more zeros than a negative binomial has: rows that count nothing, whatever their rate."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import special

from pritchel.lazy import jax, jnp
from pritchel.model.likelihoods.base import Components, LikelihoodSettings, LikelihoodStart, NumpyOps, likelihood
from pritchel.model.likelihoods.counts import CountLikelihood
from pritchel.model.likelihoods.negative_binomial import (
    NUM_NODES,
    NegativeBinomialComponents,
    NegativeBinomialLikelihood,
)
from pritchel.numerics import LOG_2PI, as_parameter, gauss_hermite
from pritchel.shapes import AnyArray, Outputs, Scalar, Targets

PRIOR_MEAN, PRIOR_SD = -3.0, 2.0  # of the log odds that a row counts nothing: seldom, unless rows say otherwise


class ZeroInflatedLikelihood(CountLikelihood):
    r"""$y = 0$ with probability $\pi = \sigma(g + b)$, else $y \sim \mathrm{NB}$ of mean $e^{f + o}$, dispersion $r$.

    Two outputs a target, the $f$ first, then the $g$; each has a scale of its own under the prior's half-Cauchy, so
    that $\pi$ is the same for all rows unless they ask for more. Own parameters: $\ln r \sim N(0, 2^2)$, then
    $b \sim N(-3, 2^2)$, both at their best.
    """

    def num_outputs(self, num_targets: int) -> int:
        """Two a target."""
        return 2 * num_targets

    def output_scales(self, num_targets: int) -> np.ndarray:
        """Each output has its own."""
        return np.ones(2 * num_targets)

    def start(self, num_targets: int) -> Float[AnyArray, " params"]:
        """Starting parameters: ln r = 0, and b at its prior's mean."""
        return as_parameter(np.repeat([0.0, PRIOR_MEAN], num_targets))

    def _counting(self) -> NegativeBinomialLikelihood:
        """The likelihood of rows that count."""
        return NegativeBinomialLikelihood(self.log_rate, self.log_factorials)

    def expected_log_density(
        self, params: Float[AnyArray, " params"], targets: Targets, mean: Outputs, var: Outputs
    ) -> Float[AnyArray, " examples"]:
        r"""$E_g\ln(\pi\,[y = 0] + (1 - \pi)\,e^{c})$, $c = E_f\ln\mathrm{NB}(y)$: exact of counts, a bound of zeros."""
        num = targets.shape[1]
        nodes, weights = gauss_hermite(NUM_NODES)
        odds = mean[:, num:] + params[num:]
        odds = odds[..., None] + jnp.sqrt(var[:, num:])[..., None] * jnp.asarray(nodes, mean.dtype)
        counted = self._counting().expected_terms(params[:num], targets, mean[:, :num], var[:, :num])
        at_nodes = _with_zeros(targets[..., None], odds, counted[..., None])
        return (at_nodes @ jnp.asarray(weights, mean.dtype)).sum(-1)

    def log_density(self, params, targets, outputs):
        r"""$\ln(\pi\,[y = 0] + (1 - \pi)\,\mathrm{NB}(y))$."""
        num = targets.shape[1]
        odds = outputs[:, num:] + params[num:]
        counted = self._counting().terms(params[:num], targets, outputs[:, :num])
        return _with_zeros(targets, odds, counted).sum(-1)

    def log_prior(self, params: Float[AnyArray, " params"]) -> Scalar:
        """The Gaussian priors of the log dispersion and of the log odds."""
        return (-0.5 * self._prior_squares(params) - 0.5 * LOG_2PI - np.log(PRIOR_SD)).sum()

    def kl(self, params: Float[AnyArray, " params"]) -> Scalar:
        r"""Minus the log prior, up to a constant, and $\sum\ln y!$."""
        return 0.5 * self._prior_squares(params).sum() + self.log_factorials

    def _prior_squares(self, params: Any) -> Any:
        mean = np.repeat([0.0, PRIOR_MEAN], params.shape[-1] // 2)
        return ((params - mean) / PRIOR_SD) ** 2

    def noise_values(self, params):
        """The dispersion, and the log odds of a row that counts nothing."""
        num = params.shape[-1] // 2
        return {"dispersion": np.exp(params[..., :num]), "log_odds": params[..., num:]}

    def moments(self, outputs, values, ops):
        r"""$(1-\pi)\mu$ and $(1-\pi)(\mu + \mu^2/r + \pi\mu^2)$."""
        num = outputs.shape[-1] // 2
        rate = self.rate(outputs[..., :num], ops)
        counting = ops.sigmoid(-1.0 * (outputs[..., num:] + values["log_odds"]))
        spread = rate + rate * rate * (1.0 / values["dispersion"] + (1.0 - counting))
        return counting * rate, counting * spread

    def components(self, outputs, values, location, scale):
        """Zeros among negative binomial counts."""
        num = outputs.shape[-1] // 2
        counts = NegativeBinomialComponents(self.rate(outputs[..., :num], NumpyOps), values["dispersion"])
        return ZeroInflatedComponents(counts, outputs[..., num:] + values["log_odds"])


def _with_zeros(targets: Any, odds: Any, counted: Any) -> Any:
    """Log density, from the log odds of a row that counts nothing and the log density of one that counts."""
    some = counted - jax.nn.softplus(odds)
    return jnp.where(targets == 0, jnp.logaddexp(-jax.nn.softplus(-odds), some), some)


class ZeroInflatedComponents(Components):
    """Counts, and the log odds (draws, rows, targets) of a zero that is none of them."""

    is_discrete = True

    def __init__(self, counts: NegativeBinomialComponents, log_odds: np.ndarray):
        self.counts, self.log_odds = counts, np.broadcast_to(log_odds, counts.mean.shape)
        self.none = special.expit(self.log_odds)
        self.mean = (1 - self.none) * counts.mean
        self.var = (1 - self.none) * (counts.var + self.none * counts.mean**2)

    def log_density(self, values):
        """Log probability."""
        counted = special.log_expit(-self.log_odds) + self.counts.log_density(values)
        return np.where(values == 0, np.logaddexp(special.log_expit(self.log_odds), counted), counted)

    def cdf(self, values):
        """P(y <= values)."""
        return np.where(values < 0, 0.0, self.none + (1 - self.none) * self.counts.cdf(values))

    def quantile(self, level):
        """Zero, or where the search in the counts would begin."""
        return np.concatenate([np.zeros_like(self.mean[:1]), self.counts.quantile(level)])

    def sample(self, rng):
        """Counts, some of them made zero."""
        counts = self.counts.sample(rng)
        return np.where(rng.random(counts.shape) < self.none, 0.0, counts)


@likelihood("zero_inflated")
@dataclasses.dataclass(frozen=True)
class ZeroInflated(LikelihoodSettings):
    """Counts of rows some of which count nothing, whatever their rate: more zeros than the other counts explain.

    Both the rate and the share of such rows may depend on the inputs.

    Examples
    --------
    >>> from pritchel import HorseshoeRegressor, ZeroInflated
    >>> HorseshoeRegressor(likelihood=ZeroInflated()).likelihood  # or likelihood="zero_inflated"
    ZeroInflated()
    """

    kind = ZeroInflatedLikelihood

    def build(self, start: LikelihoodStart) -> ZeroInflatedLikelihood:
        """The likelihood for given counts."""
        return ZeroInflatedLikelihood.of_counts(start)
