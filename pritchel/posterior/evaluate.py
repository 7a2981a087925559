"""How good predictions are on rows that were not fitted: error, log-likelihood, CRPS, calibration, accuracy."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scoringrules
from scipy import special

from pritchel.numerics import LOG_2PI
from pritchel.posterior.answers import Comparison, Fresh
from pritchel.posterior.predict import Posterior
from pritchel.posterior.predictive_checks import PredictiveCheck, check_posterior

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
    mean: np.ndarray  # or probabilities, of the label as it is observed
    sd: np.ndarray
    pit: np.ndarray  # P(y <= observed) under the prediction: uniform where that is calibrated; none for classes
    checks: list[PredictiveCheck]
    log_density: np.ndarray  # (rows, targets); of classes ln P(observed), (rows, 1)
    epistemic: np.ndarray  # the part of `sd` that more rows would take away; of classes that of the entropy, (rows, 1)
    baselines: Sequence[Any] = ()  # `BaselineScores` of simpler methods on the same rows, where there are any


def evaluate(
    posterior: Posterior,
    inputs: np.ndarray,
    targets: np.ndarray,
    names: list[str],
    *,
    labels: np.ndarray | None = None,
    train_targets: np.ndarray | None = None,
) -> Evaluation:
    """Score predictions of known targets, (rows, targets); of classes they are indices of `labels`.

    The constant predictor knows `train_targets`; without them the mean and spread that targets were standardized by,
    or, of classes and counts, which are not, those of the rows that are scored.
    """
    type(posterior.likelihood).check_targets(targets)
    checks = check_posterior(posterior, inputs, targets, names, labels=labels)
    return _scored(posterior, _told(posterior, inputs, targets), targets, names, labels, train_targets, checks)


def evaluate_unseen(
    unseen: Sequence[Fresh], places: Sequence[np.ndarray], names: list[str], *, labels: np.ndarray | None = None
) -> Evaluation:
    """The same of rows beside members that were not fitted to them, each answered by its own; no predictive checks.

    `places` are those of the parts' rows among all. The constant predictor knows what the fit standardized by.
    """
    order = np.argsort(np.concatenate(places))
    told = [_told(posterior, rows.inputs, rows.targets) for posterior, rows in unseen]
    joined = [np.concatenate(parts)[order] for parts in zip(*told, strict=True)]
    targets = np.concatenate([rows.targets for _, rows in unseen])[order]
    return _scored(unseen[0].posterior, joined, targets, names, labels, None, [])


def _told(posterior: Posterior, inputs: np.ndarray, targets: np.ndarray) -> list[np.ndarray]:
    """What scores are made of, row by row; of classes probabilities, and the entropy's epistemic part."""
    if posterior.likelihood.has_classes:
        likelihood: Any = posterior.likelihood
        return [likelihood.of_observed(posterior.mean_std(inputs)[0]), posterior.entropies(inputs).epistemic]
    return [*posterior.compare(inputs, targets), crps(posterior, inputs, targets)]


def _scored(
    posterior: Posterior,
    told: Sequence[np.ndarray],
    targets: np.ndarray,
    names: list[str],
    labels: np.ndarray | None,
    train_targets: np.ndarray | None,
    checks: list[PredictiveCheck],
) -> Evaluation:
    if labels is not None:
        return _scored_classes(told, targets, names[0], labels, train_targets, checks)
    found, ranked = Comparison(*told[:-1]), told[-1]
    # Of counts a uniform draw between P(y < observed) and P(y <= observed), which calibration makes uniform.
    pit = found.below + np.random.default_rng(0).random(targets.shape) * (found.cdf - found.below)
    location, scale = posterior.standardizer.target_mean, posterior.standardizer.target_scale
    known = targets if train_targets is None and not posterior.likelihood.standardizes else train_targets
    if known is not None:
        location, scale = known.mean(0), np.maximum(known.std(0), 1e-12)
    scores = []
    for index, name in enumerate(names):
        observed = targets[:, index]
        error, away = found.mean[:, index] - observed, observed - location[index]
        constant = gaussian_log_density(observed, location[index], scale[index], posterior.likelihood.has_counts)
        scores.append(
            TargetScores(
                name,
                float(np.sqrt(np.mean(error**2))),
                float(np.mean(np.abs(error))),
                float(found.log_density[:, index].mean()),
                float(ranked[:, index].mean()),
                tuple(float(np.mean(np.abs(pit[:, index] - 0.5) <= level / 2)) for level in LEVELS),
                float(np.sqrt(np.mean(away**2))),
                float(constant.mean()),
                float(np.mean(scoringrules.crps_normal(observed, location[index], scale[index]))),
            )
        )
    parts = (found.mean, found.sd, pit, checks, found.log_density, found.epistemic)
    return Evaluation(scores, targets, *parts)


def gaussian_log_density(observed: Any, mean: Any, sd: Any, has_counts: bool) -> np.ndarray:
    """Of counts the probability of the cell of width one, which theirs can be compared with."""
    density = -0.5 * (((observed - mean) / sd) ** 2 + LOG_2PI) - np.log(sd)
    if not has_counts:
        return density
    upper, lower = ((observed + half - mean) / sd for half in (0.5, -0.5))
    is_near = (np.minimum(np.abs(upper), np.abs(lower)) < 5) | (upper * lower < 0)
    near = special.ndtr(upper) - special.ndtr(lower)
    return np.where(is_near, np.log(np.maximum(near, 1e-300)), density)


def crps(posterior: Posterior, inputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The continuous ranked probability score of each row and target, by draws of y."""
    chunk = max(1, MAX_SAMPLED_FLOATS // (NUM_SAMPLES * targets.shape[1]))
    parts = []
    for start in range(0, len(inputs), chunk):
        rows = slice(start, start + chunk)
        samples = posterior.sample_targets(inputs[rows], NUM_SAMPLES, 0)
        parts.append(scoringrules.crps_ensemble(targets[rows], samples, estimator="pwm", backend="numpy"))
    return np.concatenate(parts)


def _scored_classes(
    told: Sequence[np.ndarray],
    targets: np.ndarray,
    name: str,
    labels: np.ndarray,
    train_targets: np.ndarray | None,
    checks: list[PredictiveCheck],
) -> Evaluation:
    (probabilities, epistemic), index = told, targets[:, 0].astype(int)
    known = index if train_targets is None else train_targets[:, 0].astype(int)
    shares = np.bincount(known, minlength=len(labels)) / len(known)
    is_right = probabilities.argmax(1) == index
    log_density = np.log(np.maximum(probabilities[np.arange(len(index)), index], 1e-300))
    score = ClassScores(
        name,
        float(is_right.mean()),
        float(log_density.mean()),
        float(((probabilities - np.eye(len(shares))[index]) ** 2).sum(1).mean()),
        calibration_error(probabilities.max(1), is_right),
        float((index == shares.argmax()).mean()),
        float(np.log(np.maximum(shares[index], 1e-12)).mean()),
    )
    nothing = np.zeros((len(index), 0))
    parts = (nothing, nothing, checks, log_density[:, None], epistemic[:, None])
    return Evaluation([score], targets, probabilities, *parts)


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
