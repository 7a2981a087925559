"""The plain Bayesian network: every weight N(0, 1), nothing to learn and nothing to prune."""

import dataclasses

from pritchel.lazy import jnp
from pritchel.model.priors.base import Prior, PriorSettings, PriorStart, Scales, prior


class StandardNormalPrior(Prior):
    """w ~ N(0, 1) everywhere."""

    has_unit_scales = False

    def start(self, hidden, linear, output_scales=()):
        """Nowhere: there are no scales."""
        return PriorStart(None, Scales(), {})

    def log_weight_scale(self, log_scale, latents):
        """Zero: every weight has unit scale."""
        return 0 * log_scale

    def expected_log_density(self, units, scales, latents):
        """Zero: there are no scales."""
        return jnp.zeros(())

    def log_density(self, log_unit_scales, scales, latents):
        """Zero: there are no scales."""
        return jnp.zeros(())

    def draw(self, rng, num_draws, hidden, linear, output_scales=()):
        """Nothing."""
        return [], Scales(), {}


@prior("gaussian")
@dataclasses.dataclass(frozen=True)
class GaussianPrior(PriorSettings):
    """Every weight N(0, 1): the plain Bayesian neural network. It has no unit scales, so nothing can be pruned.

    Examples
    --------
    >>> from pritchel import GaussianPrior, HorseshoeRegressor
    >>> HorseshoeRegressor(prior=GaussianPrior(), family="factorized").prior  # or prior="gaussian"
    GaussianPrior()
    """

    def build(self, num_hidden: int) -> StandardNormalPrior:
        """The prior."""
        return StandardNormalPrior()
