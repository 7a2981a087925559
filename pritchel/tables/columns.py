"""What a model folder records of a table: its columns, targets and those left out, as plain values."""

from collections.abc import Sequence
from enum import Enum
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from pritchel.serial import FileError
from pritchel.tables.messages import TableError
from pritchel.tables.spelling import DECIMALS, Spelling

LISTS = ("drop", "keep", "category", "number")


def names_of(value: str | Sequence[str]) -> list[str]:
    """One name or several as a list."""
    return [value] if isinstance(value, str) else list(value)


class Told(NamedTuple):
    """What a user has said about the columns of a table."""

    drop: Sequence[str] = ()
    keep: Sequence[str] = ()
    category: Sequence[str] = ()
    number: Sequence[str] = ()
    weight: str | None = None
    decimal: str | None = None
    na_values: Sequence[str] = ()

    @classmethod
    def by(cls, model: Any) -> "Told":
        """What the arguments of a model say."""
        lists = {name: names_of(getattr(model, name)) for name in (*LISTS, "na_values")}
        return cls(**lists, weight=model.weight, decimal=model.decimal)

    def named(self) -> list[tuple[str, Sequence[str]]]:
        """Columns by the argument that names them."""
        weight = () if self.weight is None else (self.weight,)
        lists = [(name, getattr(self, name)) for name in LISTS]
        return [*lists, ("weight", weight)]


NOTHING_TOLD = Told()


class LeftOut(Enum):
    """Why a column is not among the inputs; as text, the sentence for it."""

    TOLD = "told"
    CONSTANT = "constant"
    EMPTY = "empty"
    ID_TEXT = "id_text"
    ID_COUNT = "id_count"
    WEIGHT = "weight"

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
    LeftOut.WEIGHT: "weighs the rows",
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
    spellings: dict[str, Spelling] = {}  # noqa: RUF012 - never changed: of columns and targets that are not plain
    na_values: tuple[str, ...] = ()  # texts that mean missing, besides the usual ones

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

    def spelling(self, name: str) -> Spelling:
        """How a column or target spells numbers."""
        return self.spellings.get(name, "plain")

    def read_with(
        self, decimal: str | None = None, na_values: Sequence[str] = (), targets: Sequence[str] = ()
    ) -> "TablePlan":
        """The same for a file with another decimal mark, more words for missing, or other names for the targets."""
        if targets:
            return self._with_targets(targets).read_with(decimal, na_values)
        check_decimal(decimal)
        own = (*(column.name for column in self.numbers), *self.targets)
        told = {} if decimal is None else {n: DECIMALS[decimal] for n in own if self.spelling(n) != "truth"}
        return self._replace(spellings=self.spellings | told, na_values=(*self.na_values, *na_values))

    def _with_targets(self, names: Sequence[str]) -> "TablePlan":
        if len(names) != len(self.targets):
            known = ", ".join(self.targets)
            raise TableError(
                f"{{option}} must name {len(self.targets)} column(s), for {known}; got {len(names)}.", "target"
            )
        if taken := {*names} & {column.name for column in self.columns}:
            raise TableError(f"{{option}} names {min(taken)!r}, which is an input of the model.", "target")
        spelled = {new: self.spelling(old) for new, old in zip(names, self.targets, strict=True)}
        return self._replace(targets=tuple(names), spellings=self.spellings | spelled)

    def feature_names(self) -> list[str]:
        """One name an input of the network."""
        own = [column.name for column in self.numbers]
        marks = [f"{column.name} is missing" for column in self.marked]
        return own + marks + [f"{column.name} = {value}" for column in self.categories for value in column.categories]

    def column_of_feature(self) -> list[str]:
        """The table's column behind each input of the network."""
        names = [column.name for column in (*self.numbers, *self.marked)]
        return names + [column.name for column in self.categories for _ in column.categories]

    def features_of_column(self) -> dict[str, list[int]]:
        """The inputs of the network that each of the table's columns makes."""
        found: dict[str, list[int]] = {}
        for index, name in enumerate(self.column_of_feature()):
            found.setdefault(name, []).append(index)
        return found

    def to_json(self) -> dict[str, Any]:
        """Plain values for a model's spec."""
        columns = [{**column._asdict(), "categories": list(column.categories)} for column in self.columns]
        left_out = {name: why.value for name, why in self.left_out.items()}
        how = {"spellings": dict(self.spellings), "na_values": list(self.na_values)}
        return {"columns": columns, "targets": list(self.targets), "left_out": left_out, **how}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "TablePlan":
        """A plan from a spec, its values checked."""
        try:
            columns = tuple(Column.from_json(value) for value in values["columns"])
            targets = tuple(str(name) for name in values["targets"])
            left_out = {str(name): LeftOut.read(why) for name, why in values["left_out"].items()}
            spellings = values.get("spellings", _spellings_once(columns))
            if not set(spellings.values()) <= set(get_args(Spelling)):
                raise ValueError("spellings")
            na_values = tuple(str(word) for word in values.get("na_values", ()))
            return cls(columns, targets, left_out, dict(spellings), na_values)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FileError(f"The model's description of its table is not sound ({error}).") from None


def _spellings_once(columns: Sequence[Column]) -> dict[str, Spelling]:
    """Of a folder from before they were recorded: a column of zeros and ones may have been one of yes and no."""
    quantiles = {column.name: column.summary.get("quantiles", [None]) for column in columns}
    return {name: "truth" for name, values in quantiles.items() if (values[0], values[-1]) == (0, 1)}


def check_decimal(decimal: str | None) -> None:
    """A decimal mark is a point or a comma."""
    if decimal is not None and decimal not in DECIMALS:
        raise TableError(f"{{option}} must be '.' or ','; got {decimal!r}.", "decimal")
