"""The paper's pruning rule: which units are switched off."""

import numpy as np
from scipy.stats import norm

from pritchel.guide.network import NetworkGuide

THRESHOLD, PROBABILITY = 1e-3, 0.9  # the paper's delta and p_0


def prune_probabilities(guide: NetworkGuide, threshold: float = THRESHOLD) -> list[np.ndarray]:
    r"""$P(\tau_{kl}\upsilon_l < \delta)$ a unit, one array a hidden layer: the product is log-normal under q."""
    if not guide.has_unit_scales():
        raise ValueError("prior='gaussian' has no unit scales to prune by; use 'regularized_horseshoe' or 'horseshoe'.")
    return [norm.cdf((np.log(threshold) - mean) / np.sqrt(var)) for mean, var in log_scale_moments(guide)]


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
