"""How well predictions did: every method by the same formulas, from quantiles, densities or probabilities alone."""

import numpy as np

COVERAGES = (0.5, 0.8, 0.9, 0.95)
CRPS_LEVELS = (np.arange(100) + 0.5) / 100
LEVELS = np.unique([*CRPS_LEVELS, *(0.5 + sign * share / 2 for share in COVERAGES for sign in (-1, 1))])
SMALLEST_PROBABILITY = 1e-12  # of a class: a method that is certain and wrong loses 28 nats, not all there is


def pinball(y: np.ndarray, quantiles: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """The loss of each quantile of each row."""
    excess = y[:, None] - quantiles
    return np.maximum(levels * excess, (levels - 1) * excess)


def crps(y: np.ndarray, quantiles: np.ndarray) -> float:
    """The continuous ranked probability score: twice the pinball loss, averaged over a hundred levels."""
    is_used = np.isin(LEVELS, CRPS_LEVELS)
    return float(2 * pinball(y, quantiles[:, is_used], LEVELS[is_used]).mean())


def interval(quantiles: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the central interval that should hold a share of the rows."""
    low, high = (int(np.argmin(np.abs(LEVELS - level))) for level in (0.5 - share / 2, 0.5 + share / 2))
    return quantiles[:, low], quantiles[:, high]


def interval_score(y: np.ndarray, low: np.ndarray, high: np.ndarray, share: float) -> float:
    """Width, and a fine for each row outside that grows with its distance (Gneiting and Raftery 2007)."""
    fine = 2 / (1 - share)
    return float(np.mean(high - low + fine * np.maximum(low - y, 0) + fine * np.maximum(y - high, 0)))


def score_numbers(
    y: np.ndarray, mean: np.ndarray, quantiles: np.ndarray, log_density: np.ndarray | None
) -> dict[str, float | None]:
    """All scores of a regression; lower is better but for `ll`, and for coverages, which have a right value."""
    if not (np.isfinite(mean).all() and np.isfinite(quantiles).all()):
        raise ValueError("a mean or a quantile is not a finite number")
    scores: dict[str, float | None] = {
        "rmse": float(np.sqrt(np.mean((mean - y) ** 2))),
        "ll": None if log_density is None else float(np.mean(log_density)),
        "crps": crps(y, quantiles),
    }
    for share in COVERAGES:
        low, high = interval(quantiles, share)
        scores[f"coverage{share * 100:.0f}"] = float(np.mean((low <= y) & (y <= high)))
        scores[f"interval{share * 100:.0f}"] = interval_score(y, low, high, share)
    return scores


def score_classes(y: np.ndarray, probabilities: np.ndarray) -> dict[str, float]:
    """All scores of a classification: log-likelihood, Brier score, error rate."""
    if not np.isfinite(probabilities).all():
        raise ValueError("a probability is not a finite number")
    probabilities = np.clip(probabilities, SMALLEST_PROBABILITY, 1)
    probabilities = probabilities / probabilities.sum(1, keepdims=True)
    hit = np.eye(probabilities.shape[1])[y]
    return {
        "ll": float(np.log(probabilities[np.arange(len(y)), y]).mean()),
        "brier": float(((probabilities - hit) ** 2).sum(1).mean()),
        "error": float(np.mean(probabilities.argmax(1) != y)),
    }
