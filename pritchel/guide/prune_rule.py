"""The paper's pruning rule: which units are switched off."""

import numpy as np
from scipy.stats import norm

from pritchel.guide.network import NetworkGuide

DELTA, P0 = 1e-3, 0.9


def prune_probabilities(guide: NetworkGuide, delta: float = DELTA) -> list[np.ndarray]:
    r"""$P(\tau_{kl}\upsilon_l < \delta)$ a unit, one array a hidden layer: the product is log-normal under q."""
    shared = guide.log_layer_scales
    if shared is None:
        raise ValueError("prior='gaussian' has no unit scales to prune by; use 'regularized_horseshoe' or 'horseshoe'.")
    probabilities = []
    for layer, shared_mean, shared_var in zip(guide.layers, shared.mean, shared.var, strict=True):
        mean, var = (np.asarray(part, np.float64) for part in layer.log_unit_scale_moments() or ())
        sd = np.sqrt(var + float(shared_var))
        probabilities.append(norm.cdf((np.log(delta) - mean - float(shared_mean)) / sd))
    return probabilities


def surviving_units(guide: NetworkGuide, delta: float = DELTA, p0: float = P0) -> tuple[np.ndarray, ...]:
    """Indices of the units the rule keeps: those with P(scale < delta) <= p0."""
    return tuple(np.flatnonzero(probability <= p0) for probability in prune_probabilities(guide, delta))
