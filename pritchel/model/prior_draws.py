"""Draws of whole networks, and of their answers, from the prior: what the model believes before any data."""

import itertools

import numpy as np

from pritchel.model.joint import Unknowns, weights_of
from pritchel.model.likelihoods.base import Components
from pritchel.model.network import Model, Weights, forward


def draw_prior_weights(
    model: Model, widths: tuple[int, ...], num_draws: int, rng: np.random.Generator, output_scales: tuple[int, ...] = ()
) -> Weights:
    """Weights from the prior, stacked over draws: base weights first, then whatever scales the prior has."""
    linear = rng.spawn(1)[0].standard_normal((num_draws, widths[0], widths[-1])) if model.linear else None
    *hidden, output = (rng.standard_normal((num_draws, rows + 1, units)) for rows, units in itertools.pairwise(widths))
    log_unit_scales, scales, latents = model.prior.draw(rng, num_draws, widths[1:-1], model.linear, output_scales)
    unknowns = Unknowns(tuple(hidden), tuple(log_unit_scales), scales, latents, output, linear, np.zeros(0))
    return weights_of(model, unknowns)


def prior_components(
    model: Model,
    hidden: tuple[int, ...],
    inputs: np.ndarray,
    num_draws: int,
    rng: np.random.Generator,
    location: np.ndarray,
    scale: np.ndarray,
) -> Components:
    """The distributions of targets, in units of the given location and scale, that so many draws of the prior make."""
    likelihood, num_targets = model.likelihood, len(location)
    widths = (inputs.shape[1], *hidden, likelihood.num_outputs(num_targets))
    weights = draw_prior_weights(model, widths, num_draws, rng, likelihood.output_scales(num_targets).shape)
    outputs = forward(weights, inputs, model.activation)
    values = likelihood.prior_noise_values(rng, num_draws, num_targets)
    return likelihood.components(outputs, values, location, scale)
