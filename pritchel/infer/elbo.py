"""The evidence lower bound in named parts -- Eq. 6. Minibatch scaling lives here and nowhere else."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from pritchel.guide.network import NetworkGuide
from pritchel.model.network import Model, activate
from pritchel.model.priors import Gaussian, RegularizedHorseshoe
from pritchel.model.scales import HALF_CAUCHY, inverse_gamma_log_density
from pritchel.numerics import log_normal_moment, standard_normal_log_density
from pritchel.shapes import Inputs, Outputs, Scalar


class Elbo(NamedTuple):
    """The bound's parts, each to be made large; `total` is the bound."""

    likelihood: Scalar  # E ln p(y | f)
    weights: Scalar  # E ln p(base weights) + entropy of the weights and of the log unit scales (one factor when structured)
    scales: Scalar  # E ln p(all scales) + entropy of the scales that units share
    noise: Scalar  # -KL of the likelihood's own parameters

    @property
    def total(self) -> Scalar:
        """The bound."""
        return self.likelihood + self.weights + self.scales + self.noise


class Batch(NamedTuple):
    """Rows of a table; a row of weight zero is padding."""

    inputs: Inputs
    targets: Outputs
    weights: Float[Array, " examples"]


class PassNoise(NamedTuple):
    """Standard normal noise for one sampled pass over a batch."""

    projections: tuple[Array, ...]  # (examples, units) a hidden layer
    log_unit_scales: tuple[Array, ...]  # likewise
    log_layer_scales: Array  # (layers,)
    log_slab_sq: tuple[Array, ...]


def pass_noise_shapes(guide: NetworkGuide, num_examples: int) -> PassNoise:
    """Shapes of the noise that `sampled_output` takes."""
    shapes = tuple((num_examples, units) for units in guide.widths[1:-1])
    slabs = tuple(slab.mean.shape for slab in guide.log_slab_sq)
    return PassNoise(shapes, shapes if guide.log_layer_scales is not None else (), (len(shapes),), slabs)


def sampled_output(model: Model, guide: NetworkGuide, inputs: Inputs, noise: PassNoise) -> tuple[Outputs, Outputs]:
    """Mean and variance of the network's output given one draw of the last hidden layer's activations.

    Hidden pre-activations are drawn directly, each example and unit with its own noise (local reparametrisation,
    Eq. 7-9); what the output layer adds is Gaussian given those and needs no draw.
    """
    slabs = [slab.draw(part) for slab, part in zip(guide.log_slab_sq, noise.log_slab_sq, strict=True)]
    values = inputs
    for index, layer in enumerate(guide.layers):
        mean, var, slope = layer.project(values)
        projection = mean + jnp.sqrt(var) * noise.projections[index]
        scales = layer.log_unit_scale_moments()
        if scales is not None and guide.log_layer_scales is not None:
            log_unit_mean, log_unit_var = scales
            deviation = jnp.sqrt(log_unit_var) * noise.log_unit_scales[index]
            if slope is not None:
                projection = projection + slope * deviation
            log_scale = log_unit_mean + deviation + guide.log_layer_scales.draw(noise.log_layer_scales)[index]
            slab = slabs[index if len(slabs) > 1 else 0] if slabs else None
            projection = projection * jnp.exp(model.prior.log_weight_scale(log_scale, slab))
        values = activate(model.activation, projection)
    return scaled_output_moments(guide, *guide.output.project_moments(values))


def scaled_output_moments(guide: NetworkGuide, mean: Outputs, var: Outputs) -> tuple[Outputs, Outputs]:
    r"""Moments of $f = \kappa b$ from those of $b$, with $\ln\kappa$ Gaussian and independent."""
    scale = guide.log_output_scale
    if scale is None:
        return mean, var
    first, second = (log_normal_moment(scale.mean, scale.var, power) for power in (1.0, 2.0))
    return first * mean, second * (mean**2 + var) - (first * mean) ** 2


def weight_terms(model: Model, guide: NetworkGuide) -> Scalar:
    """E ln p(base weights) plus the entropy of the layers' factors and of the output layer."""
    total = standard_normal_log_density(guide.output.expected_sq_sum(), guide.output.mean.size) + guide.output.entropy()
    for layer in guide.layers:
        total += standard_normal_log_density(layer.expected_weight_sq_sum(), layer.base_mean.size) + layer.entropy()
    return total


def scale_terms(model: Model, guide: NetworkGuide) -> Scalar:
    """E ln p of unit, layer, output and slab scales, plus the entropy of all but the unit scales."""
    prior = model.prior
    if isinstance(prior, Gaussian) or guide.log_layer_scales is None or guide.log_output_scale is None:
        return jnp.zeros(())
    half_cauchy = HALF_CAUCHY[model.half_cauchy]
    layer_scales, output_scale = guide.log_layer_scales, guide.log_output_scale
    total = half_cauchy(layer_scales.mean, layer_scales.var, prior.log_layer_scale_prior).sum() + layer_scales.entropy()
    total += half_cauchy(output_scale.mean, output_scale.var, prior.log_output_scale_prior) + output_scale.entropy()
    for index, layer in enumerate(guide.layers):
        moments = layer.log_unit_scale_moments()
        if moments is not None:
            total += half_cauchy(*moments, prior.log_unit_scale_prior[index]).sum()
    if isinstance(prior, RegularizedHorseshoe):
        for slab in guide.log_slab_sq:
            total += slab.entropy() + inverse_gamma_log_density(
                slab.mean, slab.var, prior.slab_shape, prior.slab_rate, prior.slab_log_normalizer
            ).sum()
    return total


def elbo(model: Model, guide: NetworkGuide, batch: Batch, noise: PassNoise, num_rows: Scalar) -> Elbo:
    """The bound for a whole table of `num_rows` distinct rows, estimated from a batch of it."""
    mean, var = sampled_output(model, guide, batch.inputs, noise)
    per_row = model.likelihood.expected_log_density(guide.likelihood, batch.targets, mean, var)
    num_present = (batch.weights > 0).sum()
    return Elbo(
        likelihood=num_rows / num_present * (batch.weights * per_row).sum(),
        weights=weight_terms(model, guide),
        scales=scale_terms(model, guide),
        noise=-model.likelihood.kl(guide.likelihood),
    )
