"""A fitted estimator together with the table it was made for: columns by name in, predictions by row out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pritchel.data.tables import Column, TableError, TablePlan, class_labels, plan_table, target_values
from pritchel.estimators.base import HorseshoeEstimator
from pritchel.files.folder import load_model, save_model
from pritchel.posterior.evaluate import Evaluation, evaluate


class TrainingTable(NamedTuple):
    """A table ready to be fitted to, some of its rows set aside."""

    plan: TablePlan
    inputs: np.ndarray
    targets: np.ndarray  # (rows, targets)
    is_held_out: np.ndarray
    rows_without_target: tuple[int, ...]  # numbered from 1, as messages number them

    def rows(self, held_out: bool) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and targets of the rows held out, or of the others; one target comes as a vector."""
        chosen = self.is_held_out == held_out
        targets = self.targets[chosen]
        return self.inputs[chosen], targets[:, 0] if targets.shape[1] == 1 else targets


def training_table(
    frame: pd.DataFrame,
    targets: Sequence[str],
    *,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    holdout: float = 0.1,
    seed: int = 0,
    classes: bool = False,
) -> TrainingTable:
    """Plan the columns and set a random part of the rows aside; rows without a target are dropped."""
    plan = plan_table(frame, targets, drop, keep)
    values, is_known = class_labels(frame, targets[0]) if classes else target_values(frame, targets)
    if is_known.sum() < 2:
        raise TableError(
            f"Only {is_known.sum()} row(s) have all targets ({', '.join(targets)}); at least two are needed."
        )
    known = frame[is_known]
    values = values[is_known]
    is_held_out = np.zeros(len(known), bool)
    num_held_out = round(holdout * len(known))
    if len(known) - num_held_out < 2:
        raise TableError(f"--holdout {holdout:g} leaves fewer than two of the {len(known)} rows to fit.")
    is_held_out[np.random.default_rng(seed).permutation(len(known))[:num_held_out]] = True
    rows_without_target = tuple(int(row) + 1 for row in np.flatnonzero(~is_known))
    return TrainingTable(plan, plan.encode(known), values, is_held_out, rows_without_target)


class TableModel:
    """A fitted estimator, its plan of the table, and notes about the fit (scores, source) with their arrays."""

    def __init__(
        self,
        estimator: HorseshoeEstimator,
        plan: TablePlan,
        notes: dict[str, Any] | None = None,
        arrays: dict[str, np.ndarray] | None = None,
        spec: dict[str, Any] | None = None,
    ):
        self.estimator: Any = estimator
        self.plan, self.notes, self.arrays, self.spec = plan, notes or {}, arrays or {}, spec or {}

    def save(self, path: Path, *, overwrite: bool = False) -> Path:
        """Write the model folder."""
        return save_model(
            path,
            self.estimator,
            table=self.plan.to_json(),
            notes=self.notes,
            extra_arrays=self.arrays,
            overwrite=overwrite,
        )

    @classmethod
    def load(cls, path: Path) -> "TableModel":
        """A model folder; one written from Python gets columns x1, x2, ... and a target y."""
        saved = load_model(path)
        plan = arrays_plan(saved.estimator) if saved.table is None else TablePlan.from_json(saved.table)
        if saved.table is not None and len(plan.feature_names()) != saved.estimator.n_features_in_:
            raise TableError(f"{path}: the columns in spec.json do not make the inputs of the network.")
        return cls(saved.estimator, plan, saved.notes, saved.arrays, saved.spec)

    def predict(self, frame: pd.DataFrame, quantiles: Sequence[float] = (), first_row: int = 0) -> pd.DataFrame:
        """Mean, standard deviation and quantiles, a column each; several targets: with the target's name before it.

        Of classes: the most probable one and the probability of each.
        """
        inputs = self.plan.encode(frame, first_row)
        posterior = self.estimator.posterior_
        mean, spread = posterior.mean_std(inputs)
        if self.has_classes:
            labels = self.estimator.classes_
            answer = pd.DataFrame({"class": labels[mean.argmax(1)]}, index=frame.index)
            return answer.assign(**{f"p_{label}": mean[:, index] for index, label in enumerate(labels)})
        levels = posterior.quantiles(inputs, np.asarray(quantiles)) if quantiles else None
        answer = pd.DataFrame(index=frame.index)
        for index, target in enumerate(self.plan.targets):
            before = "" if len(self.plan.targets) == 1 else f"{target}_"
            answer[f"{before}mean"], answer[f"{before}sd"] = mean[:, index], spread.total[:, index]
            for position, level in enumerate(quantiles):
                assert levels is not None
                answer[f"{before}q{100 * level:g}"] = levels[:, index, position]
        return answer

    def evaluate(self, frame: pd.DataFrame) -> Evaluation:
        """Scores on a table that has the targets; rows without them are left out."""
        missing = [name for name in self.plan.targets if name not in frame.columns]
        if missing:
            raise TableError(f"The table has no column {', '.join(map(repr, missing))} to compare predictions with.")
        values, is_known = self.targets_of(frame)
        if not is_known.any():
            raise TableError(f"No row has {', '.join(map(repr, self.plan.targets))}: there is nothing to score.")
        return evaluate(self.estimator, self.plan.encode(frame[is_known]), values[is_known], list(self.plan.targets))

    @property
    def has_classes(self) -> bool:
        """Whether it predicts classes."""
        return self.estimator.posterior_.likelihood.has_classes

    def targets_of(self, frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """The targets of a table, (rows, targets), and which rows have them; labels as the estimator knows them."""
        if not self.has_classes:
            return target_values(frame, self.plan.targets)
        labels, is_known = class_labels(frame, self.plan.targets[0])
        known = {str(label): label for label in self.estimator.classes_.tolist()}
        wrong = [label for label in labels[is_known, 0] if label not in known]
        if wrong:
            raise TableError(f"{self.plan.targets[0]!r} holds {wrong[0]!r}, a class that the model has not seen.")
        own = np.asarray([known.get(label, next(iter(known.values()))) for label in labels[:, 0]])
        return own[:, None], is_known


def arrays_plan(estimator: Any) -> TablePlan:
    """Columns for a model that was fitted to arrays: its feature names, or x1, x2, ..."""
    names = getattr(estimator, "feature_names_in_", None)
    standardizer = estimator.posterior_.standardizer
    num_targets = len(standardizer.target_mean)
    targets = ["y"] if num_targets == 1 else [f"y{index + 1}" for index in range(num_targets)]
    frame_names = [f"x{index + 1}" for index in range(estimator.n_features_in_)] if names is None else list(names)
    columns = tuple(
        Column(str(name), "number", float(mean))
        for name, mean in zip(frame_names, standardizer.input_mean, strict=True)
    )
    return TablePlan(columns, tuple(targets), {})
