"""How simpler methods do on the rows a network is scored on, and whether the network is ahead of them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scoringrules
from scipy import special

from pritchel.posterior.evaluate import LEVELS, Evaluation, calibration_error, gaussian_log_density

SURE = 0.95  # of an interval for a gain: what lies within it is no news
LINES = ("ridge regression", "logistic regression")
TREES = "gradient boosting"
SMALLEST_PROBABILITY = 1e-12  # as the constant predictor has it


class BaselinePrediction(NamedTuple):
    """What a method says of some rows: means, or of classes probabilities, and the spread of a Gaussian around them."""

    name: str
    mean: np.ndarray  # (rows, targets) or (rows, classes)
    sd: np.ndarray | None = None  # (rows, targets); None: it gives a number, and says not how sure it is


class BaselineScores(NamedTuple):
    """A simpler method's scores for one target; None for what it does not say.

    `gain` is how far the network is ahead of it: in log-likelihood a row or, of a method that has none, in RMSE;
    `gain_error` its standard error, the rows taken in pairs.
    """

    target: str
    name: str
    gain: float
    gain_error: float
    rmse: float | None = None
    log_likelihood: float | None = None
    crps: float | None = None
    coverage: tuple[float, ...] | None = None
    accuracy: float | None = None
    brier: float | None = None
    calibration_error: float | None = None


def score_baseline(
    said: BaselinePrediction, outcome: Evaluation, names: Sequence[str], *, has_counts: bool = False
) -> list[BaselineScores]:
    """Scores of a method on the rows of an evaluation, a target each."""
    if outcome.sd.shape[1] == 0:
        return [_score_classes(said, outcome, names[0])]
    return [_score_numbers(said, outcome, index, name, has_counts) for index, name in enumerate(names)]


def _score_numbers(
    said: BaselinePrediction, outcome: Evaluation, index: int, name: str, has_counts: bool
) -> BaselineScores:
    observed, mean = outcome.observed[:, index], said.mean[:, index]
    squares, own_squares = (mean - observed) ** 2, (outcome.mean[:, index] - observed) ** 2
    rmse = math.sqrt(squares.mean())
    if said.sd is None:
        # The difference of two roots is that of their squares over their sum.
        both = max(rmse + math.sqrt(own_squares.mean()), np.finfo(float).tiny)
        gain, error = paired(squares - own_squares)
        return BaselineScores(name, said.name, gain / both, error / both, rmse)
    sd = said.sd[:, index]
    density = gaussian_log_density(observed, mean, sd, has_counts)
    pit = special.ndtr((observed - mean) / sd)
    return BaselineScores(
        name,
        said.name,
        *paired(outcome.log_density[:, index] - density),
        rmse=rmse,
        log_likelihood=float(density.mean()),
        crps=float(np.mean(scoringrules.crps_normal(observed, mean, sd))),
        coverage=tuple(float(np.mean(np.abs(pit - 0.5) <= level / 2)) for level in LEVELS),
    )


def _score_classes(said: BaselinePrediction, outcome: Evaluation, name: str) -> BaselineScores:
    index = outcome.observed[:, 0].astype(int)
    own = said.mean[np.arange(len(index)), index]
    density = np.log(np.maximum(own, SMALLEST_PROBABILITY))
    is_right = said.mean.argmax(1) == index
    return BaselineScores(
        name,
        said.name,
        *paired(outcome.log_density[:, 0] - density),
        log_likelihood=float(density.mean()),
        accuracy=float(is_right.mean()),
        brier=float(((said.mean - np.eye(said.mean.shape[1])[index]) ** 2).sum(1).mean()),
        calibration_error=calibration_error(said.mean.max(1), is_right),
    )


def paired(differences: np.ndarray) -> tuple[float, float]:
    """The mean of one difference a row, and its standard error; of a single row nothing is known of that."""
    num = len(differences)
    error = float(differences.std(ddof=1) / math.sqrt(num)) if num > 1 else math.inf
    return float(differences.mean()), error


def standing(own: Mapping[str, Any], num_rows: int) -> int:
    """Where the network stands: 1 ahead of the method, -1 behind it, 0 where the rows cannot tell."""
    gain, error = own["gain"], own["gain_error"]
    if gain is None or error is None or not (math.isfinite(gain) and math.isfinite(error)) or num_rows < 2:
        return 0
    margin = float(special.stdtrit(num_rows - 1, 0.5 + SURE / 2)) * error
    return int(gain > margin) - int(gain < -margin)


def by_how_much(own: Mapping[str, Any]) -> str:
    """The gain in words, without its sign."""
    score = "RMSE" if own["log_likelihood"] is None else "log-likelihood a row"
    return f"{abs(own['gain']):.2g} in {score} (standard error {own['gain_error']:.2g})"


def in_words(own: Mapping[str, Any], num_rows: int) -> str:
    """How the network stands beside a method, of `BaselineScores` as plain values."""
    place = standing(own, num_rows)
    if place == 0:
        return f"level with {own['name']}, as far as {num_rows:,} rows can tell"
    return f"{'ahead of' if place > 0 else 'behind'} {own['name']} by {by_how_much(own)}"
