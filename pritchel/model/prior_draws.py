"""Draws of whole networks from the prior: what the model believes before any data."""

import itertools

import numpy as np

from pritchel.model.joint import Unknowns, weights_of
from pritchel.model.network import Model, Weights


def draw_prior_weights(model: Model, widths: tuple[int, ...], num_draws: int, rng: np.random.Generator) -> Weights:
    """Weights from the prior, stacked over draws: base weights first, then whatever scales the prior has."""
    linear = rng.spawn(1)[0].standard_normal((num_draws, widths[0], widths[-1])) if model.linear else None
    *hidden, output = (rng.standard_normal((num_draws, rows + 1, units)) for rows, units in itertools.pairwise(widths))
    log_unit_scales, scales, latents = model.prior.draw(rng, num_draws, widths[1:-1], model.linear)
    unknowns = Unknowns(tuple(hidden), tuple(log_unit_scales), scales, latents, output, linear, np.zeros(0))
    return weights_of(model, unknowns)
