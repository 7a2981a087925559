"""The evidence lower bound in named parts -- Eq. 6. Minibatch scaling lives here and nowhere else."""

from typing import Any, NamedTuple

from jaxtyping import Float

from pritchel.guide.network import NetworkGuide
from pritchel.guide.normal import Normal
from pritchel.infer.outputs import OUTPUT_MOMENTS, Objective, PassNoise
from pritchel.lazy import jax, jnp
from pritchel.model.network import Model
from pritchel.model.priors import Moments
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
    """E ln p of all scales and of what else the prior has, plus the entropy of all but the unit scales."""
    units = []
    for layer in guide.layers:
        moments = layer.log_unit_scale_moments()
        if moments is not None:
            units.append(Moments(*moments, layer.unit_counts))
    shared = (guide.scales, guide.latents)
    moments = jax.tree.map(lambda q: Moments(q.mean, q.var), shared, is_leaf=_is_normal)
    entropy = sum((q.entropy() for q in jax.tree.leaves(shared, is_leaf=_is_normal)), jnp.zeros(()))
    return model.prior.expected_log_density(units, *moments) + entropy


def _is_normal(part: Any) -> bool:
    return isinstance(part, Normal)


def elbo(
    model: Model,
    guide: NetworkGuide,
    batch: Batch,
    noise: PassNoise,
    num_rows: Scalar,
    objective: Objective,
    progress: Scalar | float = 1.0,
    num_present: Scalar | None = None,
) -> Elbo:
    """The bound for a whole table of `num_rows` distinct rows, estimated from a batch of it.

    Once training is over, that is; a likelihood may have it begin with less. With `num_present`, the rows that are
    there, the batch is a share of one, and the likelihood a share of the whole batch's.
    """
    mean, var = OUTPUT_MOMENTS[objective](model, guide, batch.inputs, noise)
    per_row = model.likelihood.training_log_density(guide.likelihood, batch.targets, mean, var, progress)
    present = (batch.weights > 0).sum() if num_present is None else num_present
    return Elbo(
        likelihood=num_rows / present * (batch.weights * per_row).sum(),
        weights=weight_terms(model, guide),
        scales=scale_terms(model, guide),
        noise=-model.likelihood.kl(guide.likelihood),
    )
