"""A table made ready for a fit: which rows it learns from, which it is scored on, and what that leaves to say."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import is_classifier

from pritchel import checks
from pritchel.data.grid import coarse_step, has_many_zeros, heavy_value
from pritchel.estimators.classifier import HorseshoeClassifier
from pritchel.estimators.regressor import HorseshoeRegressor
from pritchel.estimators.typed import unfitted
from pritchel.model.likelihoods import LIKELIHOODS
from pritchel.settings import name_of
from pritchel.tables.cells import MAX_NAMES, column_of, numbers, training_numbers
from pritchel.tables.columns import NOTHING_TOLD, TablePlan, Told
from pritchel.tables.encode import class_labels, encode_inputs, one_or_more, target_values
from pritchel.tables.messages import Message, Option, TableError
from pritchel.tables.plan import holds_classes, plan_table

MAX_CODES = 10
MAX_ROWS_NAMED = 5
FEW_ROWS = 20


class TrainingTable(NamedTuple):
    """A table ready to be fitted to, some of its rows set aside."""

    plan: TablePlan
    inputs: np.ndarray
    targets: np.ndarray  # (rows, targets)
    is_held_out: np.ndarray
    row_numbers: np.ndarray  # in the table, from 1
    rows_without_target: tuple[int, ...]  # numbered alike
    weights: np.ndarray | None = None

    def rows(self, held_out: bool) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and targets of the rows held out, or of the others; one target comes as a vector."""
        chosen = self.is_held_out == held_out
        targets = self.targets[chosen]
        return self.inputs[chosen], one_or_more(targets)

    def check_targets(self, likelihood: str) -> None:
        """Refuse targets that the likelihood cannot take, by name and row."""
        kind = LIKELIHOODS[likelihood].kind
        for name, values in zip(self.plan.targets, self.targets.T, strict=True):
            try:
                kind.check_targets(values)
            except ValueError:
                where = next(row for row, value in enumerate(values) if not _takes(kind, value))
                raise TableError(
                    f"Column {name!r} holds {values[where]:g} in row {self.row_numbers[where]}, which {likelihood} "
                    "cannot take. Mend it, or choose another {option}.",
                    "likelihood",
                ) from None

    def holding_out(self, rows: np.ndarray) -> "TrainingTable":
        """The same table with some rows, given as true or false each, to be scored and the others to be fitted to."""
        return self._replace(is_held_out=rows)

    def take(self, rows: np.ndarray) -> "TrainingTable":
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return self._replace(
            inputs=self.inputs[rows],
            targets=self.targets[rows],
            is_held_out=self.is_held_out[rows],
            row_numbers=self.row_numbers[rows],
            weights=weights,
        )

    def none_held_out(self) -> "TrainingTable":
        """The same table with every row to be fitted to."""
        return self.holding_out(np.zeros_like(self.is_held_out))


def _takes(kind: Any, value: float) -> bool:
    try:
        kind.check_targets(np.asarray([value]))
    except ValueError:
        return False
    return True


def asks_for_classes(
    frame: pd.DataFrame,
    targets: Sequence[str],
    likelihood: str = "auto",
    estimator: Any = None,
    told: Told = NOTHING_TOLD,
) -> bool:
    """Whether a table with these targets is a matter of classes: as told, as the estimator is, or as it looks."""
    if likelihood not in LIKELIHOODS:
        known = ", ".join(sorted(LIKELIHOODS))
        raise TableError(f"{{option}} must be one of {known}; got {likelihood!r}.", "likelihood")
    if likelihood != "auto":
        classes = LIKELIHOODS[likelihood].kind.has_classes
    else:
        classes = holds_classes(frame, targets, told) if estimator is None else is_classifier(estimator)
    if classes and len(targets) != 1:
        raise TableError("A model of classes has one {option}.", "target")
    return classes


def new_estimator(given: Any, classes: bool, likelihood: str, seed: int | None) -> Any:
    """An unfitted copy of the estimator, or the one that the target asks for, with the likelihood that was told."""
    kind = HorseshoeClassifier if classes else HorseshoeRegressor
    estimator: Any = kind() if given is None else unfitted(given)
    if not isinstance(estimator, kind):
        raise TableError(
            f"{{option}} asks for a {kind.__name__}; the estimator is a {type(estimator).__name__}.",
            "likelihood",
            likelihood,
        )
    if likelihood != "auto" and likelihood != name_of(LIKELIHOODS, estimator.likelihood_settings()):
        estimator.set_params(likelihood=likelihood)
    if estimator.random_state is None:
        estimator.set_params(random_state=seed)
    return estimator


