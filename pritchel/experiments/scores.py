"""RMSE, log-likelihood and coverage of a fitted estimator and of the yardsticks it must beat."""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from sklearn.linear_model import BayesianRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

COVERAGE = 0.9


class Scores(NamedTuple):
    """On test rows, in the units of y: error of the mean, mean log density, share inside the 90 % interval."""

    rmse: float
    log_likelihood: float
    coverage: float


def estimator_scores(estimator: Any, X: np.ndarray, y: np.ndarray) -> Scores:
    """Scores of a fitted HorseshoeRegressor with one target."""
    found = estimator.posterior_.compare(np.asarray(X, float), np.asarray(y, float)[:, None])
    return Scores(
        float(np.sqrt(np.mean((found.mean[:, 0] - y) ** 2))),
        float(found.log_density.mean()),
        float(np.mean(np.abs(found.cdf - 0.5) <= COVERAGE / 2)),
    )


def gaussian_scores(mean: np.ndarray | float, sd: np.ndarray | float, y: np.ndarray) -> Scores:
    """Scores of a predictor that answers with a Gaussian."""
    half_width = stats.norm.ppf(0.5 + COVERAGE / 2) * sd
    return Scores(
        float(np.sqrt(np.mean((mean - y) ** 2))),
        float(stats.norm.logpdf(y, mean, sd).mean()),
        float(np.mean(np.abs(y - mean) <= half_width)),
    )


def constant_scores(train_y: np.ndarray, test_y: np.ndarray) -> Scores:
    """Scores of the constant predictor: the training mean and standard deviation for every row."""
    return gaussian_scores(train_y.mean(), train_y.std(), test_y)


def bayesian_ridge_scores(train_X: np.ndarray, train_y: np.ndarray, test_X: np.ndarray, test_y: np.ndarray) -> Scores:
    """Scores of scikit-learn's BayesianRidge on standardized inputs."""
    model = make_pipeline(StandardScaler(), BayesianRidge()).fit(train_X, train_y)
    mean, sd = model.predict(test_X, return_std=True)
    return gaussian_scores(mean, sd, test_y)
