"""What each input is worth: how much worse predictions become when its values change places among the rows."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pritchel.posterior.predict import Posterior

NUM_DRAWS = 100
NUM_SHUFFLES = 3
MAX_ROWS = 300
MAX_PREDICTIONS = 60_000  # rows in all, with every input shuffled every time: wide tables are measured on fewer
MIN_ROWS = 30
LEVELS = (0.05, 0.95)


class Importance(NamedTuple):
    """What an input is worth, each figure with the range of nine posterior draws in ten.

    `log_likelihood` is lost a row, in nats, all targets together. `error` is what the error gains: of numbers the root
    mean square error, in the units of the target (of several: in standard deviations of each, averaged); of classes the
    share of rows that are got wrong.
    """

    name: str
    log_likelihood: float
    log_likelihood_range: tuple[float, float]
    error: float
    error_range: tuple[float, float]


def importances(
    posterior: Posterior, inputs: np.ndarray, targets: np.ndarray, groups: Mapping[str, Sequence[int]], seed: int = 0
) -> list[Importance]:
    """Of groups of inputs, which are shuffled together; the one that costs most log-likelihood first.

    Of many rows some are taken at random. An input that says what another says too is worth little: shuffled alone, it
    leaves the other.
    """
    rng = np.random.default_rng(seed)
    most = max(MIN_ROWS, MAX_PREDICTIONS // (NUM_SHUFFLES * max(len(groups), 1)))
    rows = np.sort(rng.permutation(len(inputs))[: min(MAX_ROWS, most)])
    inputs, targets = inputs[rows], targets[rows]
    base_likelihood, base_error = _by_draw(posterior, inputs, targets)
    found = []
    for name, columns in groups.items():
        shuffled = np.tile(inputs, (NUM_SHUFFLES, 1))
        for turn in range(NUM_SHUFFLES):
            part = slice(turn * len(inputs), (turn + 1) * len(inputs))
            shuffled[part, list(columns)] = inputs[rng.permutation(len(inputs))][:, list(columns)]
        likelihood, error = _by_draw(posterior, shuffled, np.tile(targets, (NUM_SHUFFLES, 1)))
        lost, gained = base_likelihood - likelihood, error - base_error
        found.append(Importance(name, float(lost.mean()), _range(lost), float(gained.mean()), _range(gained)))
    return sorted(found, key=lambda own: -own.log_likelihood)


def with_range(own: Mapping[str, Any], score: str) -> str:
    """In words: what an input is worth by a score, and its range, of an `Importance` as plain values."""
    value, (low, high) = own[score], own.get(f"{score}_range", (None, None))
    if value is None:
        return "not finite"
    return f"{value:.3g}" + ("" if low is None or high is None else f" ({low:.3g} to {high:.3g})")


def _by_draw(posterior: Posterior, inputs: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log-likelihood a row and error, of each posterior draw."""
    num = min(NUM_DRAWS, posterior.num_draws)
    likelihood = posterior.draw_log_densities(inputs, targets, num, None).sum(-1).mean(1)
    means = posterior.sample_functions(inputs, num, None)  # rows, targets or classes, draws
    if posterior.likelihood.has_classes:
        return likelihood, (means.argmax(1) != targets).mean(0)
    error = np.sqrt(((means - targets[..., None]) ** 2).mean(0))  # targets, draws
    if targets.shape[1] == 1:
        return likelihood, error[0]
    return likelihood, (error / np.maximum(targets.std(0), 1e-12)[:, None]).mean(0)


def _range(values: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(values, LEVELS)
    return float(low), float(high)
