"""What the pictures of a model show, in words made from the same figures."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pritchel.posterior.evaluate import calibration_curve, reliability_curve
from pritchel.report.dependence_figures import Dependence
from pritchel.report.model_figures import counts_seen, residual_groups, spread_groups


def of_trace(elbo: np.ndarray) -> str:
    """Of the evidence lower bound: where it went, and how much of that in the last tenth."""
    mean = elbo.mean(0)
    tenth = max(1, len(mean) // 10)
    first, before, last = mean[:tenth].mean(), mean[-2 * tenth : -tenth].mean(), mean[-tenth:].mean()
    return (
        f"Line plot of the evidence lower bound over {elbo.shape[1]:,} steps, a line a network ({len(elbo)}): from "
        f"{first:.4g} in the first tenth to {last:.4g} in the last, which is {last - before:+.2g} on the tenth before."
    )


def of_units(kept: int, offered: int, layer: int) -> str:
    """Of the scales of a layer's units."""
    return (
        f"Scales of the units of hidden layer {layer + 1} in falling order: {kept} of {offered} are in use, the others "
        "pruned."
    )


def of_parity(observed: np.ndarray, mean: np.ndarray, name: str) -> str:
    """Of observed against predicted."""
    together = np.corrcoef(observed, mean)[0, 1] if min(observed.std(), mean.std()) > 0 else 0.0
    return (
        f"Observed {name}, {observed.min():.4g} to {observed.max():.4g}, against its prediction, {mean.min():.4g} to "
        f"{mean.max():.4g}: {len(mean):,} rows, correlation {together:.2f}."
    )


def of_residuals(residuals: np.ndarray, mean: np.ndarray, name: str) -> str:
    """Of residuals against predictions: whether their mean is off anywhere."""
    _, height, error = residual_groups(residuals, mean)
    off = int((np.abs(height) > 1.96 * error).sum())
    return (
        f"Residuals of {name} against its prediction, {residuals.min():.4g} to {residuals.max():.4g}: their mean is "
        f"further from zero than chance would have it in {off} of {len(height)} groups of rows."
    )


def of_split(share: np.ndarray) -> str:
    """Of the epistemic part of the uncertainty."""
    return (
        f"Histogram of the epistemic part of the uncertainty over {len(share):,} rows: {share.mean():.0%} on average, "
        f"{share.min():.0%} to {share.max():.0%}."
    )


def of_spread(residuals: np.ndarray, sd: np.ndarray, name: str) -> str:
    """Of errors against what was said of them."""
    said, seen, _ = spread_groups(residuals, sd)
    return (
        f"How far {name} was off in {len(said)} groups of rows: by {seen[0]:.3g} where {said[0]:.3g} was said, the "
        f"surest, to {seen[-1]:.3g} where {said[-1]:.3g} was, the least sure."
    )


def of_pit(pit: np.ndarray, name: str) -> str:
    """Of the histogram of predictive probabilities."""
    low, middle, high = (np.mean((pit >= a) & (pit < b)) for a, b in ((0, 0.1), (0.25, 0.75), (0.9, 1.01)))
    return (
        f"Histogram of the predictive probability of what was observed of {name}: {low:.0%} of the rows in the lowest "
        f"tenth and {high:.0%} in the highest (10% is right), {middle:.0%} in the middle half."
    )


def of_coverage(pit: np.ndarray, name: str) -> str:
    """Of the coverage curve: where it is furthest from the diagonal."""
    levels, share = calibration_curve(pit)
    worst = int(np.argmax(np.abs(share - levels)))
    return (
        f"Coverage of central intervals of {name} against their level: furthest from the diagonal at "
        f"{levels[worst]:.0%}, which holds {share[worst]:.0%} of the rows."
    )


def of_confusion(observed: np.ndarray, predicted: np.ndarray, labels: Sequence[str]) -> str:
    """Of the confusion matrix: how many are right, and the commonest mistake."""
    is_right = observed == predicted
    text = f"Confusion matrix of {len(observed):,} rows and {len(labels)} classes: {int(is_right.sum()):,} right"
    if is_right.all():
        return f"{text}."
    pairs, counts = np.unique(np.stack([observed, predicted], 1)[~is_right], axis=0, return_counts=True)
    true, said = pairs[counts.argmax()]
    return f"{text}; the commonest mistake is {labels[said]} for {labels[true]}, {counts.max():,} times."


def of_reliability(confidence: np.ndarray, is_right: np.ndarray) -> str:
    """Of accuracy against confidence."""
    mean, share, _ = reliability_curve(confidence, is_right)
    return (
        f"Accuracy against confidence: {share[0]:.0%} right where it was {mean[0]:.0%} sure, up to {share[-1]:.0%} "
        f"where it was {mean[-1]:.0%} sure."
    )


def of_confidence(confidence: np.ndarray) -> str:
    """Of how sure it is."""
    return (
        f"Histogram of confidence: half the rows above {np.median(confidence):.0%}, the least {confidence.min():.0%}."
    )


def of_rootogram(observed: np.ndarray, expected: np.ndarray, width: int, name: str) -> str:
    """Of counts expected and seen: the count that is furthest off."""
    seen = counts_seen(observed, len(expected), width)
    worst = int(np.argmax(np.abs(np.sqrt(seen) - np.sqrt(expected))))
    where = f"{width * worst}" if width == 1 else f"{width * worst} to {width * (worst + 1) - 1}"
    return (
        f"Hanging rootogram of the counts of {name}: furthest off at {where}, seen {seen[worst]:,} times where "
        f"{expected[worst]:.0f} were expected."
    )


def of_dependence(curve: Dependence, target: str) -> str:
    """Of a panel of partial dependence: where the prediction begins, ends, and is highest and lowest."""
    low, high = int(np.argmin(curve.mean)), int(np.argmax(curve.mean))
    return (
        f"Partial dependence of {target} on {curve.name}: lowest, {curve.mean[low]:.4g}, at "
        f"{_value(curve.values[low])}; highest, {curve.mean[high]:.4g}, at {_value(curve.values[high])}."
    )


def _value(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
