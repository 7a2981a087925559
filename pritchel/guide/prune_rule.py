"""The paper's pruning rule: which units are switched off."""

import numpy as np
from scipy.special import ndtr

from pritchel.guide.member import Member
from pritchel.guide.network import NetworkGuide

THRESHOLD, PROBABILITY = 1e-3, 0.9  # the paper's delta and p_0


def prune_probabilities(guide: NetworkGuide, threshold: float = THRESHOLD) -> list[np.ndarray]:
    r"""$P(\tau_{kl}\upsilon_l < \delta)$ a unit, one array a hidden layer: the product is log-normal under q."""
    if not guide.has_unit_scales():
        raise ValueError("prior='gaussian' has no unit scales to prune by; use 'regularized_horseshoe' or 'horseshoe'.")
    return [ndtr((np.log(threshold) - mean) / np.sqrt(var)) for mean, var in log_scale_moments(guide)]


def log_scale_moments(guide: NetworkGuide) -> list[tuple[np.ndarray, np.ndarray]]:
    r"""Mean and variance of each unit's raw log scale $\ln\tau_{kl}\upsilon_l$, one pair a hidden layer.

    Where the prior has no unit scales every unit's scale is one, for sure.
    """
    moments = []
    for index, layer in enumerate(guide.layers):
        own = layer.log_unit_scale_moments()
        if own is None:
            moments.append((np.zeros(layer.base_mean.shape[1]), np.zeros(layer.base_mean.shape[1])))
            continue
        mean, var = (np.asarray(part, np.float64) for part in own)
        shared = guide.scales.layer
        if shared is not None:
            mean, var = mean + float(shared.mean[index]), var + float(np.asarray(shared.var)[index])
        moments.append((mean, var))
    return moments


def surviving_units(
    guide: NetworkGuide, threshold: float = THRESHOLD, probability: float = PROBABILITY
) -> tuple[np.ndarray, ...]:
    """Indices of the units the rule keeps: those with P(scale < threshold) <= probability."""
    return tuple(np.flatnonzero(off <= probability) for off in prune_probabilities(guide, threshold))


def log_scale_draws(member: Member) -> list[np.ndarray]:
    """A sampled member's draws of each unit's raw log scale: (draws, units) a hidden layer; zeros: there are none."""
    draws = member.draws
    if draws is None:
        raise ValueError("The member was not sampled.")
    if not draws.log_unit_scales:
        return [np.zeros((len(part), part.shape[-1])) for part in draws.hidden]
    shared = draws.scales.layer
    parts = [own if shared is None else own + shared[:, [layer]] for layer, own in enumerate(draws.log_unit_scales)]
    return [np.asarray(part) for part in parts]


def log_scale_moments_of(member: Member) -> list[tuple[np.ndarray, np.ndarray]]:
    """Mean and variance of each unit's raw log scale: of its draws where the member has any, else of its guide."""
    if member.draws is None:
        return log_scale_moments(member.guide)
    return [(values.mean(0), values.var(0)) for values in log_scale_draws(member)]


def surviving_units_of(
    member: Member, threshold: float = THRESHOLD, probability: float = PROBABILITY
) -> tuple[np.ndarray, ...]:
    """The same of a member: by its draws where it has any, else by its guide."""
    if member.draws is None or not member.guide.has_unit_scales():
        return surviving_units(member.guide, threshold, probability)
    is_off = [(values < np.log(threshold)).mean(0) for values in log_scale_draws(member)]
    return tuple(np.flatnonzero(off <= probability) for off in is_off)
