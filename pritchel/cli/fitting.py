"""The work behind `pritchel fit`: presets, the fit itself, and the notes that a model folder keeps of it."""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from pritchel.estimators.evaluate import Evaluation, evaluate
from pritchel.estimators.regressor import HorseshoeRegressor
from pritchel.table_model import TrainingTable

PRESETS = {"default": HorseshoeRegressor, "fast": HorseshoeRegressor.fast, "paper": HorseshoeRegressor.paper}


def make_estimator(preset: str, seed: int, progress: bool, arguments: dict[str, Any]) -> HorseshoeRegressor:
    """An estimator of the named preset with the given arguments changed."""
    if preset not in PRESETS:
        raise ValueError(f"--preset must be one of {', '.join(PRESETS)}; got {preset!r}.")
    return PRESETS[preset](**arguments, random_state=seed, progress=progress)


def fit_with_notes(
    estimator: HorseshoeRegressor, data: TrainingTable, say: Callable[[str], None]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Fit to the rows not held out, score on those held out; notes and their arrays. Warnings are told in words."""
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        estimator.fit(*data.rows(held_out=False))
    for warning in caught:
        say(f"Note: {warning.message}")
    notes: dict[str, Any] = {"seconds": round(time.perf_counter() - start, 2)}
    if not data.is_held_out.any():
        return notes, {}
    inputs, targets = data.rows(held_out=True)
    outcome = evaluate(estimator, inputs, targets.reshape(len(inputs), -1), list(data.plan.targets))
    return notes | score_notes(outcome), evaluation_arrays(outcome)


def score_notes(outcome: Evaluation) -> dict[str, Any]:
    """Scores as plain values, one dictionary a target."""
    scores = [{**score._asdict(), "coverage": list(score.coverage)} for score in outcome.scores]
    return {"scores": scores, "num_scored": len(outcome.observed)}


def evaluation_arrays(outcome: Evaluation) -> dict[str, np.ndarray]:
    """Held-out predictions, for the report."""
    return {name: np.asarray(getattr(outcome, name), float) for name in ("observed", "mean", "sd", "pit")}
