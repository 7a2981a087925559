"""The fit of one group of a table: a task that many can do side by side, and that a group with no answer only ends."""

import time
from typing import Any, NamedTuple

import numpy as np

from pritchel.estimators.typed import unfitted
from pritchel.infer.checkpoint import fingerprint
from pritchel.jobs import kept_warnings
from pritchel.tables.scoring import SCORE_ARRAYS, score_notes
from pritchel.tables.training import TrainingTable, one_or_more, rows_held_out


class GroupSettings(NamedTuple):
    """What the fits of all groups share, besides their estimator."""

    likelihood: str
    classes: bool
    holdout: float
    refit: bool
    seed: int | None
    min_rows: int


class GroupFit(NamedTuple):
    """What became of a group: a fitted estimator with notes for its folder, or the reason that there is none."""

    estimator: Any
    notes: dict[str, Any]
    arrays: dict[str, np.ndarray]
    reason: str = ""


def group_mark(data: TrainingTable, settings: GroupSettings, described: str) -> str:
    """A digest of all that a group's fit depends on: a fit with the same one need not be made again."""
    parts = [data.inputs, data.targets.astype(str) if settings.classes else data.targets, data.weights]
    return fingerprint(parts, described, settings, data.plan.feature_names())


def fit_group(estimator: Any, data: TrainingTable, settings: GroupSettings) -> GroupFit:
    """Fit and score one group; whatever is wrong with it is its outcome, and no other group's."""
    start, estimator = time.perf_counter(), unfitted(estimator)
    with kept_warnings() as warned:
        try:
            data = _ready(data, settings)
            notes, arrays = _fitted(estimator, data, settings)
        except Exception as error:
            is_plain = isinstance(error, (ValueError, FloatingPointError))
            return GroupFit(None, {}, {}, str(error) if is_plain else f"{type(error).__name__}: {error}")
    notes |= {"seconds": round(time.perf_counter() - start, 2), "warnings": [text for text, _ in warned]}
    return GroupFit(estimator, notes, arrays)


def _ready(data: TrainingTable, settings: GroupSettings) -> TrainingTable:
    """The group's rows, some set aside; a ValueError for a group that there is nothing to learn from."""
    num_rows = len(data.targets)
    if num_rows < settings.min_rows:
        raise ValueError(f"It has {num_rows} row(s) with a target; at least {settings.min_rows} are asked for.")
    for name, values in zip(data.plan.targets, data.targets.T, strict=True):
        if len(set(values.tolist())) == 1:
            raise ValueError(f"{name} is {values[0]} in all of its {num_rows} rows.")
    data.check_targets(settings.likelihood)
    return data.holding_out(rows_held_out(data.targets, settings.holdout, settings.seed, settings.classes))


def _fitted(
    estimator: Any, data: TrainingTable, settings: GroupSettings
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    weights = None if data.weights is None else data.weights[~data.is_held_out]
    estimator.fit(*data.rows(held_out=False), sample_weight=weights)
    if estimator.is_interrupted_:
        raise KeyboardInterrupt
    if not data.is_held_out.any():
        return {}, {}
    train = one_or_more(data.targets[~data.is_held_out])
    outcome = estimator.evaluate(*data.rows(held_out=True), names=list(data.plan.targets), train_y=train)
    arrays = {name: np.asarray(getattr(outcome, name), float) for name in SCORE_ARRAYS}
    arrays["row"] = data.row_numbers[data.is_held_out].astype(float)
    if settings.refit:
        estimator.fit(*data.none_held_out().rows(held_out=False), sample_weight=data.weights)
    return score_notes(outcome), arrays
