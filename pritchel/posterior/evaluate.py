"""How good predictions are on rows that were not fitted: error, log-likelihood, CRPS, calibration, accuracy."""

from typing import Any, NamedTuple

import numpy as np
import scoringrules
from scipy import stats

from pritchel.posterior.predictive_checks import PredictiveCheck

LEVELS = (0.5, 0.8, 0.9, 0.95)
NUM_SAMPLES = 400
MAX_SAMPLED_FLOATS = 4_000_000
NUM_BINS = 10


class TargetScores(NamedTuple):
    """Scores for one target in its own units; `coverage` is the share of rows inside central intervals of `LEVELS`."""

    target: str
    rmse: float
    mae: float
    log_likelihood: float
    crps: float
    coverage: tuple[float, ...]
    constant_rmse: float
    constant_log_likelihood: float
    constant_crps: float


class ClassScores(NamedTuple):
    """Scores for classes; the constant predictor answers with the shares that the training rows had."""

    target: str
    accuracy: float
    log_likelihood: float
    brier: float
    calibration_error: float
    constant_accuracy: float
    constant_log_likelihood: float


class Evaluation(NamedTuple):
    """Scores a target, and the predictions behind them: (rows, targets), or for classes (rows, classes)."""

    scores: list[Any]
    observed: np.ndarray
    mean: np.ndarray  # or probabilities
    sd: np.ndarray
    pit: np.ndarray  # P(y <= observed) under the prediction: uniform where that is calibrated; none for classes
    checks: list[PredictiveCheck]


def evaluate(
    estimator: Any, X: np.ndarray, y: np.ndarray, targets: list[str], train_y: np.ndarray | None = None
) -> Evaluation:
    """Score a fitted estimator; `y` is (rows, targets), labels for a classifier.

    The constant predictor knows `train_y`, or the mean and spread that the estimator standardized by.
    """
    if estimator.posterior_.likelihood.has_classes:
        return _evaluate_classes(estimator, X, y[:, 0], targets[0], train_y)
    posterior = estimator.posterior_
    inputs = estimator._check_inputs(X)
    y = y.astype(float)
    mean, sd, log_density, cdf = posterior.compare(inputs, y)
    pit, crps = _pit(posterior, inputs, y, cdf), _crps(posterior, inputs, y)
    standardizer = posterior.standardizer
    scores = []
    for index, name in enumerate(targets):
        error = mean[:, index] - y[:, index]
        location, scale = standardizer.target_mean[index], standardizer.target_scale[index]
        if not posterior.likelihood.is_scaled:
            known = y if train_y is None else train_y
            location, scale = known[:, index].mean(), max(known[:, index].std(), 1e-12)
        away = y[:, index] - location
        scores.append(
            TargetScores(
                name,
                float(np.sqrt(np.mean(error**2))),
                float(np.mean(np.abs(error))),
                float(log_density[:, index].mean()),
                float(crps[:, index].mean()),
                tuple(float(np.mean(np.abs(pit[:, index] - 0.5) <= level / 2)) for level in LEVELS),
                float(np.sqrt(np.mean(away**2))),
                float(stats.norm.logpdf(away, 0, scale).mean()),
                float(np.mean(scoringrules.crps_normal(y[:, index], location, scale))),
            )
        )
    return Evaluation(scores, y, mean, sd, pit, _checks(estimator, X, y, targets))


def _pit(posterior: Any, inputs: np.ndarray, y: np.ndarray, cdf: np.ndarray) -> np.ndarray:
    """P(y <= observed); for counts a uniform draw between that and P(y < observed), which calibration makes uniform."""
    if posterior.likelihood.is_scaled:
        return cdf
    below = posterior.cdf(inputs, y - 1)
    return below + np.random.default_rng(0).random(y.shape) * (cdf - below)


def _crps(posterior: Any, inputs: np.ndarray, y: np.ndarray) -> np.ndarray:
    chunk = max(1, MAX_SAMPLED_FLOATS // (NUM_SAMPLES * y.shape[1]))
    parts = []
    for start in range(0, len(inputs), chunk):
        rows = slice(start, start + chunk)
        samples = posterior.sample_targets(inputs[rows], NUM_SAMPLES, 0)
        parts.append(scoringrules.crps_ensemble(y[rows], samples, estimator="pwm", backend="numpy"))
    return np.concatenate(parts)


def _evaluate_classes(
    estimator: Any, X: np.ndarray, labels: np.ndarray, target: str, train_labels: np.ndarray | None
) -> Evaluation:
    probabilities = estimator.predict_proba(X)
    index = estimator._class_index(labels).astype(int)
    known = index if train_labels is None else estimator._class_index(train_labels[:, 0]).astype(int)
    shares = np.bincount(known, minlength=len(estimator.classes_)) / len(known)
    is_right = probabilities.argmax(1) == index
    own = probabilities[np.arange(len(index)), index]
    score = ClassScores(
        target,
        float(is_right.mean()),
        float(np.log(np.maximum(own, 1e-300)).mean()),
        float(((probabilities - np.eye(len(shares))[index]) ** 2).sum(1).mean()),
        calibration_error(probabilities.max(1), is_right),
        float((index == shares.argmax()).mean()),
        float(np.log(np.maximum(shares[index], 1e-12)).mean()),
    )
    nothing = np.zeros((len(index), 0))
    made_up = _checks(estimator, X, labels, [target])
    return Evaluation([score], index[:, None].astype(float), probabilities, nothing, nothing, made_up)


def _checks(estimator: Any, X: np.ndarray, y: np.ndarray, targets: list[str]) -> list[PredictiveCheck]:
    """Predictive checks under the targets' own names."""
    checks = estimator.check_predictions(X, y)
    names = np.repeat(targets, len(checks) // len(targets))
    return [check._replace(target=str(name)) for check, name in zip(checks, names, strict=True)]


def reliability_curve(confidence: np.ndarray, is_right: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean confidence, share right and rows, for bins of equal width that have any rows."""
    place = np.minimum((confidence * NUM_BINS).astype(int), NUM_BINS - 1)
    counts = np.bincount(place, minlength=NUM_BINS)
    has = counts > 0
    mean = np.bincount(place, confidence, NUM_BINS)[has] / counts[has]
    return mean, np.bincount(place, is_right, NUM_BINS)[has] / counts[has], counts[has]


def calibration_error(confidence: np.ndarray, is_right: np.ndarray) -> float:
    """Expected calibration error: the gap between confidence and accuracy, averaged over rows."""
    mean, right, counts = reliability_curve(confidence, is_right)
    return float((counts * np.abs(mean - right)).sum() / counts.sum())


def calibration_curve(pit: np.ndarray, num_levels: int = 19) -> tuple[np.ndarray, np.ndarray]:
    """Nominal levels of central intervals, and the share of rows that each holds."""
    levels = np.arange(1, num_levels + 1) / (num_levels + 1)
    return levels, np.asarray([np.mean(np.abs(pit - 0.5) <= level / 2) for level in levels])
