"""What every method of the arena answers, whatever it is inside: a mean, quantiles and, where it has one, a density."""

import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

MOST_COMPONENTS = 50  # of a mixture whose quantiles are solved for; those of more are read off draws
NUM_DRAWS = 20_000


class Prediction(NamedTuple):
    """The predictive distribution of each row."""

    mean: np.ndarray
    quantiles: Callable[[np.ndarray], np.ndarray]  # levels to rows x levels
    log_density: Callable[[np.ndarray], np.ndarray] | None  # targets to one figure a row; None: there is no density


class Fitted(NamedTuple):
    """A model that was fitted, and the bytes that would be deployed (None where nobody knows)."""

    predict: Callable[[np.ndarray], Any]  # rows to a Prediction, or to probabilities with a column a class
    num_bytes: int | None = None


class Method(NamedTuple):
    """One contestant. `fit_numbers` and `fit_classes` take inputs, targets and a seed; None where it cannot."""

    name: str
    about: str  # settings, and who advises them
    fit_numbers: Callable[[np.ndarray, np.ndarray, int], Fitted] | None = None
    fit_classes: Callable[[np.ndarray, np.ndarray, int], Fitted] | None = None
    packages: tuple[str, ...] = ()  # whose versions are noted
    max_rows: int | None = None  # beyond which nobody would use it
    environment: str = "arena"  # the virtual environment it lives in
    num_splits: int | None = None  # of a table, where it only stands beside others; None: all that the table has


def of_normals(mean: np.ndarray, sd: np.ndarray) -> Prediction:
    """One normal distribution a row."""
    own = stats.norm(mean[:, None], sd[:, None])
    return Prediction(mean, own.ppf, lambda y: own.logpdf(y[:, None])[:, 0])


def of_mixtures(means: np.ndarray, sds: np.ndarray) -> Prediction:
    """An equal mixture of normals a row: means and deviations are components x rows."""

    def quantiles(levels: np.ndarray) -> np.ndarray:
        if len(means) > MOST_COMPONENTS:
            draws = np.random.default_rng(0).normal(means, sds, (-(-NUM_DRAWS // len(means)), *means.shape))
            return np.quantile(draws.reshape(-1, means.shape[1]), levels, axis=0).T
        low = (means - 9 * sds).min(0)[:, None].repeat(len(levels), 1)
        high = (means + 9 * sds).max(0)[:, None].repeat(len(levels), 1)
        for _ in range(50):
            middle = (low + high) / 2
            below = sum(stats.norm.cdf(middle, m[:, None], s[:, None]) for m, s in zip(means, sds, strict=True))
            is_low = below / len(means) < levels
            low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
        return (low + high) / 2

    def log_density(y: np.ndarray) -> np.ndarray:
        return np.logaddexp.reduce(stats.norm.logpdf(y, means, sds), axis=0) - np.log(len(means))

    return Prediction(means.mean(0), quantiles, log_density)


def of_quantiles(mean: np.ndarray, levels: np.ndarray, values: np.ndarray) -> Prediction:
    """Quantiles at some levels, put in order; between them a straight line, beyond them the outermost."""
    values = np.sort(values, axis=1)
    return Prediction(mean, lambda wanted: np.array([np.interp(wanted, levels, row) for row in values]), None)


def num_bytes(model: Any) -> int | None:
    """What a model takes when it is written by pickle, as scikit-learn's pages advise; None if it cannot be."""
    try:
        return len(pickle.dumps(model))
    except Exception:  # of any kind: only the figure is lost
        return None
