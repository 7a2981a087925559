"""A fit to some rows of a table, and how it does on others beside simpler methods: notes for a model folder."""

import re
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pritchel import checks
from pritchel.posterior.baselines import BaselinePrediction, score_baseline
from pritchel.posterior.evaluate import Evaluation
from pritchel.tables.baselines import baselines, crossed_baselines
from pritchel.tables.encode import one_or_more
from pritchel.tables.messages import Message, told_if_long
from pritchel.tables.worst import worst_rows

if TYPE_CHECKING:
    from pritchel.tables.training import TrainingTable

SCORE_NOTES = ("scores", "num_scored", "checks", "baselines")  # what `score_notes` says of rows held out
SCORE_ARRAYS = ("observed", "mean", "sd", "pit", "log_density", "epistemic")  # of an `Evaluation`, for reports


def fit_and_score(
    estimator: Any, data: "TrainingTable", tell: Callable[[Message], Any]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Fit to the rows not held out and score on the others: notes for a model folder, and their arrays."""
    start = time.perf_counter()
    weights = None if data.weights is None else data.weights[~data.is_held_out]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", rf".*{re.escape(checks.FAR)}")  # said by column, in `column_remarks`
        estimator.fit(*data.rows(held_out=False), sample_weight=weights)
    seconds = {"seconds": round(time.perf_counter() - start, 2)}
    rows = f"the {data.is_held_out.sum():,} rows held out" if data.is_held_out.any() else "its own rows"
    rows = "its rows, each by members that did not see it" if _is_crossed(estimator, data) else rows
    doing = Message(f"Scoring the fit on {rows}, without each column in turn, and beside simpler methods ...")
    with told_if_long(tell, doing):
        notes, arrays = score(estimator, data, weights)
    return seconds | notes, arrays


def score(
    estimator: Any, data: "TrainingTable", weights: np.ndarray | None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What a fitted estimator is worth on the rows held out; where there are none, what its columns are, on its own.

    Of a cross-fitted one, without rows held out, what each row's members that did not see it are.
    """
    notes: dict[str, Any] = {}
    has_held_out = bool(data.is_held_out.any())
    inputs, targets = data.rows(held_out=has_held_out)
    worth = estimator.importances(inputs, targets, data.plan.features_of_column())
    notes["importances"] = [{name: _plain(value) for name, value in own._asdict().items()} for own in worth]
    line, said = baselines(
        estimator.known_rows(*data.rows(held_out=False)),
        inputs if has_held_out else None,
        weights,
        len(getattr(estimator, "classes_", ())),
    )
    arrays = {} if line is None else line.arrays()
    names = list(data.plan.targets)
    if _is_crossed(estimator, data):
        parts = estimator.unseen_rows_
        outcome = estimator.evaluate_unseen(names=names)
        num_classes = len(getattr(estimator, "classes_", ()))
        said = crossed_baselines(estimator.known_rows(inputs, targets), parts, weights, num_classes)
        rows = np.sort(np.concatenate(parts))
        numbers, inputs, notes["crossed"] = data.row_numbers[rows], inputs[rows], len(parts)
    elif has_held_out:
        train = one_or_more(data.targets[~data.is_held_out])
        outcome = estimator.evaluate(inputs, targets, names=names, train_y=train)
        numbers = data.row_numbers[data.is_held_out]
    else:
        return notes, arrays
    outcome = beside(outcome, said, estimator, data.plan.targets)
    notes["worst"] = worst_rows(estimator, inputs, outcome, data.plan.targets, numbers)
    arrays |= {name: np.asarray(getattr(outcome, name), float) for name in SCORE_ARRAYS}
    return notes | score_notes(outcome), arrays | {"row": numbers.astype(float)}


def _is_crossed(estimator: Any, data: "TrainingTable") -> bool:
    """Whether scores are those of members that did not see a row: there are such, and no rows were held out."""
    return bool(estimator.unseen_rows_) and not data.is_held_out.any()


def beside(
    outcome: Evaluation, said: Iterable[BaselinePrediction], estimator: Any, targets: Sequence[str]
) -> Evaluation:
    """The evaluation with the scores of simpler methods beside its own."""
    has_counts = estimator.posterior_.likelihood.has_counts
    found = [score_baseline(own, outcome, targets, has_counts=has_counts) for own in said]
    return outcome._replace(baselines=tuple(own for scores in zip(*found, strict=True) for own in scores))


def score_notes(outcome: Evaluation) -> dict[str, Any]:
    """Scores and predictive checks as plain values."""
    scores = [{name: _plain(value) for name, value in score._asdict().items()} for score in outcome.scores]
    checks = [check._asdict() for check in outcome.checks]
    simpler = [{name: _plain(value) for name, value in own._asdict().items()} for own in outcome.baselines]
    return dict(zip(SCORE_NOTES, (scores, len(outcome.observed), checks, simpler), strict=True))


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
