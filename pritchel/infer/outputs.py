"""Mean and variance of the network's output under the guide: by sampling, or by moments with none."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import jax.numpy as jnp

from pritchel.guide.network import NetworkGuide, draw_shared_scales, noise_shape
from pritchel.model.network import Model, activate
from pritchel.numerics import gauss_hermite, log_normal_moment, rectified_normal_moments
from pritchel.shapes import AnyArray, Inputs, Outputs

Objective = Literal["moments", "sampled"]
NUM_SCALE_NODES = 3


class PassNoise(NamedTuple):
    """Standard normal noise for one pass over a batch. The moments objective draws only the scales that units share."""

    projections: tuple[AnyArray, ...]  # (examples, units) a hidden layer
    log_unit_scales: tuple[AnyArray, ...]  # likewise
    log_layer_scales: AnyArray  # (layers,)
    log_slab_sq: tuple[AnyArray, ...]


def pass_noise_shapes(guide: NetworkGuide, num_examples: int, objective: Objective) -> PassNoise:
    """Shapes of the noise that the objective takes."""
    units = guide.widths[1:-1]
    per_unit = tuple(noise_shape(num_examples, count) for count in units) if objective == "sampled" else ()
    return PassNoise(
        per_unit,
        per_unit if guide.log_layer_scales is not None else (),
        noise_shape(len(units)),
        tuple(noise_shape(*slab.mean.shape) for slab in guide.log_slab_sq),
    )


def sampled_output(model: Model, guide: NetworkGuide, inputs: Inputs, noise: PassNoise) -> tuple[Outputs, Outputs]:
    """Mean and variance of the network's output given one draw of the last hidden layer's activations.

    Hidden pre-activations are drawn directly, each example and unit with its own noise (local reparametrisation,
    Eq. 7-9); what the output layer adds is Gaussian given those and needs no draw.
    """
    layer_scales, slabs = draw_shared_scales(guide, noise.log_layer_scales, noise.log_slab_sq)
    values = inputs
    for index, layer in enumerate(guide.layers):
        mean, var, slope = layer.project(values)
        projection = mean + jnp.sqrt(var) * noise.projections[index]
        scales = layer.log_unit_scale_moments()
        if scales is not None and layer_scales is not None:
            log_unit_mean, log_unit_var = scales
            deviation = jnp.sqrt(log_unit_var) * noise.log_unit_scales[index]
            if slope is not None:
                projection = projection + slope * deviation
            log_scale = log_unit_mean + deviation + layer_scales[index]
            projection = projection * jnp.exp(model.prior.log_weight_scale(log_scale, slabs[index]))
        values = activate(model.activation, projection)
    return scaled_output_moments(guide, *guide.output.project_moments(values))


def moments_output(model: Model, guide: NetworkGuide, inputs: Inputs, noise: PassNoise) -> tuple[Outputs, Outputs]:
    r"""Mean and variance of the network's output with all units integrated out, given the scales that units share.

    ReLU is positively homogeneous, $\mathrm{relu}(s b) = s\,\mathrm{relu}(b)$, and $b$ is Gaussian given $\nu$, so a
    unit's first two moments are closed forms summed over Gauss-Hermite nodes of $\nu$. With one hidden layer that is
    exact up to the nodes; in deeper ones the next layer takes its inputs as independent with these moments.
    """
    layer_scales, slabs = draw_shared_scales(guide, noise.log_layer_scales, noise.log_slab_sq)
    mean, var = inputs, None
    for index, layer in enumerate(guide.layers):
        projection_mean, projection_var, slope = layer.project(mean, var)
        scales = layer.log_unit_scale_moments()
        if scales is None or layer_scales is None:
            mean, second = rectified_normal_moments(projection_mean, projection_var)
        else:
            log_unit_mean, log_unit_var = scales
            nodes, weights = gauss_hermite(NUM_SCALE_NODES)
            mean, second = jnp.zeros(()), jnp.zeros(())
            for node, weight in zip(nodes, weights, strict=True):
                deviation = float(node) * jnp.sqrt(log_unit_var)
                log_scale = model.prior.log_weight_scale(log_unit_mean + deviation + layer_scales[index], slabs[index])
                scale = jnp.exp(log_scale)
                shifted = projection_mean if slope is None else projection_mean + slope * deviation
                first_q, second_q = rectified_normal_moments(shifted, projection_var)
                mean = mean + float(weight) * scale * first_q
                second = second + float(weight) * scale**2 * second_q
        var = jnp.maximum(second - mean**2, 0.0)
    return scaled_output_moments(guide, *guide.output.project_moments(mean, var))


def scaled_output_moments(guide: NetworkGuide, mean: Outputs, var: Outputs) -> tuple[Outputs, Outputs]:
    r"""Moments of $f = \kappa b$ from those of $b$, with $\ln\kappa$ Gaussian and independent."""
    scale = guide.log_output_scale
    if scale is None:
        return mean, var
    first, second = (log_normal_moment(scale.mean, scale.var, power) for power in (1.0, 2.0))
    return first * mean, second * (mean**2 + var) - (first * mean) ** 2


OUTPUTS: dict[str, Callable[[Model, NetworkGuide, Inputs, PassNoise], tuple[Outputs, Outputs]]] = {
    "moments": moments_output,
    "sampled": sampled_output,
}
