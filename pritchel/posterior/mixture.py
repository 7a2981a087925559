"""Equal mixtures over weight draws: their log densities, distribution functions and quantiles."""

import numpy as np
from scipy import special

from pritchel.model.likelihoods.base import Components

MAX_ITERATIONS = 80
FEW_DIGITS = 1e-9  # differences of distribution functions below this have few


def mixed_cdf(components: Components, values: np.ndarray) -> np.ndarray:
    """P(y <= values)."""
    return components.cdf(values).mean(0)


def cell_log_probability(components: Components, values: np.ndarray, width: np.ndarray | float) -> np.ndarray:
    """ln P(values - width/2 < y <= values + width/2) of each component.

    Far out, where the distribution function has no digits left to take a difference of, the density times the width.
    """
    inside = components.cdf(values + 0.5 * width) - components.cdf(values - 0.5 * width)
    by_density = components.log_density(values) + np.log(width)
    return np.where(inside > FEW_DIGITS, np.log(np.maximum(inside, FEW_DIGITS)), by_density)


def mixed_quantile(components: Components, level: float) -> np.ndarray:
    """The value below which the mixture puts probability `level`; of counts, the smallest that reaches it."""
    return (_count_quantile if components.is_discrete else _real_quantile)(components, level)


def _real_quantile(components: Components, level: float) -> np.ndarray:
    """Newton's method held inside a bracket that closes on the root; the components' quantiles are the bracket."""
    own = components.quantile(level)
    low, high = own.min(0), own.max(0)
    value = own.mean(0)
    tolerance = 1e-9 * np.sqrt(np.min(components.var, 0)) if np.isfinite(components.var).all() else 1e-9 * (high - low)
    for _ in range(MAX_ITERATIONS):
        excess = mixed_cdf(components, value) - level
        low, high = np.where(excess < 0, value, low), np.where(excess >= 0, value, high)
        density = np.exp(components.log_density(value)).mean(0)
        step = value - excess / np.maximum(density, np.finfo(float).tiny)
        proposal = np.where((step > low) & (step < high), step, 0.5 * (low + high))
        if np.all(np.abs(proposal - value) <= tolerance):
            return proposal
        value = proposal
    return value


def _count_quantile(components: Components, level: float) -> np.ndarray:
    """Bisection among whole numbers, from a guess whose reach doubles until it holds the answer."""
    own = components.quantile(level)
    low, high = np.maximum(own.min(0) - 1, -1.0), np.maximum(own.max(0) + 1, 1.0)
    while np.any(is_short := (mixed_cdf(components, high) < level) & np.isfinite(high)):
        high = np.where(is_short, 2 * high + 1, high)
    low = np.where(mixed_cdf(components, low) < level, low, -1.0)
    while True:
        middle = np.floor((low + high) / 2)
        if not np.any((low < middle) & (middle < high)):  # neighbours; beyond 2^53 these are further than 1 apart
            return high
        is_enough = mixed_cdf(components, middle) >= level
        low, high = np.where(is_enough, low, middle), np.where(is_enough, middle, high)


def log_mean_exp(values: np.ndarray) -> np.ndarray:
    """ln of the mean over the leading axis of exp(values)."""
    return special.logsumexp(values, axis=0) - np.log(len(values))
