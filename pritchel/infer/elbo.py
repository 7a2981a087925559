"""The evidence lower bound in named parts -- Eq. 6. Minibatch scaling lives here and nowhere else."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Float

from pritchel.guide.network import NetworkGuide
from pritchel.infer.outputs import OUTPUTS, Objective, PassNoise
from pritchel.model.network import Model
from pritchel.model.priors import RegularizedHorseshoe, ShrinkagePrior
from pritchel.model.scales import HALF_CAUCHY, inverse_gamma_log_density
from pritchel.numerics import standard_normal_log_density
from pritchel.shapes import AnyArray, Inputs, Outputs, Scalar


class Elbo(NamedTuple):
    """The bound's parts, each to be made large; `total` is the bound."""

    likelihood: Scalar  # E ln p(y | f)
    weights: (
        Scalar  # E ln p(base weights) + entropy of the weights and of the log unit scales (one factor when structured)
    )
    scales: Scalar  # E ln p(all scales) + entropy of the scales that units share
    noise: Scalar  # -KL of the likelihood's own parameters

    @property
    def total(self) -> AnyArray:
        """The bound."""
        return self.likelihood + self.weights + self.scales + self.noise


class Batch(NamedTuple):
    """Rows of a table; a row of weight zero is padding."""

    inputs: Inputs
    targets: Outputs
    weights: Float[AnyArray, " examples"]


def weight_terms(model: Model, guide: NetworkGuide) -> Scalar:
    """E ln p(base weights) plus the entropy of the layers' factors, of the output layer and of the linear path."""
    total = jnp.zeros(())
    for normal in (guide.output, guide.linear):
        if normal is not None:
            total += standard_normal_log_density(normal.expected_sq_sum(), normal.mean.size) + normal.entropy()
    for layer in guide.layers:
        total += standard_normal_log_density(layer.expected_weight_sq_sum(), layer.num_weights) + layer.entropy()
    return total


def scale_terms(model: Model, guide: NetworkGuide) -> Scalar:
    """E ln p of unit, layer, output, linear and slab scales, plus the entropy of all but the unit scales."""
    prior = model.prior
    if not isinstance(prior, ShrinkagePrior) or guide.log_layer_scales is None or guide.log_output_scale is None:
        return jnp.zeros(())
    half_cauchy = HALF_CAUCHY[model.half_cauchy]
    layer_scales, output_scale = guide.log_layer_scales, guide.log_output_scale
    total = half_cauchy(layer_scales.mean, layer_scales.var, prior.log_layer_scale_prior).sum() + layer_scales.entropy()
    total += half_cauchy(output_scale.mean, output_scale.var, prior.log_output_scale_prior) + output_scale.entropy()
    if guide.log_linear_scale is not None:
        scale = guide.log_linear_scale
        total += half_cauchy(scale.mean, scale.var, prior.log_linear_scale_prior) + scale.entropy()
    for index, layer in enumerate(guide.layers):
        moments = layer.log_unit_scale_moments()
        if moments is not None:
            per_unit = half_cauchy(*moments, prior.log_unit_scale_prior[index : index + 1])
            total += per_unit.sum() if layer.unit_counts is None else per_unit @ layer.unit_counts
    if isinstance(prior, RegularizedHorseshoe):
        for slab in guide.log_slab_sq:
            total += (
                slab.entropy()
                + inverse_gamma_log_density(
                    slab.mean, slab.var, prior.slab_shape, prior.slab_rate, prior.slab_log_normalizer
                ).sum()
            )
    return total


def elbo(
    model: Model, guide: NetworkGuide, batch: Batch, noise: PassNoise, num_rows: Scalar, objective: Objective
) -> Elbo:
    """The bound for a whole table of `num_rows` distinct rows, estimated from a batch of it."""
    mean, var = OUTPUTS[objective](model, guide, batch.inputs, noise)
    per_row = model.likelihood.expected_log_density(guide.likelihood, batch.targets, mean, var)
    num_present = (batch.weights > 0).sum()
    return Elbo(
        likelihood=num_rows / num_present * (batch.weights * per_row).sum(),
        weights=weight_terms(model, guide),
        scales=scale_terms(model, guide),
        noise=-model.likelihood.kl(guide.likelihood),
    )
