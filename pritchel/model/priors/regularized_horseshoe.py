"""The regularized horseshoe: large scales level off at a slab -- Eq. 2."""

import dataclasses
from typing import Literal

import numpy as np
from jaxtyping import Float

from pritchel import checks
from pritchel.lazy import jnp
from pritchel.model.priors.base import prior
from pritchel.model.priors.shrinkage import HalfCauchy, ShrinkagePrior, ShrinkageSettings
from pritchel.model.scales import inverse_gamma_log_density, inverse_gamma_log_normalizer, log_shrunken_scale
from pritchel.shapes import AnyArray, OutputScales, Scalar
from pritchel.tree import static

Sharing = Literal["network", "layer", "unit"]
SLAB = "log_slab_sq"


class RegularizedHorseshoePrior(ShrinkagePrior):
    r"""The horseshoe with a slab $c^2 \sim \mathrm{InvGamma}(c_a, c_b)$ that caps large scales -- Eq. 2."""

    log_unit_scale_prior: Float[AnyArray, " layers"]
    log_layer_scale_prior: Float[AnyArray, " layers"]
    log_output_scale_prior: OutputScales
    log_linear_scale_prior: OutputScales
    slab_shape: Scalar
    slab_rate: Scalar
    slab_log_normalizer: Scalar
    slab_sharing: Sharing = static()
    half_cauchy: HalfCauchy = static()
    learn_layer_scale: bool = static()

    def log_weight_scale(self, log_scale, latents):
        """The product of scales, levelled off at the slab."""
        return log_shrunken_scale(log_scale, latents[SLAB])

    def _sizes(self, hidden: tuple[int, ...]) -> tuple[int, ...]:
        return {"network": (1,), "layer": (1,) * len(hidden), "unit": hidden}[self.slab_sharing]

    def start_latents(self, hidden):
        """Every slab at its prior's mode."""
        mode = float(np.log(self.slab_rate / (self.slab_shape + 1)))
        return {SLAB: tuple(np.full(size, mode) for size in self._sizes(hidden))}

    def expected_latent_log_density(self, latents):
        """Inverse-gamma terms of every slab."""
        hyper = (self.slab_shape, self.slab_rate, self.slab_log_normalizer)
        return sum((inverse_gamma_log_density(q.mean, q.var, *hyper).sum() for q in latents[SLAB]), jnp.zeros(()))

    def latent_log_density(self, latents):
        """Inverse-gamma log densities of every slab."""
        hyper = (self.slab_shape, self.slab_rate, self.slab_log_normalizer)
        terms = (inverse_gamma_log_density(value, jnp.zeros_like(value), *hyper).sum() for value in latents[SLAB])
        return sum(terms, jnp.zeros(()))

    def draw_latents(self, rng, num_draws, hidden):
        """Slabs from their inverse gamma."""
        rate = 1 / float(self.slab_rate)
        sizes = self._sizes(hidden)
        return {SLAB: tuple(-np.log(rng.gamma(float(self.slab_shape), rate, (num_draws, 1, size))) for size in sizes)}


@prior("regularized_horseshoe")
@dataclasses.dataclass(frozen=True)
class RegularizedHorseshoe(ShrinkageSettings):
    """The horseshoe with a slab that caps the scale of large weights: the default prior.

    Parameters
    ----------
    unit_scale, layer_scale, output_scale, linear_scale, learn_layer_scale, half_cauchy
        As in :class:`~pritchel.Horseshoe`.
    slab : tuple of two floats
        Shape and rate of the inverse-gamma prior on the slab variance.
    slab_sharing : {"network", "layer", "unit"}
        What has a slab of its own.

    Examples
    --------
    >>> from pritchel import HorseshoeRegressor, RegularizedHorseshoe
    >>> model = HorseshoeRegressor(prior=RegularizedHorseshoe(layer_scale=1e-4))
    >>> model.set_params(prior__layer_scale=1e-3).prior.layer_scale
    0.001
    """

    slab: tuple[float, float] = (2.0, 6.0)
    slab_sharing: Sharing = "network"

    def build(self, num_hidden: int) -> RegularizedHorseshoePrior:
        """The prior for so many hidden layers."""
        checks.check_choice("slab_sharing", self.slab_sharing, ("network", "layer", "unit"))
        shape, rate = checks.check_pair("slab", self.slab, "shape and rate of an inverse gamma")
        return RegularizedHorseshoePrior(
            **self.scale_fields(num_hidden),
            slab_shape=np.asarray(shape),
            slab_rate=np.asarray(rate),
            slab_log_normalizer=np.asarray(inverse_gamma_log_normalizer(shape, rate)),
            slab_sharing=self.slab_sharing,
        )
