"""Equal mixtures over weight draws: their log densities, distribution functions and quantiles."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special

from pritchel.model.likelihoods.base import Components

MAX_ITERATIONS = 80
NEAR = 0.5  # along normal scores
SHORT_STEP = 3e-5  # of a component's standard deviation
FEW_DIGITS = 1e-9  # differences of distribution functions below this have few
PANELS = np.concatenate([[0.0], np.geomspace(1e-6, 0.5, 30)])  # of half a cell, from its end: the density may fall fast


def mixed_cdf(components: Components, values: np.ndarray) -> np.ndarray:
    """P(y <= values)."""
    return components.cdf(values).mean(0)


def cell_log_probability(components: Components, values: np.ndarray, width: np.ndarray | float) -> np.ndarray:
    """ln P(values - width/2 < y <= values + width/2) of each component.

    Far out, where the distribution function has no digits left to take a difference of, by the density.
    """
    inside = components.cdf(values + 0.5 * width) - components.cdf(values - 0.5 * width)
    has_digits = inside > FEW_DIGITS
    found = np.log(np.maximum(inside, FEW_DIGITS))
    return found if has_digits.all() else np.where(has_digits, found, _log_integral(components, values, width))


def _log_integral(components: Components, values: np.ndarray, width: np.ndarray | float) -> np.ndarray:
    """ln of the density's integral over cells, panel by panel as if its logarithm were a line."""
    places = np.concatenate([PANELS - 0.5, 0.5 - PANELS[-2::-1]])
    heights = np.stack([components.log_density(values + place * width) for place in places])
    sizes = np.diff(places).reshape(-1, *[1] * (heights.ndim - 1))
    higher, fall = np.maximum(heights[1:], heights[:-1]), np.abs(np.diff(heights, axis=0))
    share = -np.expm1(-fall) / np.where(fall > 0, fall, 1.0)
    panels = higher + np.log(np.where(fall > 1e-6, share, 1.0) * sizes)
    return special.logsumexp(panels, axis=0) + np.log(width)


def mixed_quantile(components: Components, level: float) -> np.ndarray:
    """The value below which the mixture puts probability `level`; of counts, the smallest that reaches it."""
    return mixed_quantiles(components, np.array([level]))[..., 0]


def mixed_quantiles(components: Components, levels: np.ndarray) -> np.ndarray:
    """Quantiles at several levels, which are the last axis. They cannot cross."""
    if components.is_discrete:
        return np.stack([_count_quantile(components, level) for level in levels], -1)
    found: list[np.ndarray] = []
    path: _Path | None = None
    for level in np.sort(levels):
        if path is None or special.ndtri(level) - path.score > NEAR:
            guess = _normal_quantile(components, level)
        else:
            guess = path.next_value(level)
        value, density = _real_quantile(components, level, guess)
        path = _Path.through(value, density, level, before=path)
        found.append(np.maximum(value, found[-1]) if found else value)
    return np.stack(found, -1)[..., np.argsort(np.argsort(levels, kind="stable"), kind="stable")]


class _Path(NamedTuple):
    """Quantiles along the normal scores of their levels, where they are nearly a straight line; slopes are exact."""

    score: float
    value: np.ndarray
    slope: np.ndarray
    bend: np.ndarray | float

    @classmethod
    def through(cls, value: np.ndarray, density: np.ndarray, level: float, before: "_Path | None") -> "_Path":
        """The path at a quantile, bent as its slope has changed since the quantile before."""
        score = float(special.ndtri(level))
        slope = np.exp(-0.5 * score**2) / np.sqrt(2 * np.pi) / np.maximum(density, np.finfo(float).tiny)
        if before is None or score == before.score:
            return cls(score, value, slope, 0.0)
        return cls(score, value, slope, (slope - before.slope) / (score - before.score))

    def next_value(self, level: float) -> np.ndarray:
        """Where the quantile of a higher level should lie."""
        ahead = special.ndtri(level) - self.score
        return self.value + ahead * (self.slope + 0.5 * ahead * self.bend)


def _normal_quantile(components: Components, level: float) -> np.ndarray:
    """That of a normal distribution with the mixture's mean and variance, if it has them."""
    if not np.isfinite(components.var).all():
        return components.quantile(level).mean(0)
    return components.mean.mean(0) + special.ndtri(level) * np.sqrt(components.mean.var(0) + components.var.mean(0))


def _real_quantile(components: Components, level: float, guess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A quantile and the density near it: Newton's method held inside a bracket that closes on the root.

    The components' quantiles are the bracket. A step that is short beside the narrowest component is the last: the
    error that it leaves is of the order of its square. Where there is a cheaper function near the distribution
    function, the way to the root is by it, and the last step or two are by the other.
    """
    own = components.quantile(level)
    low, high = own.min(0), own.max(0)
    has_spread = np.isfinite(components.var).all()
    tolerance = SHORT_STEP * np.sqrt(np.min(components.var, 0)) if has_spread else SHORT_STEP**2 * (high - low)
    if components.has_near_cdf:
        guess, _ = _root(components, components.near_cdf, level, guess, (low, high), tolerance)
    return _root(components, components.root_cdf, level, guess, (low, high), tolerance)


def _root(
    components: Components,
    cdf: Callable[[np.ndarray], np.ndarray],
    level: float,
    guess: np.ndarray,
    ends: tuple[np.ndarray, np.ndarray],
    tolerance: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Where the mean of the components' `cdf` is `level`, between two ends, and the density near it."""
    low, high = ends
    value = np.clip(guess, low, high)
    density = np.zeros_like(value)
    for _ in range(MAX_ITERATIONS):
        excess = cdf(value).mean(0) - level
        low, high = np.where(excess < 0, value, low), np.where(excess >= 0, value, high)
        density = np.exp(components.log_density(value)).mean(0)
        step = excess / np.maximum(density, np.finfo(float).tiny)
        is_last = (np.abs(step) <= tolerance) | (high - low <= SHORT_STEP * tolerance)
        newton = np.clip(value - step, *ends)
        is_inside = is_last | ((newton > low) & (newton < high))  # a root that is found is an end of its bracket
        value = np.where(is_inside, newton, 0.5 * (low + high))
        if np.all(is_last):
            break
    return value, density


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
