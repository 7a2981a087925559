"""What a posterior says of each row, as the columns of a table."""

from collections.abc import Sequence

import numpy as np

from pritchel.posterior.predict import Posterior
from pritchel.tables.messages import TableError

PARTS = ("aleatoric", "epistemic")


def class_answers(posterior: Posterior, inputs: np.ndarray, labels: np.ndarray, split: bool) -> dict[str, np.ndarray]:
    """The most probable class and the probability of each; `split`: and the parts of the entropy, in nats."""
    mean, _ = posterior.mean_std(inputs)
    columns = {"class": labels[mean.argmax(1)]}
    columns |= {f"p_{label}": mean[:, index] for index, label in enumerate(labels)}
    if split:
        entropies = posterior.entropies(inputs)
        columns |= {part: getattr(entropies, part) for part in PARTS}
    return columns


def number_answers(
    posterior: Posterior, inputs: np.ndarray, targets: Sequence[str], quantiles: Sequence[float], split: bool
) -> dict[str, np.ndarray]:
    """Mean, sd and quantiles; several targets: with the target's name before it. `split`: and the parts of the sd."""
    mean, spread = posterior.mean_std(inputs)
    levels = posterior.quantiles(inputs, np.asarray(quantiles)) if len(quantiles) else np.zeros((*mean.shape, 0))
    columns = {}
    for index, target in enumerate(targets):
        before = "" if len(targets) == 1 else f"{target}_"
        columns[f"{before}mean"], columns[f"{before}sd"] = mean[:, index], spread.total[:, index]
        for part in PARTS if split else ():
            columns[f"{before}{part}"] = getattr(spread, part)[:, index]
        for position, level in enumerate(quantiles):
            columns[f"{before}q{100 * level:g}"] = levels[:, index, position]
    return columns


def region_answers(
    posterior: Posterior, inputs: np.ndarray, targets: Sequence[str], coverage: float
) -> dict[str, list[str]]:
    """The smallest set that holds a new observation, in words: `-2.6 to -1.5; 1.5 to 2.6`."""
    if posterior.likelihood.has_classes or posterior.likelihood.has_counts:
        raise TableError("{option} is for numbers: counts and classes have probabilities.", "region")
    if not 0 < coverage < 1:
        raise TableError(f"{{option}} must lie strictly between 0 and 1, as in 0.9; got {coverage}.", "region")
    rows = posterior.regions(inputs, coverage)
    columns = {}
    for index, target in enumerate(targets):
        before = "" if len(targets) == 1 else f"{target}_"
        columns[f"{before}region{100 * coverage:g}"] = [
            "; ".join(f"{low:.6g} to {high:.6g}" for low, high in row[index]) for row in rows
        ]
    return columns
