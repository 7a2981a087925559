"""A frame to the network's inputs and targets, by a plan."""

import numpy as np
import pandas as pd

from pritchel.tables.cells import as_known, column_of, count_texts, listed, numbers, texts
from pritchel.tables.columns import TablePlan
from pritchel.tables.messages import TableError


def encode_inputs(plan: TablePlan, frame: pd.DataFrame, first_row: int = 0) -> np.ndarray:
    """Inputs for the rows of a table, columns matched by name; `first_row` is the number of its first row.

    Numbers with their gaps filled, a flag for each gap of a column that has them, and a flag for each known category.
    """
    if len(frame) == 0:
        return np.zeros((0, len(plan.feature_names())))
    cells = known_cells(plan, frame, first_row)
    inputs = [cells[column.name].fillna(column.fill) for column in plan.numbers]
    inputs += [cells[column.name].isna() for column in plan.marked]
    for column in plan.categories:
        place = pd.Categorical(cells[column.name], categories=list(column.categories)).codes  # -1: none that is known
        inputs += [place == index for index in range(len(column.categories))]
    return np.column_stack(inputs).astype(float) if inputs else np.zeros((len(frame), 0))


def known_cells(plan: TablePlan, frame: pd.DataFrame, first_row: int = 0) -> pd.DataFrame:
    """The plan's columns of a table as the model knows them: floats, NaN where missing; categories, None if unseen."""
    missing = [column.name for column in plan.columns if column.name not in frame.columns]
    if missing:
        raise TableError(
            f"The table has no column {listed(missing)}, which the model needs. It has {listed(frame.columns)}."
        )
    known = {}
    for column in plan.columns:
        values = column_of(frame, column.name, plan.na_values)
        if column.kind == "number":
            known[column.name] = numbers(values, plan.spelling(column.name), first_row)
        else:
            known[column.name] = as_known(texts(values), column.categories)
    return pd.DataFrame(known, index=frame.index)


def target_values(plan: TablePlan, frame: pd.DataFrame, first_row: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The targets as numbers, one column each, and which rows have them all."""
    columns = [column_of(frame, name, plan.na_values) for name in plan.targets]
    values = np.column_stack([numbers(column, plan.spelling(str(column.name)), first_row) for column in columns])
    return values, np.asarray(np.isfinite(values).all(1))


def class_labels(plan: TablePlan, frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """The target as texts, (rows, 1), and which rows have it."""
    values = column_of(frame, plan.targets[0], plan.na_values)
    labels = as_known(texts(values), list(count_texts(values)))
    return labels.to_numpy(object)[:, None], np.asarray(values.notna())


def known_labels(plan: TablePlan, frame: pd.DataFrame, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The target as the labels that a classifier knows, (rows, 1), and which rows have it."""
    values = column_of(frame, plan.targets[0], plan.na_values)
    is_known = np.asarray(values.notna())
    by_text = dict(zip(texts(pd.Series(classes.tolist())), classes.tolist(), strict=True))
    found = as_known(texts(values), list(by_text))
    wrong = np.flatnonzero(is_known & np.asarray(found.isna()))
    if len(wrong):
        raise TableError(
            f"{plan.targets[0]!r} holds {str(values.iloc[wrong[0]])!r} in row {wrong[0] + 1}, a class that the model "
            f"has not seen. It knows {listed(by_text)}."
        )
    own = np.asarray([by_text.get(label, classes.tolist()[0]) for label in found])
    return own[:, None], is_known


def known_rows(plan: TablePlan, frame: pd.DataFrame, labels: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Inputs, and targets of shape (rows, targets), of the rows that have all targets; `labels` are a classifier's."""
    missing = [name for name in plan.targets if name not in frame.columns]
    if missing:
        raise TableError(f"The table has no column {listed(missing)} to compare predictions with.")
    values, is_known = _targets(plan, frame, labels)
    if not is_known.any():
        raise TableError(f"No row has {listed(plan.targets)}: there is nothing to score.")
    return encode_inputs(plan, frame)[is_known], values[is_known]


def known_row_numbers(plan: TablePlan, frame: pd.DataFrame, labels: np.ndarray | None) -> np.ndarray:
    """The numbers in the table, from 1, of the rows that `known_rows` gives."""
    return np.flatnonzero(_targets(plan, frame, labels)[1]) + 1


def _targets(plan: TablePlan, frame: pd.DataFrame, labels: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    return target_values(plan, frame) if labels is None else known_labels(plan, frame, labels)


def one_or_more(values: np.ndarray) -> np.ndarray:
    """One target as a vector, several as they are."""
    return values[:, 0] if values.shape[1] == 1 else values
