"""What each column of a table is, and what to do with it.

A plan is made once, from the training table, out of plain values (medians, categories) that a model folder records.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from pritchel.serial import FileError
from pritchel.tables.cells import column_of, is_number, listed, looks_like_dates, numbers, share_of_numbers, texts
from pritchel.tables.messages import TableError

MAX_CATEGORIES = 30
MIN_ROWS_FOR_IDS = 20
ID_NAMES, ID_ENDINGS = ("id", "index", "row", "key"), ("_id", " id", "unnamed: 0")


class LeftOut(Enum):
    """Why a column is not among the inputs; as text, the sentence for it."""

    TOLD = "told"
    CONSTANT = "constant"
    EMPTY = "empty"
    ID_TEXT = "id_text"
    ID_COUNT = "id_count"

    def __str__(self) -> str:
        return SENTENCES[self]

    @property
    def is_id(self) -> bool:
        """Whether the column names its rows."""
        return self in (LeftOut.ID_TEXT, LeftOut.ID_COUNT)

    @classmethod
    def read(cls, text: str) -> "LeftOut":
        """From a model folder: the kind, or, as folders once had it, the sentence."""
        return next((kind for kind, sentence in SENTENCES.items() if sentence == text), None) or cls(text)


SENTENCES = {
    LeftOut.TOLD: "as told",
    LeftOut.CONSTANT: "constant",
    LeftOut.EMPTY: "empty",
    LeftOut.ID_TEXT: "every row has its own value, like an id",
    LeftOut.ID_COUNT: "counts the rows, like an id",
}


class Column(NamedTuple):
    """An input column: what it holds, and what is needed to turn it into numbers."""

    name: str
    kind: Literal["number", "category"]
    fill: float = 0.0  # a number's median, for where it is missing
    is_missing_marked: bool = False  # whether a number has a second input that says "was missing"
    categories: tuple[str, ...] = ()
    summary: dict[str, Any] = {}  # noqa: RUF012 - never changed: what the training rows looked like, for reports

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Column":
        """A column from a spec, its values checked."""
        column = cls(**{**values, "categories": tuple(values["categories"])})
        is_named = isinstance(column.name, str) and column.kind in ("number", "category")
        is_filled = column.kind == "category" or np.isfinite(float(column.fill))
        is_listed = column.kind == "number" or len(column.categories) > 0
        if not (is_named and is_filled and is_listed and all(isinstance(c, str) for c in column.categories)):
            raise ValueError("a column")
        return column._replace(fill=float(column.fill), is_missing_marked=bool(column.is_missing_marked))


class TablePlan(NamedTuple):
    """How a table's columns become the network's inputs and targets."""

    columns: tuple[Column, ...]
    targets: tuple[str, ...]
    left_out: dict[str, LeftOut]

    @property
    def numbers(self) -> list[Column]:
        """Columns of numbers."""
        return [column for column in self.columns if column.kind == "number"]

    @property
    def marked(self) -> list[Column]:
        """Columns of numbers that have a second input, which says where they were missing."""
        return [column for column in self.numbers if column.is_missing_marked]

    @property
    def categories(self) -> list[Column]:
        """Columns of categories."""
        return [column for column in self.columns if column.kind == "category"]

    @property
    def ids(self) -> list[str]:
        """Columns left out because they name their rows."""
        return [name for name, why in self.left_out.items() if why.is_id]

    def feature_names(self) -> list[str]:
        """One name an input of the network."""
        own = [column.name for column in self.numbers]
        marks = [f"{column.name} is missing" for column in self.marked]
        return own + marks + [f"{column.name} = {value}" for column in self.categories for value in column.categories]

    def column_of_feature(self) -> list[str]:
        """The table's column behind each input of the network."""
        names = [column.name for column in (*self.numbers, *self.marked)]
        return names + [column.name for column in self.categories for _ in column.categories]

    def to_json(self) -> dict[str, Any]:
        """Plain values for a model's spec."""
        columns = [{**column._asdict(), "categories": list(column.categories)} for column in self.columns]
        left_out = {name: why.value for name, why in self.left_out.items()}
        return {"columns": columns, "targets": list(self.targets), "left_out": left_out}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "TablePlan":
        """A plan from a spec, its values checked."""
        try:
            columns = tuple(Column.from_json(value) for value in values["columns"])
            targets = tuple(str(name) for name in values["targets"])
            return cls(columns, targets, {str(k): LeftOut.read(v) for k, v in values["left_out"].items()})
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FileError(f"The model's description of its table is not sound ({error}).") from None