def training_table(
    frame: pd.DataFrame,
    targets: Sequence[str],
    told: Told = NOTHING_TOLD,
    *,
    holdout: float = 0.1,
    seed: int | None = 0,
    classes: bool = False,
) -> TrainingTable:
    """Plan the columns and set a random part of the rows aside; rows without a target are dropped."""
    if len(frame) < 2:
        raise TableError(f"The table has {len(frame) or 'no'} row(s) below its header; a fit needs at least two.")
    plan = plan_table(frame, targets, told)
    values, is_known = (class_labels if classes else target_values)(plan, frame)
    for name in () if classes else targets:
        training_numbers(column_of(frame, name, told.na_values), plan.spelling(name))
    num_known = int(is_known.sum())
    if num_known < 2:
        raise TableError(f"Only {num_known} row(s) have all targets ({', '.join(targets)}); at least two are needed.")
    weights = None if told.weight is None else row_weights(frame, plan, told.weight)[is_known]
    if weights is not None:
        try:
            checks.check_total_weight(f"Column {told.weight!r}", weights)
        except ValueError as error:
            raise TableError(str(error)) from None
    is_held_out = rows_held_out(values[is_known], holdout, seed, classes)
    row_numbers = np.arange(1, len(frame) + 1)
    return TrainingTable(
        plan,
        encode_inputs(plan, frame)[is_known],
        values[is_known],
        is_held_out,
        row_numbers[is_known],
        tuple(row_numbers[~is_known].tolist()),
        weights,
    )


def rows_held_out(targets: np.ndarray, holdout: float, seed: int | None, classes: bool) -> np.ndarray:
    """Which rows are set aside: a random part of them, with every class among the others."""
    num_rows = len(targets)
    num_held_out = round(holdout * num_rows)
    if num_rows - num_held_out < 2:
        raise TableError(f"{{option}} leaves fewer than two of the {num_rows} rows to fit.", "holdout", holdout)
    is_held_out = np.zeros(num_rows, bool)
    is_held_out[np.random.default_rng(seed).permutation(num_rows)[:num_held_out]] = True
    if classes:
        _keep_every_class(targets[:, 0], is_held_out)
    return is_held_out


def row_weights(frame: pd.DataFrame, plan: TablePlan, name: str, first_row: int = 0) -> np.ndarray:
    """What each row counts for, by a column of that name; before the frame come so many rows."""
    values = numbers(column_of(frame, name, plan.na_values), plan.spelling(name))
    wrong = np.flatnonzero(~(values >= 0))
    if len(wrong):
        raise TableError(
            f"Column {name!r} is {values[wrong[0]]:g} in row {first_row + wrong[0] + 1}; a weight is zero or more. "
            "Mend it, or drop the row."
        )
    return values


def _keep_every_class(labels: np.ndarray, is_held_out: np.ndarray) -> None:
    """Give a class whose rows were all set aside one of them back: a fit could not be scored on what it never saw."""
    for label in set(labels[is_held_out]) - set(labels[~is_held_out]):
        is_held_out[np.flatnonzero(labels == label)[0]] = False


def remarks(data: TrainingTable, *, classes: bool, may_hold_codes: bool) -> Iterator[Message]:
    """What to tell about a table before its fit: how its targets are taken, which rows were dropped, hardly any left.

    `may_hold_codes`: nobody has said that the targets are plain numbers.
    """
    if classes:
        labels, counts = np.unique(data.targets.astype(str), return_counts=True)
        shown = ", ".join(f"{label} ({count})" for label, count in list(zip(labels, counts, strict=True))[:MAX_NAMES])
        more = f" and {len(labels) - MAX_NAMES:,} more" if len(labels) > MAX_NAMES else ""
        yield Message(f"{data.plan.targets[0]} is taken as {len(labels):,} classes: {shown}{more}")
    elif may_hold_codes:
        for target, values in zip(data.plan.targets, data.targets.T, strict=True):
            yield from _remark_on_codes(target, values)
    dropped = data.rows_without_target
    if dropped:
        named = ", ".join(map(str, dropped[:MAX_ROWS_NAMED])) + (", ..." if len(dropped) > MAX_ROWS_NAMED else "")
        yield Message(f"Dropped: {len(dropped)} row(s) without a target, or cut short (row {named})")
    num_fitted = int((~data.is_held_out).sum())
    if num_fitted < FEW_ROWS:
        yield Message(f"Only {num_fitted} rows are left to fit: expect little more than the constant predictor.")


def _remark_on_codes(target: str, values: np.ndarray) -> Iterator[Message]:
    """Few distinct whole numbers may be codes of classes, or counts; they are taken as numbers unless told."""
    distinct, step = np.unique(values), coarse_step(values)
    counts = Option("likelihood", "zero_inflated" if has_many_zeros(values) else "poisson")
    grid = ""
    if step is not None:
        grid = (
            f" {target} lies on a grid with steps of {step:g}: its log-likelihood is that of a density, and not to be "
            f"compared with those of counts or classes. In Python log_prob(..., round_to={step:g}) is."
        )
    is_whole = np.array_equal(distinct, np.round(distinct))
    if len(distinct) <= min(MAX_CODES, len(values) // 2) and is_whole:
        yield Message(
            f"{target} has {len(distinct)} distinct whole numbers and is taken as numbers; for classes add "
            f"{{option}}, for counts {{option}}.{grid}",
            (Option("likelihood", "categorical"), counts),
        )
    elif np.all(values >= 0) and is_whole and (heavy := heavy_value(values)):
        yield Message(
            f"{target} holds whole numbers and is {heavy[0]:g} in {100 * heavy[1]:.0f} % of the rows; for counts add "
            f"{{option}}.{grid}",
            (counts,),
        )
    elif grid:
        yield Message(grid.strip())
