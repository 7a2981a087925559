"""Draws of whole networks from the prior: what the model believes before any data."""

import itertools
from typing import Any

import numpy as np

from pritchel.model.network import Model, Weights
from pritchel.model.priors import RegularizedHorseshoe, ShrinkagePrior


def draw_prior_weights(model: Model, widths: tuple[int, ...], num_draws: int, rng: np.random.Generator) -> Weights:
    """Weights from the prior, stacked over draws.

    Base weights are drawn first, then unit and layer scales, then the slab: priors that share a seed share all they
    have in common, as in the paper's figure of matched horseshoe and regularized-horseshoe functions.
    """
    prior = model.prior
    linear = rng.spawn(1)[0].standard_normal((num_draws, widths[0], widths[-1])) if model.linear else None
    base = [rng.standard_normal((num_draws, fan_in + 1, units)) for fan_in, units in itertools.pairwise(widths)]
    if not isinstance(prior, ShrinkagePrior):
        return Weights(tuple(base[:-1]), base[-1], linear)

    def half_cauchy(log_scale: Any, *shape: int) -> np.ndarray:
        return float(np.exp(log_scale)) * np.abs(rng.standard_cauchy((num_draws, *shape)))

    hidden = []
    log_scales = []
    for index, units in enumerate(widths[1:-1]):
        unit_scales = half_cauchy(prior.log_unit_scale_prior[index], 1, units)
        layer_scale = half_cauchy(prior.log_layer_scale_prior[index], 1, 1)
        log_scales.append(np.log(unit_scales) + np.log(layer_scale))
    output_scale = half_cauchy(prior.log_output_scale_prior, 1, 1)
    slab = None
    for index, log_scale in enumerate(log_scales):
        if isinstance(prior, RegularizedHorseshoe) and (slab is None or prior.slab_sharing != "network"):
            entries = log_scale.shape[-1] if prior.slab_sharing == "unit" else 1
            precision = rng.gamma(float(prior.slab_shape), 1 / float(prior.slab_rate), (num_draws, 1, entries))
            slab = -np.log(precision)
        hidden.append(base[index] * np.exp(np.asarray(prior.log_weight_scale(log_scale, slab))))
    if linear is not None:
        linear = linear * half_cauchy(prior.log_linear_scale_prior, 1, 1)
    return Weights(tuple(hidden), base[-1] * output_scale, linear)