def plan_table(
    frame: pd.DataFrame, targets: Sequence[str], drop: Sequence[str] = (), keep: Sequence[str] = ()
) -> TablePlan:
    """What to do with each column of a training table; refuses what would go wrong unseen, and says what to do."""
    if frame.columns.duplicated().any():
        raise TableError(f"Column {listed(frame.columns[frame.columns.duplicated()])} occurs twice. Rename one.")
    for option, names in (("target", targets), ("drop", drop), ("keep", keep)):
        unknown = [name for name in names if name not in frame.columns]
        if unknown:
            told = f"No column {listed(unknown)} ({{option}}). The table has {listed(frame.columns)}."
            raise TableError(told, option)
    columns, left_out = [], {}
    for name in frame.columns:
        if name in targets:
            continue
        why = LeftOut.TOLD if name in drop else None if name in keep else _reason_to_leave_out(column_of(frame, name))
        if why is None:
            columns.append(_plan_column(column_of(frame, name)))
        else:
            left_out[name] = why
    if not columns:
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out.items()) or "it has only targets"
        raise TableError(
            f"No column is left to predict from ({reasons}). Use {{option}} to use one all the same.", "keep"
        )
    return TablePlan(tuple(columns), tuple(targets), left_out)


def plan_arrays(estimator: Any) -> TablePlan:
    """Columns for a model that was fitted to arrays: its feature names, or x1, x2, ..."""
    standardizer = estimator.posterior_.standardizer
    num_targets = len(standardizer.target_mean)
    targets = ["y"] if num_targets == 1 else [f"y{index + 1}" for index in range(num_targets)]
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        names = [f"x{index + 1}" for index in range(estimator.n_features_in_)]
    means = zip(names, standardizer.input_mean, strict=True)
    return TablePlan(tuple(Column(str(name), "number", float(mean)) for name, mean in means), tuple(targets), {})


def holds_classes(frame: pd.DataFrame, targets: Sequence[str]) -> bool:
    """Whether the target is one column of texts or of yes and no: classes rather than numbers."""
    if len(targets) != 1 or targets[0] not in frame.columns:
        return False
    values = column_of(frame, targets[0])
    has_numbers = pd.api.types.is_numeric_dtype(values) or share_of_numbers(values) > 0.8
    return pd.api.types.is_bool_dtype(values) or not (has_numbers or looks_like_dates(values))


def _reason_to_leave_out(values: pd.Series) -> LeftOut | None:
    present = values.dropna()
    num_distinct = present.nunique()
    if num_distinct <= 1 and len(present) == len(values):
        return LeftOut.CONSTANT
    if len(present) == 0:
        return LeftOut.EMPTY
    if num_distinct < len(values) or len(values) < MIN_ROWS_FOR_IDS:
        return None
    is_text = not pd.api.types.is_numeric_dtype(values) and share_of_numbers(values) < 0.8
    if is_text and not looks_like_dates(values):
        return LeftOut.ID_TEXT
    if pd.api.types.is_integer_dtype(values):
        name = str(values.name).lower()
        is_named_id = name in ID_NAMES or name.endswith(ID_ENDINGS)
        if is_named_id or np.all(np.diff(np.sort(np.asarray(present))) == 1):
            return LeftOut.ID_COUNT
    return None


def _plan_column(values: pd.Series) -> Column:
    name, present = str(values.name), values.dropna()
    if len(present) == 0:
        raise TableError(f"Column {name!r} is empty: there is nothing in it to predict from.")
    if looks_like_dates(values):
        raise TableError(
            f"Column {name!r} holds dates or times (such as {present.iloc[0]}). Turn it into numbers that mean "
            "something to the target, such as days since a start, month or hour, or leave it out with {option}.",
            "drop",
            name,
        )
    num_missing = len(values) - len(present)
    if pd.api.types.is_numeric_dtype(values) or share_of_numbers(values) == 1:
        found = numbers(values)
        found = found[~np.isnan(found)]
        quantiles = np.quantile(found, [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1])
        summary = {"missing": num_missing, "quantiles": quantiles.tolist(), "mean": float(found.mean())}
        return Column(name, "number", float(np.median(found)), num_missing > 0, (), summary)
    _refuse_half_numbers(values)
    counts = texts(values).value_counts()
    kept = list(map(str, counts.index[:MAX_CATEGORIES]))
    shown = {value: int(count) for value, count in zip(kept[:10], counts, strict=False)}
    summary = {"missing": num_missing, "distinct": len(counts), "counts": shown}
    return Column(name, "category", 0.0, False, tuple(sorted(kept)), summary)


def _refuse_half_numbers(values: pd.Series) -> None:
    """A column of numbers with a few words in it is a slip, not a set of categories."""
    if 0.8 < share_of_numbers(values) < 1:
        where = int(np.flatnonzero(~is_number(values) & np.asarray(values.notna()))[0])
        cell = values.iloc[where]
        raise TableError(
            f"Column {values.name!r} holds numbers, but row {where + 1} is {cell!r}. Mend it, or say with {{option}} "
            "that this means missing.",
            "na_values",
            cell,
        )
