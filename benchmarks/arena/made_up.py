"""Made-up tables: how inputs are drawn, and the distribution of the target given them, so that the truth is known."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.random import Generator
from scipy import special, stats

SHARE_FLIPPED = 0.2
TAIL = 2.5  # degrees of freedom: a variance there is, a kurtosis there is not
TIMES_REPEATED = 5
MOON_SD = 0.25


# --- targets given inputs: what scipy's frozen distributions do, also for mixtures and labels ---


class Conditional(Protocol):
    """A distribution a row: frozen ones of scipy are, and so are the two below. `logpdf` or `logpmf` comes with it."""

    def mean(self) -> np.ndarray: ...  # noqa: D102

    def rvs(self, size: Any = None, random_state: Any = None) -> np.ndarray: ...  # noqa: D102


class Mixture(NamedTuple):
    """Normals with the same weights and spreads in every row: weights (parts), means (rows, parts), spreads (parts)."""

    weights: np.ndarray
    means: np.ndarray
    sds: np.ndarray

    def mean(self) -> np.ndarray:
        """Of each row."""
        return self.means @ self.weights

    def logpdf(self, y: np.ndarray) -> np.ndarray:
        """Of a target a row; further targets may come in leading dimensions."""
        return special.logsumexp(stats.norm.logpdf(y[..., None], self.means, self.sds), axis=-1, b=self.weights)

    def rvs(self, size: Any = None, random_state: Any = None) -> np.ndarray:
        """One target a row; `size` ends in the number of rows."""
        rows = np.arange(len(self.means))
        part = random_state.choice(len(self.weights), p=self.weights, size=len(rows) if size is None else size)
        return random_state.normal(self.means[rows, part], self.sds[part])


class Labels(NamedTuple):
    """Classes 0, 1, ... with probabilities (rows, classes), which are the mean of their indicators."""

    proba: np.ndarray

    def mean(self) -> np.ndarray:
        """The probabilities."""
        return self.proba

    def logpmf(self, y: np.ndarray) -> np.ndarray:
        """Of a class a row."""
        return np.log(self.proba[np.arange(len(self.proba)), y])

    def rvs(self, size: Any = None, random_state: Any = None) -> np.ndarray:
        """One class a row; `size` ends in the number of rows."""
        place = random_state.random(len(self.proba) if size is None else size)
        return (place[..., None] > self.proba.cumsum(axis=1)[:, :-1]).sum(-1)


def log_density(given: Any, y: np.ndarray) -> np.ndarray:
    """Of a target a row; the log probability where targets are counts or classes."""
    return given.logpmf(y) if hasattr(given, "logpmf") else given.logpdf(y)


def two_classes(second: np.ndarray) -> Labels:
    return Labels(np.stack([1 - second, second], axis=1))


# --- inputs: of a generator and a number of rows ---

Inputs = Callable[[Generator, int], np.ndarray]


def normal(columns: int) -> Inputs:
    return lambda rng, n: rng.normal(size=(n, columns))


def uniform(columns: int) -> Inputs:
    return lambda rng, n: rng.uniform(size=(n, columns))


def correlated(columns: int, neighbours: float) -> Inputs:
    """Unit normals; correlation falls by the factor `neighbours` from a column to the next."""
    factor = np.linalg.cholesky(neighbours ** abs(np.subtract.outer(np.arange(columns), np.arange(columns))))
    return lambda rng, n: rng.normal(size=(n, columns)) @ factor.T


def repeated(columns: int, times: int) -> Inputs:
    return lambda rng, n: np.repeat(rng.normal(size=(-(-n // times), columns)), times, axis=0)[:n]


def crescent(angle: np.ndarray, is_second: np.ndarray) -> np.ndarray:
    """Points on two half circles, one upright, one upside down and to its right."""
    side = np.where(is_second, -1, 1)
    return np.stack([side * np.cos(angle) + is_second, side * np.sin(angle) + 0.5 * is_second], axis=-1)


def near_moons(rng: Generator, n: int) -> np.ndarray:
    return crescent(np.pi * rng.random(n), rng.random(n) < 0.5) + MOON_SD * rng.normal(size=(n, 2))


# --- what is to be learned ---


def bent(X: np.ndarray) -> np.ndarray:
    """Of the first three columns, of about unit spread: a wave, a hinge and a product."""
    return np.sin(2 * X[:, 0]) + np.maximum(X[:, 1], 0) + 0.5 * X[:, 0] * X[:, 2]


def noise_only(X: np.ndarray) -> Conditional:
    return stats.norm(np.zeros(len(X)), 1)


def linear(X: np.ndarray) -> Conditional:
    return stats.norm(1 + X @ np.linspace(-1, 1, X.shape[1]), 1)


def alternating(X: np.ndarray) -> Conditional:
    """Slopes of neighbours nearly cancel, and the columns after the tenth do nothing."""
    return stats.norm(X[:, :10:2].sum(1) - 0.5 * X[:, 1:10:2].sum(1), 1)


def friedman(X: np.ndarray) -> Conditional:
    wave = 10 * np.sin(np.pi * X[:, 0] * X[:, 1])
    return stats.norm(wave + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4], 1)


def growing_noise(X: np.ndarray) -> Conditional:
    return stats.norm(np.sin(2 * np.pi * X[:, 0]), 0.05 + 0.6 * X[:, 0])


def heavy_tails(X: np.ndarray) -> Conditional:
    return stats.t(TAIL, bent(X), 0.3)


def skewed(X: np.ndarray) -> Conditional:
    return stats.gamma(1.5, scale=np.exp(0.7 * bent(X)))


def outliers(X: np.ndarray) -> Conditional:
    return Mixture(np.array([0.95, 0.05]), np.stack([bent(X)] * 2, axis=1), np.array([0.2, 8.0]))


def two_humps(X: np.ndarray) -> Conditional:
    """They part as the second column grows, and the upper one is less likely."""
    apart = 2 * special.expit(2 * X[:, 1])
    middle = np.sin(2 * X[:, 0])
    return Mixture(np.array([0.7, 0.3]), np.stack([middle - apart, middle + apart], axis=1), np.array([0.25, 0.25]))


def counts(X: np.ndarray) -> Conditional:
    return stats.poisson(np.exp(0.5 + 0.5 * bent(X)))


def smooth(X: np.ndarray) -> Conditional:
    return stats.norm(bent(X), 0.5)


def few_matter(X: np.ndarray) -> Conditional:
    return stats.norm(2 * X[:, 0] - 2 * X[:, 1] + np.sin(2 * X[:, 2]), 0.5)


def steps(X: np.ndarray) -> Conditional:
    return stats.norm((X[:, 0] > 0.3) + 2.0 * (X[:, 0] > 0.7) - 2.0 * (X[:, 1] > 0.5), 0.2)


def moons(X: np.ndarray) -> Labels:
    """The class of a point scattered around either crescent, by Bayes' rule."""
    angle = np.pi * (np.arange(200) + 0.5) / 200

    def log_scatter(is_second: bool) -> np.ndarray:
        distance_sq = ((X[:, None] - crescent(angle, np.full(200, is_second))) ** 2).sum(-1)
        return special.logsumexp(-0.5 * distance_sq / MOON_SD**2, axis=1)

    return two_classes(special.expit(log_scatter(True) - log_scatter(False)))


