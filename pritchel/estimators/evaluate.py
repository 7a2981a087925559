"""How good predictions are on rows that were not fitted: error, log-likelihood, CRPS, calibration."""

from typing import Any, NamedTuple

import numpy as np
import scoringrules
from scipy import stats

LEVELS = (0.5, 0.8, 0.9, 0.95)
NUM_SAMPLES = 400
MAX_SAMPLED_FLOATS = 4_000_000


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

    @property
    def rmse_share(self) -> float:
        """The error as a part of the constant predictor's."""
        return self.rmse / self.constant_rmse if self.constant_rmse > 0 else float("nan")


class Evaluation(NamedTuple):
    """Scores a target, and the predictions behind them, (rows, targets)."""

    scores: list[TargetScores]
    observed: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    pit: np.ndarray  # P(y <= observed) under the prediction: uniform where that is calibrated


def evaluate(estimator: Any, X: np.ndarray, y: np.ndarray, targets: list[str]) -> Evaluation:
    """Score a fitted regressor; `y` is (rows, targets). The constant predictor knows the training mean and spread."""
    posterior = estimator.posterior_
    inputs = estimator._check_inputs(X)
    mean, spread = posterior.mean_std(inputs)
    pit, log_density = posterior.cdf(inputs, y), posterior.log_density_per_target(inputs, y)
    crps = _crps(posterior, inputs, y)
    standardizer = posterior.standardizer
    scores = []
    for index, name in enumerate(targets):
        error = mean[:, index] - y[:, index]
        location, scale = standardizer.target_mean[index], standardizer.target_scale[index]
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
    return Evaluation(scores, y, mean, spread.total, pit)


def _crps(posterior: Any, inputs: np.ndarray, y: np.ndarray) -> np.ndarray:
    chunk = max(1, MAX_SAMPLED_FLOATS // (NUM_SAMPLES * y.shape[1]))
    parts = []
    for start in range(0, len(inputs), chunk):
        rows = slice(start, start + chunk)
        samples = posterior.sample_targets(inputs[rows], NUM_SAMPLES, 0)
        parts.append(scoringrules.crps_ensemble(y[rows], samples, estimator="pwm", backend="numpy"))
    return np.concatenate(parts)


def calibration_curve(pit: np.ndarray, num_levels: int = 19) -> tuple[np.ndarray, np.ndarray]:
    """Nominal levels of central intervals, and the share of rows that each holds."""
    levels = np.arange(1, num_levels + 1) / (num_levels + 1)
    return levels, np.asarray([np.mean(np.abs(pit - 0.5) <= level / 2) for level in levels])
