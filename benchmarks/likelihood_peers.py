"""What `likelihoods.py` compares: tables, a split's number to its rows, and methods, a split to its scores."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize, special, stats
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import BayesianRidge, LogisticRegression, PoissonRegressor
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pritchel import HorseshoeClassifier, HorseshoeRegressor
from pritchel.posterior.evaluate import calibration_error

NUM_BINS = 10
NOISY_SHARE, SPOILED_SHARE = 0.3, 0.1


class Split(NamedTuple):
    """Rows to fit, rows to score on, and the split's number."""

    X: np.ndarray
    y: np.ndarray
    test_X: np.ndarray
    test_y: np.ndarray
    seed: int


# --- tables: a split's number to its rows ---


def classes_of(load: Callable) -> Callable[[int], Split]:
    def split(seed: int) -> Split:
        X, y = load(return_X_y=True)
        X, test_X, y, test_y = train_test_split(X, y, random_state=seed, stratify=y)
        return Split(X, y, test_X, test_y, seed)

    return split


def wrong_labels(seed: int) -> Split:
    """Three in ten training labels of breast cancer replaced by one drawn at random."""
    clean, rng = classes_of(load_breast_cancer)(seed), np.random.default_rng(seed)
    is_drawn = rng.random(len(clean.y)) < NOISY_SHARE
    return clean._replace(y=np.where(is_drawn, rng.integers(0, 2, len(clean.y)), clean.y))


def diabetes(seed: int) -> Split:
    X, y = load_diabetes(return_X_y=True)
    X, test_X, y, test_y = train_test_split(X, y, random_state=seed)
    return Split(X, y, test_X, test_y, seed)


def outliers(seed: int) -> Split:
    """One training target in ten is tenfold; test rows are clean."""
    clean = diabetes(seed)
    is_spoiled = np.random.default_rng(seed).random(len(clean.y)) < SPOILED_SHARE
    return clean._replace(y=np.where(is_spoiled, 10 * clean.y, clean.y))


def counts_of(dispersion: float | None) -> Callable[[int], Split]:
    """A bent rate; with a dispersion, more spread than Poisson."""

    def split(seed: int) -> Split:
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(800, 4))
        rate = np.exp(1 + np.sin(2 * X[:, 0]) + 0.5 * X[:, 1])
        if dispersion is not None:
            rate = rate * rng.gamma(dispersion, 1 / dispersion, 800)
        y = rng.poisson(rate).astype(float)
        return Split(X[:600], y[:600], X[600:], y[600:], seed)

    return split


# --- methods: a split to its scores ---


def lost_to_confidence(proba: np.ndarray, index: np.ndarray) -> tuple[float, float]:
    """The best temperature for the logs of probabilities, and the log-likelihood a row that it would have gained.

    Below 1 the probabilities were too cautious, above 1 too sure. It has no bins, and where the confidence is right it
    is one over twice the rows on average, far less than a calibration error of so many rows.
    """
    logs = np.log(np.maximum(proba, 1e-12))

    def log_likelihood(log_temperature: float) -> float:
        own = logs / np.exp(log_temperature)
        return float((own[np.arange(len(index)), index] - special.logsumexp(own, axis=1)).mean())

    best = optimize.minimize_scalar(lambda value: -log_likelihood(value), bounds=(-2, 2), method="bounded")
    return float(np.exp(best.x)), log_likelihood(best.x) - log_likelihood(0.0)


def class_scores(model: Any, data: Split) -> dict[str, Any]:
    """Accuracy, log-likelihood, calibration error, and the bins that calibration errors are pooled from."""
    proba = model.predict_proba(data.test_X)
    index = np.searchsorted(model.classes_, data.test_y)
    confidence, is_right = proba.max(1), proba.argmax(1) == index
    place = np.minimum((confidence * NUM_BINS).astype(int), NUM_BINS - 1)
    temperature, lost = lost_to_confidence(proba, index)
    scores = {
        "temperature": temperature,
        "lost": lost,
        "accuracy": float(is_right.mean()),
        "ll": float(np.log(np.maximum(proba[np.arange(len(index)), index], 1e-12)).mean()),
        "error": calibration_error(confidence, is_right),
        "gaps": np.bincount(place, confidence - is_right, NUM_BINS).tolist(),
        "rows": len(index),
    }
    fitted = model.calibrated_classifiers_[0].estimator if isinstance(model, CalibratedClassifierCV) else model
    if isinstance(fitted, HorseshoeClassifier):
        pruned = fitted.prune().predict_proba(data.test_X)  # a temperature would not change which class is likeliest
        scores["units"] = fitted.units_kept_.mean(0).tolist()
        scores["pruned_accuracy"] = float((pruned.argmax(1) == index).mean())
    return scores


def with_temperature(model: Any) -> CalibratedClassifierCV:
    """The model fitted to all rows, with the temperature that was best in a cross-validation of three folds."""
    return CalibratedClassifierCV(model, method="temperature", cv=3, ensemble=False)


def by_classifier(*, temperature: bool = False, **options: Any) -> Callable[[Split], dict]:
    def run(data: Split) -> dict:
        model = HorseshoeClassifier(inference="variational", **options, random_state=data.seed, progress=False)
        model = with_temperature(model) if temperature else model
        return class_scores(model.fit(data.X, data.y), data)

    return run


def by_logistic(data: Split) -> dict:
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    return class_scores(model.fit(data.X, data.y), data)


def by_mlp(hidden: tuple[int, ...], *, temperature: bool = False) -> Callable[[Split], dict]:
    def run(data: Split) -> dict:
        model = make_pipeline(StandardScaler(), MLPClassifier(hidden, max_iter=1000, random_state=data.seed))
        model = with_temperature(model) if temperature else model
        return class_scores(model.fit(data.X, data.y), data)

    return run


def by_shares(data: Split) -> dict:
    return class_scores(DummyClassifier(strategy="prior").fit(data.X, data.y), data)


def number_scores(mean: Any, log_density: np.ndarray, data: Split) -> dict[str, Any]:
    return {"rmse": float(np.sqrt(np.mean((mean - data.test_y) ** 2))), "ll": float(np.mean(log_density))}


def by_regressor(likelihood: Any, **options: Any) -> Callable[[Split], dict]:
    def run(data: Split) -> dict:
        fixed = {"inference": "variational", "random_state": data.seed, "progress": False}
        model = HorseshoeRegressor(likelihood=likelihood, **fixed, **options)
        model.fit(data.X, data.y)
        scores = number_scores(model.predict(data.test_X), model.log_prob(data.test_X, data.test_y), data)
        return scores | {"units": model.units_kept_.mean(0).tolist()}

    return run


def by_poisson_regression(data: Split) -> dict:
    rate = PoissonRegressor(alpha=1e-3, max_iter=1000).fit(data.X, data.y).predict(data.test_X)
    return number_scores(rate, stats.poisson.logpmf(data.test_y, rate), data)


def by_mean_count(data: Split) -> dict:
    return number_scores(data.y.mean(), stats.poisson.logpmf(data.test_y, data.y.mean()), data)


def by_ridge(data: Split) -> dict:
    mean, sd = BayesianRidge().fit(data.X, data.y).predict(data.test_X, return_std=True)
    return number_scores(mean, stats.norm.logpdf(data.test_y, mean, sd), data)


def by_mean(data: Split) -> dict:
    return number_scores(data.y.mean(), stats.norm.logpdf(data.test_y, data.y.mean(), data.y.std()), data)
