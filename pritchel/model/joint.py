"""ln p(y, everything unknown) of one network: what samplers and oracles share, and what the bound takes means of."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from pritchel.lazy import jnp
from pritchel.model.network import Model, Weights, forward
from pritchel.model.priors import Scales
from pritchel.model.priors.base import Latents, of_layer
from pritchel.numerics import standard_normal_log_density
from pritchel.serial import stored
from pritchel.shapes import AnyArray, Inputs, Scalar, Targets


@stored
class Unknowns(NamedTuple):
    """A value for everything unknown; all of it unconstrained, scales as logs. Stacked draws have a leading axis."""

    hidden: tuple[AnyArray, ...]  # base weights, (fan_in + 1, units) a layer
    log_unit_scales: tuple[AnyArray, ...]  # (units,) a layer; empty: the prior has none
    scales: Scales
    latents: Latents
    output: AnyArray  # base weights
    linear: AnyArray | None  # base weights, no bias
    likelihood: AnyArray  # the likelihood's own parameters


def take_units(unknowns: Unknowns, kept: Sequence[np.ndarray]) -> Unknowns:
    """Values of the network that has only the given units of each hidden layer; any leading axes stay."""
    hidden, inputs = [], None
    for part, units in zip(unknowns.hidden, kept, strict=True):
        hidden.append(_take_inputs(part, inputs)[..., units])
        inputs = units

    def of_units(parts: tuple[AnyArray, ...]) -> tuple[AnyArray, ...]:
        return tuple(part[..., units] for part, units in zip(parts, kept, strict=True))

    return unknowns._replace(
        hidden=tuple(hidden),
        log_unit_scales=of_units(unknowns.log_unit_scales) if unknowns.log_unit_scales else (),
        latents={name: of_units(parts) if is_per_unit(parts) else parts for name, parts in unknowns.latents.items()},
        output=_take_inputs(unknowns.output, inputs),
    )


def is_per_unit(parts: Sequence[AnyArray]) -> bool:
    """Whether latents of one name have an entry a unit, or one that units share."""
    return any(part.shape[-1] != 1 for part in parts)


def _take_inputs(matrix: AnyArray, inputs: np.ndarray | None) -> AnyArray:
    """Rows of the given inputs and the bias, which is last; None: all."""
    return matrix if inputs is None else matrix[..., np.append(inputs, matrix.shape[-2] - 1), :]


def log_weight_scales(model: Model, unknowns: Unknowns) -> Weights:
    r"""Logs of the scales that make weights of base weights: $\ln\tilde\tau_k\upsilon$, one a unit, and $\ln\kappa$.

    One array a weight matrix, which broadcasts against it; None where base weights are the weights.
    """
    hidden: list[Any] = [None] * len(unknowns.hidden)
    for index, log_scale in enumerate(unknowns.log_unit_scales):
        if unknowns.scales.layer is not None:
            log_scale = log_scale + unknowns.scales.layer[index]
        latents = of_layer(unknowns.latents, index, len(hidden))
        hidden[index] = model.prior.log_weight_scale(log_scale, latents)
    return Weights(tuple(hidden), unknowns.scales.output, None if unknowns.linear is None else unknowns.scales.linear)


def weights_of(model: Model, unknowns: Unknowns) -> Weights:
    r"""The weights that base weights and scales make.

    $w_k = \tilde\tau_k\upsilon\,\beta_k$ -- Eq. 4 -- and $w_L = \kappa\,\beta_L$. Numpy in, numpy out; JAX in, JAX out.
    """
    namespace = unknowns.output.__array_namespace__()

    def scaled(base: Any, log_scale: Any) -> Any:
        return base if base is None or log_scale is None else base * namespace.exp(namespace.asarray(log_scale))

    scales = log_weight_scales(model, unknowns)
    hidden = tuple(map(scaled, unknowns.hidden, scales.hidden))
    return Weights(hidden, scaled(unknowns.output, scales.output), scaled(unknowns.linear, scales.linear))


def stacked_weights(model: Model, draws: Unknowns) -> Weights:
    """The weights of many draws, numpy arrays with a leading axis."""

    def of_outputs(part: Any) -> Any:
        return None if part is None else part.reshape(len(part), 1, -1)

    layer, output, linear = draws.scales
    scales = Scales(None if layer is None else layer.T[..., None, None], of_outputs(output), of_outputs(linear))
    return weights_of(
        model,
        draws._replace(
            log_unit_scales=tuple(part[:, None] for part in draws.log_unit_scales),
            scales=scales,
            latents={name: tuple(part[:, None] for part in parts) for name, parts in draws.latents.items()},
        ),
    )


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
