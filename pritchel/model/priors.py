"""The three priors over the weights into a unit: Gaussian, horseshoe, regularized horseshoe."""

from abc import abstractmethod
from typing import Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from pritchel.model.scales import inverse_gamma_log_normalizer, log_shrunken_scale
from pritchel.shapes import AnyArray, Scalar

Sharing = Literal["network", "layer", "unit"]


class Prior(eqx.Module):
    """What a prior must say: the scale that its scales, if it has any, give a unit's weights."""

    @abstractmethod
    def log_weight_scale(
        self, log_scale: Float[AnyArray, "*#shape"], log_slab_sq: Float[AnyArray, "*#shape"] | None
    ) -> Float[AnyArray, "*#shape"]:
        """Log of the standard deviation of a unit's weights, from ln(tau upsilon) and ln c^2."""


class Gaussian(Prior):
    """w ~ N(0, 1) everywhere: the plain Bayesian network, with no scale to learn."""

    def log_weight_scale(self, log_scale, log_slab_sq):
        """Zero: every weight has unit scale."""
        return jnp.zeros_like(log_scale)


class ShrinkagePrior(Prior):
    """A prior with half-Cauchy scales of units, layers, the output layer and, where there is one, the linear path."""

    log_unit_scale_prior: eqx.AbstractVar[Float[AnyArray, " layers"]]
    log_layer_scale_prior: eqx.AbstractVar[Float[AnyArray, " layers"]]
    log_output_scale_prior: eqx.AbstractVar[Scalar]
    log_linear_scale_prior: eqx.AbstractVar[Scalar]


class Horseshoe(ShrinkagePrior):
    r"""$w_k \sim N(0, \tau_k^2\upsilon_l^2 I)$, both scales half-Cauchy -- Eq. 1."""

    log_unit_scale_prior: Float[AnyArray, " layers"]
    log_layer_scale_prior: Float[AnyArray, " layers"]
    log_output_scale_prior: Scalar
    log_linear_scale_prior: Scalar

    def log_weight_scale(self, log_scale, log_slab_sq):
        """The raw product of scales."""
        return log_scale


class RegularizedHorseshoe(ShrinkagePrior):
    r"""The horseshoe with a slab $c^2 \sim \mathrm{InvGamma}(c_a, c_b)$ that caps large scales -- Eq. 2."""

    log_unit_scale_prior: Float[AnyArray, " layers"]
    log_layer_scale_prior: Float[AnyArray, " layers"]
    log_output_scale_prior: Scalar
    log_linear_scale_prior: Scalar
    slab_shape: Scalar
    slab_rate: Scalar
    slab_log_normalizer: Scalar
    slab_sharing: Sharing = eqx.field(static=True)

    def log_weight_scale(self, log_scale, log_slab_sq):
        """The product of scales, levelled off at the slab."""
        return log_shrunken_scale(log_scale, log_slab_sq)


PRIORS = ("gaussian", "horseshoe", "regularized_horseshoe")


def make_prior(
    name: str,
    num_hidden: int,
    *,
    unit_scale: float | tuple[float, ...] = 1.0,
    layer_scale: float | tuple[float, ...] = 1e-5,
    output_scale: float = 5.0,
    linear_scale: float = 1.0,
    slab: tuple[float, float] = (2.0, 6.0),
    slab_sharing: Sharing = "network",
) -> Prior:
    """The named prior for a network of `num_hidden` hidden layers; scales are given once or once a layer."""
    if name == "gaussian":
        return Gaussian()
    scales = {
        "log_unit_scale_prior": np.asarray(np.log(np.broadcast_to(unit_scale, num_hidden))),
        "log_layer_scale_prior": np.asarray(np.log(np.broadcast_to(layer_scale, num_hidden))),
        "log_output_scale_prior": np.asarray(np.log(output_scale)),
        "log_linear_scale_prior": np.asarray(np.log(linear_scale)),
    }
    if name == "horseshoe":
        return Horseshoe(**scales)
    if name == "regularized_horseshoe":
        return RegularizedHorseshoe(
            **scales,
            slab_shape=np.asarray(float(slab[0])),
            slab_rate=np.asarray(float(slab[1])),
            slab_log_normalizer=np.asarray(inverse_gamma_log_normalizer(*slab)),
            slab_sharing=slab_sharing,
        )
    raise ValueError(f"prior must be one of {', '.join(PRIORS)}; got {name!r}.")
