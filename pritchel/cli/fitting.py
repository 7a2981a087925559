"""The work behind `pritchel fit`: presets, the fit itself, and the notes that a model folder keeps of it."""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from pritchel.estimators.base import HorseshoeEstimator
from pritchel.estimators.classifier import HorseshoeClassifier
from pritchel.estimators.regressor import HorseshoeRegressor
from pritchel.posterior.evaluate import Evaluation, evaluate
from pritchel.table_model import TrainingTable

PRESETS = ("default", "fast", "paper")


def make_estimator(
    preset: str, seed: int, progress: bool, arguments: dict[str, Any], classes: bool
) -> HorseshoeEstimator:
    """A regressor or classifier of the named preset with the given arguments changed."""
    if preset not in PRESETS:
        raise ValueError(f"--preset must be one of {', '.join(PRESETS)}; got {preset!r}.")
    kind = HorseshoeClassifier if classes else HorseshoeRegressor
    wrong = [name for name in arguments if name not in kind._get_param_names()]
    if wrong:
        raise ValueError(f"--{wrong[0].replace('_', '-')} is not for {'classes' if classes else 'numbers'}.")
    make = kind if preset == "default" else getattr(kind, preset)
    return make(**arguments, random_state=seed, progress=progress)


def fit_with_notes(
    estimator: HorseshoeEstimator, data: TrainingTable, say: Callable[[str], None]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Fit to the rows not held out, score on those held out; notes and their arrays. Warnings are told in words."""
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        estimator.fit(*data.rows(held_out=False))  # pyright: ignore[reportAttributeAccessIssue]
    for warning in caught:
        say(f"Note: {warning.message}")
    notes: dict[str, Any] = {"seconds": round(time.perf_counter() - start, 2)}
    if not data.is_held_out.any():
        return notes, {}
    inputs, targets = data.rows(held_out=True)
    train = data.targets[~data.is_held_out]
    outcome = evaluate(estimator, inputs, targets.reshape(len(inputs), -1), list(data.plan.targets), train)
    return notes | score_notes(outcome), evaluation_arrays(outcome)


def score_notes(outcome: Evaluation) -> dict[str, Any]:
    """Scores and predictive checks as plain values."""
    scores = [{name: _plain(value) for name, value in score._asdict().items()} for score in outcome.scores]
    checks = [check._asdict() for check in outcome.checks]
    return {"scores": scores, "num_scored": len(outcome.observed), "checks": checks}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def evaluation_arrays(outcome: Evaluation) -> dict[str, np.ndarray]:
    """Held-out predictions, for the report."""
    return {name: np.asarray(getattr(outcome, name), float) for name in ("observed", "mean", "sd", "pit")}
