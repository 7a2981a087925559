"""ln p(y, everything unknown) of one network: what samplers and oracles share, and what the bound takes means of."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Float

from pritchel.model.network import Model, Weights, forward
from pritchel.model.priors import Scales
from pritchel.model.priors.base import Latents, of_layer
from pritchel.numerics import standard_normal_log_density
from pritchel.shapes import AnyArray, Inputs, Scalar, Targets


class Unknowns(NamedTuple):
    """A value for everything unknown; all of it unconstrained, scales as logs. Stacked draws have a leading axis."""

    hidden: tuple[AnyArray, ...]  # base weights, (fan_in + 1, units) a layer
    log_unit_scales: tuple[AnyArray, ...]  # (units,) a layer; empty: the prior has none
    scales: Scales
    latents: Latents
    output: AnyArray  # base weights
    linear: AnyArray | None  # base weights, no bias
    likelihood: AnyArray  # the likelihood's own parameters


def weights_of(model: Model, unknowns: Unknowns) -> Weights:
    r"""The weights that base weights and scales make.

    $w_k = \tilde\tau_k\upsilon\,\beta_k$ -- Eq. 4 -- and $w_L = \kappa\,\beta_L$. Numpy in, numpy out; JAX in, JAX out.
    """
    namespace = unknowns.output.__array_namespace__()

    def scaled(base: Any, log_scale: Any) -> Any:
        return base if base is None or log_scale is None else base * namespace.exp(namespace.asarray(log_scale))

    hidden = list(unknowns.hidden)
    for index, log_scale in enumerate(unknowns.log_unit_scales):
        if unknowns.scales.layer is not None:
            log_scale = log_scale + unknowns.scales.layer[index]
        latents = of_layer(unknowns.latents, index, len(hidden))
        hidden[index] = scaled(hidden[index], model.prior.log_weight_scale(log_scale, latents))
    scales = unknowns.scales
    return Weights(tuple(hidden), scaled(unknowns.output, scales.output), scaled(unknowns.linear, scales.linear))


def log_prior(model: Model, unknowns: Unknowns) -> Scalar:
    """Log density of base weights, scales, latents and the likelihood's own parameters."""
    base = [part for part in (*unknowns.hidden, unknowns.output, unknowns.linear) if part is not None]
    total = sum((standard_normal_log_density((part**2).sum(), part.size) for part in base), jnp.zeros(()))
    total += model.prior.log_density(unknowns.log_unit_scales, unknowns.scales, unknowns.latents)
    return total + model.likelihood.log_prior(unknowns.likelihood)


def log_likelihood(model: Model, unknowns: Unknowns, inputs: Inputs, targets: Targets) -> Float[AnyArray, " examples"]:
    """ln p(y | everything unknown), a row each."""
    outputs = forward(weights_of(model, unknowns), inputs, model.activation)
    return model.likelihood.log_density(unknowns.likelihood, targets, outputs)


def log_joint(
    model: Model, unknowns: Unknowns, inputs: Inputs, targets: Targets, weights: Float[AnyArray, " examples"]
) -> Scalar:
    """ln p(y, everything unknown) of a table whose rows count `weights` times."""
    return (weights * log_likelihood(model, unknowns, inputs, targets)).sum() + log_prior(model, unknowns)
