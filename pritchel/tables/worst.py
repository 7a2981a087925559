"""The rows that a model found least likely: where to look for a slip in the table, or for what the model misses."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pritchel.posterior.evaluate import Evaluation

NUM_WORST = 8
ENDS = np.array([0.05, 0.95])


def worst_rows(
    estimator: Any, inputs: np.ndarray, outcome: Evaluation, targets: Sequence[str], row_numbers: np.ndarray
) -> list[dict[str, Any]]:
    """The rows of lowest log density, lowest first: as plain values, with what was seen and what was said of them.

    Of numbers what was said is a mean and a 90 % interval; of classes the likeliest and its probability.
    """
    found = []
    for index, target in enumerate(targets):
        density = outcome.log_density[:, index]
        rows = np.argsort(density, kind="stable")[:NUM_WORST]
        said = _classes if outcome.sd.shape[1] == 0 else _numbers
        for row, parts in zip(rows, said(estimator, inputs[rows], outcome, rows, index), strict=True):
            found.append({"target": target, "row": int(row_numbers[row]), "log_density": float(density[row]), **parts})
    return found


def _numbers(
    estimator: Any, inputs: np.ndarray, outcome: Evaluation, rows: np.ndarray, index: int
) -> list[dict[str, Any]]:
    ends = estimator.posterior_.quantiles(inputs, ENDS)[:, index]
    return [
        {
            "observed": float(outcome.observed[row, index]),
            "predicted": float(outcome.mean[row, index]),
            "lower": float(lower),
            "upper": float(upper),
        }
        for row, (lower, upper) in zip(rows, ends, strict=True)
    ]


def _classes(
    estimator: Any, inputs: np.ndarray, outcome: Evaluation, rows: np.ndarray, index: int
) -> list[dict[str, Any]]:
    labels = [str(label) for label in estimator.classes_]
    return [
        {
            "observed": labels[int(outcome.observed[row, index])],
            "predicted": labels[int(outcome.mean[row].argmax())],
            "probability": float(outcome.mean[row].max()),
        }
        for row in rows
    ]


def worst_of(parts: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The worst of the worst rows of several parts of a table, a target at a time."""
    every = [row for rows in parts for row in rows]
    targets = dict.fromkeys(row["target"] for row in every)
    return [
        row
        for target in targets
        for row in sorted((own for own in every if own["target"] == target), key=lambda own: own["log_density"])[
            :NUM_WORST
        ]
    ]
