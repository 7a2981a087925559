"""A frame to the network's inputs and targets, by a plan; scikit-learn's own transformers do the work."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from pritchel.tables.cells import column_of, listed, numbers, texts
from pritchel.tables.messages import TableError
from pritchel.tables.plan import TablePlan


def encode_inputs(plan: TablePlan, frame: pd.DataFrame, first_row: int = 0) -> np.ndarray:
    """Inputs for the rows of a table, columns matched by name; `first_row` is the number of its first row."""
    missing = [column.name for column in plan.columns if column.name not in frame.columns]
    if missing:
        raise TableError(
            f"The table has no column {listed(missing)}, which the model needs. It has {listed(frame.columns)}."
        )
    if not plan.columns:
        return np.zeros((len(frame), 0))
    ready = pd.DataFrame(index=frame.index)
    for column in plan.columns:
        values = column_of(frame, column.name)
        ready[column.name] = numbers(values, first_row) if column.kind == "number" else texts(values)
    return np.asarray(_transformer(plan).transform(ready), float)


def target_values(frame: pd.DataFrame, targets: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The targets as numbers, one column each, and which rows have them all."""
    values = np.column_stack([numbers(column_of(frame, name)) for name in targets])
    return values, np.asarray(np.isfinite(values).all(1))


def class_labels(frame: pd.DataFrame, target: str) -> tuple[np.ndarray, np.ndarray]:
    """The target as texts, (rows, 1), and which rows have it."""
    values = column_of(frame, target)
    return texts(values).to_numpy(object)[:, None], np.asarray(values.notna())


def known_labels(frame: pd.DataFrame, target: str, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The target as the labels that a classifier knows, (rows, 1), and which rows have it."""
    labels, is_known = class_labels(frame, target)
    known = dict(zip(texts(pd.Series(classes.tolist())), classes.tolist(), strict=True))
    wrong = [label for label in labels[is_known, 0] if label not in known]
    if wrong:
        raise TableError(f"{target!r} holds {wrong[0]!r}, a class that the model has not seen.")
    own = np.asarray([known.get(label, classes.tolist()[0]) for label in labels[:, 0]])
    return own[:, None], is_known


def _transformer(plan: TablePlan) -> ColumnTransformer:
    """scikit-learn's transformers, fitted to one row of the recorded values."""
    row = {column.name: column.fill for column in plan.numbers} | {c.name: c.categories[0] for c in plan.categories}
    categories: Any = [list(column.categories) for column in plan.categories]
    encoder = OneHotEncoder(categories=categories, handle_unknown="ignore", sparse_output=False)
    steps = [
        ("numbers", SimpleImputer(strategy="median", keep_empty_features=True), plan.numbers),
        ("was missing", MissingIndicator(features="all"), plan.marked),
        ("categories", encoder, plan.categories),
    ]
    named = [(name, step, [column.name for column in columns]) for name, step, columns in steps if columns]
    return ColumnTransformer(named).fit(pd.DataFrame([row]))