def coin(X: np.ndarray) -> Labels:
    return two_classes(np.full(len(X), 0.5))


def wrong_labels(X: np.ndarray) -> Labels:
    return two_classes(np.where(X[:, 1] > np.sin(2 * X[:, 0]), 1 - SHARE_FLIPPED, SHARE_FLIPPED))


def rare(X: np.ndarray) -> Labels:
    return two_classes(special.expit(-5.3 + 1.5 * bent(X)))


def four_classes(X: np.ndarray) -> Labels:
    """Two angular sectors, a ring around them and the rest, with soft borders."""
    radius = np.hypot(X[:, 0], X[:, 1])
    return Labels(special.softmax(np.stack([2 * X[:, 0], -2 * X[:, 0], 4 * (radius - 1.5), 2 * X[:, 2]], 1), axis=1))


# --- the tables ---


class Recipe(NamedTuple):
    """A made-up table: its training rows, their inputs, and the target's distribution given them."""

    name: str
    rows: int
    inputs: Inputs
    given: Callable[[np.ndarray], Any]
    about: str
    traits: tuple[str, ...]
    kind: Literal["regression", "classification"] = "regression"


RECIPES = (
    Recipe("linear", 50, normal(10), linear, "A straight line in ten columns; few rows.", ("few rows", "linear")),
    Recipe("friedman_small", 100, uniform(10), friedman, "Friedman's function; half the columns idle.", ("few rows",)),
    Recipe(
        "many_columns",
        100,
        normal(200),
        few_matter,
        "More columns than rows, three matter.",
        ("many columns", "few rows"),
    ),
    Recipe(
        "correlated",
        200,
        correlated(20, 0.95),
        alternating,
        "A straight line in columns that are nearly copies of their neighbours.",
        ("linear", "correlated"),
    ),
    Recipe(
        "noise_only", 300, normal(30), noise_only, "The target has nothing to do with the columns.", ("noise only",)
    ),
    Recipe(
        "duplicates",
        400,
        repeated(3, TIMES_REPEATED),
        smooth,
        "Each row of inputs comes five times with fresh noise: far fewer places than rows.",
        ("duplicates",),
    ),
    Recipe("growing_noise", 500, uniform(1), growing_noise, "A wave; noise grows along it.", ("spread varies",)),
    Recipe(
        "skewed", 500, normal(4), skewed, "Positive, skewed targets; spread follows mean.", ("skewed", "spread varies")
    ),
    Recipe("heavy_tails", 600, normal(4), heavy_tails, "A bent surface under Student-t noise.", ("heavy tails",)),
    Recipe(
        "outliers",
        600,
        normal(4),
        outliers,
        "A bent surface; one target in twenty is far off.",
        ("heavy tails", "outliers"),
    ),
    Recipe(
        "two_humps",
        800,
        normal(2),
        two_humps,
        "Two values are likely, and few between them.",
        ("two humps", "spread varies"),
    ),
    Recipe("friedman", 1000, uniform(10), friedman, "Friedman's function; half the columns do nothing.", ("smooth",)),
    Recipe("counts", 1500, normal(4), counts, "Poisson counts of a bent rate, most of them small.", ("counts", "grid")),
    Recipe("steps", 5000, uniform(3), steps, "Jumps along two columns, flat between them.", ("steps",)),
    Recipe("coin", 300, normal(10), coin, "Two classes by the toss of a coin.", ("noise only",), "classification"),
    Recipe(
        "moons", 400, near_moons, moons, "Two crescents that reach into each other.", ("bent border",), "classification"
    ),
    Recipe(
        "wrong_labels",
        600,
        normal(5),
        wrong_labels,
        "A sharp, bent border; one label in five is wrong, in test rows too.",
        ("wrong labels", "bent border"),
        "classification",
    ),
    Recipe(
        "four_classes",
        1000,
        normal(4),
        four_classes,
        "Four classes with soft and round borders.",
        ("many classes", "bent border"),
        "classification",
    ),
    Recipe(
        "rare", 2000, normal(6), rare, "One row in thirty is of the second class.", ("imbalanced",), "classification"
    ),
)
