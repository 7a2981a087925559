"""`GroupedModel`: one model for each value of a column, as of stores or sensors, in one folder."""

import copy
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import pandas as pd

from pritchel.estimators.saved_labels import unpack_labels
from pritchel.serial import FileError
from pritchel.tables.answers import PARTS, class_answers, number_answers, region_answers
from pritchel.tables.cells import MISSING, as_known, column_of, listed, texts
from pritchel.tables.columns import TablePlan
from pritchel.tables.encode import encode_inputs
from pritchel.tables.group_folder import folder_of, is_groups_folder, read_index
from pritchel.tables.loaded import LoadedTable
from pritchel.tables.messages import TableError
from pritchel.tables.read import named

if TYPE_CHECKING:
    from pritchel.tables.model import TableModel

MAX_LOADED = 4096  # models in memory at a time

Unknown = Literal["raise", "missing"]


class GroupedModel:
    """The fitted models of a folder that `fit_groups` wrote: rows are answered by the model of their group.

    All groups have the same inputs, planned over the whole table. A model is loaded when its first row comes.

    Parameters
    ----------
    path : path
        The folder.

    Attributes
    ----------
    by : str
        The column that says which group a row is of.
    groups : list of str
        The groups that have a model.
    failed : dict
        Groups that have none, and why.
    index : dict
        What the folder says of its groups: rows, units in use, scores, warnings.
    plan_ : TablePlan
        How columns become inputs.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from pritchel import GroupedModel, HorseshoeRegressor, TableModel, fit_groups
    >>> load = [float(each) for each in range(20)]
    >>> pumps = pd.DataFrame({"load": load * 2, "pump": ["P1"] * 20 + ["P2"] * 20})
    >>> pumps["heat"] = [*load, *(60 - 2 * each for each in load)]
    >>> how = TableModel(HorseshoeRegressor.fast(training__num_steps=500))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = fit_groups(pumps, "heat", "pump", f"{folder}/pumps", model=how).path
    ...     models = GroupedModel.load(path)
    ...     print(models.groups, models.summary()["rows"].tolist())
    ['P1', 'P2'] [20, 20]
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        self.index: dict[str, Any] = read_index(self.path)
        self.by: str = self.index["by"]
        self.groups: list[str] = [group["name"] for group in self.index["groups"]]
        self.failed: dict[str, str] = self.index["failed"]
        self.plan_ = TablePlan.from_json(self.index["table"])
        self._known = frozenset(self.groups)
        self._loaded = functools.lru_cache(MAX_LOADED)(self._load)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The models of a folder."""
        return cls(path)

    def model(self, group: str) -> "TableModel":
        """One group's model."""
        from pritchel.tables.model import TableModel

        if group not in self._known:
            raise TableError(self._no_model(group))
        return TableModel.load(folder_of(self.path, group))

    def _load(self, group: str) -> LoadedTable:
        model = LoadedTable.load(folder_of(self.path, group))
        if model.plan_.feature_names() != self.plan_.feature_names():
            raise FileError(f"{self.path} cannot be loaded: the inputs of {group!r} are not those of the others.")
        return model

    def summary(self) -> pd.DataFrame:
        """A row a group: its rows, units in use and scores on the rows held out, beside the constant predictor's."""
        rows = []
        for group in self.index["groups"]:
            first = {name: value for name, value in (group["scores"] or [{}])[0].items() if isinstance(value, float)}
            rows.append({"rows": group["rows"], "units": max(map(sum, group["units_kept"]), default=0), **first})
        return pd.DataFrame(rows, index=pd.Index(self.groups, name=self.by))

    def reading(self, decimal: str | None = None, na_values: Sequence[str] = ()) -> Self:
        """The same models for a file with another decimal mark, or more words for missing."""
        other = copy.copy(self)
        other.plan_ = self.plan_.read_with(decimal, na_values)
        return other

    def predict(
        self,
        frame: pd.DataFrame,
        quantiles: Sequence[float] = (),
        first_row: int = 0,
        *,
        split: bool = False,
        unknown: Unknown = "raise",
    ) -> pd.DataFrame:
        """As `TableModel.predict`, each row by the model of its group.

        A row of a group without a model is an error that names it; with `unknown="missing"` its cells are empty. Of
        classes, those that a group has never seen have probability zero there.
        """
        if not all(0 < level < 1 for level in quantiles):
            raise TableError(f"{{option}} must lie strictly between 0 and 1, as in 0.9; got {quantiles}.", "quantiles")

        def answer(model: LoadedTable, inputs: np.ndarray) -> dict[str, np.ndarray]:
            posterior = model.estimator_.posterior_
            if model.has_classes:
                return class_answers(posterior, inputs, model.estimator_.classes_, split)
            return number_answers(posterior, inputs, self.plan_.targets, quantiles, split)

        return self._answers(frame, first_row, unknown, answer)

    def region(
        self, frame: pd.DataFrame, coverage: float, first_row: int = 0, *, unknown: Unknown = "raise"
    ) -> pd.DataFrame:
        """The smallest set that holds a new observation, in words, by the model of each row's group."""

        def answer(model: LoadedTable, inputs: np.ndarray) -> dict[str, list[str]]:
            return region_answers(model.estimator_.posterior_, inputs, self.plan_.targets, coverage)

        return self._answers(frame, first_row, unknown, answer)

    @property
    def has_classes(self) -> bool:
        """Whether they predict classes."""
        return bool(self.index["classes"])

    @functools.cached_property
    def labels(self) -> np.ndarray:
        """The classes of all groups; a folder of an earlier release has them with its models."""
        if self.index.get("labels") is not None:
            return unpack_labels(self.index["labels"])
        return np.unique(np.concatenate([self._loaded(group).estimator_.classes_ for group in self.groups]))

    def _answers(
        self,
        frame: pd.DataFrame,
        first_row: int,
        unknown: Unknown,
        answer: Callable[[LoadedTable, np.ndarray], dict[str, Any]],
    ) -> pd.DataFrame:
        frame = named(frame)
        inputs = encode_inputs(self.plan_, frame, first_row)
        parts = []
        for group, rows in self._rows(frame, first_row, unknown):
            parts.append(pd.DataFrame(answer(self._loaded(group), inputs[rows]), index=rows))
        if not parts:  # an empty table still has its columns
            parts = [pd.DataFrame(answer(self._loaded(self.groups[0]), np.zeros((1, inputs.shape[1])))).iloc[:0]]
        found = pd.concat(parts)
        if self.has_classes:  # the same columns, whichever groups are asked for
            chances = [f"p_{label}" for label in self.labels]
            found = found.reindex(columns=["class", *chances, *(name for name in PARTS if name in found.columns)])
            found[chances] = found[chances].fillna(0.0)
        return found.reindex(np.arange(len(frame))).set_index(frame.index)

    def _rows(self, frame: pd.DataFrame, first_row: int, unknown: Unknown) -> Iterator[tuple[str, np.ndarray]]:
        """Each group of a table, and the places of its rows."""
        if self.by not in frame.columns:
            raise TableError(f"The table has no column {self.by!r}, which says what group a row is of.")
        given = texts(column_of(frame, self.by, self.plan_.na_values))
        names = np.asarray(as_known(given, self.groups), object)
        strange = np.flatnonzero(np.asarray(pd.isna(names)))
        if len(strange) and unknown == "raise":
            where = int(strange[0])
            raise TableError(
                f"Row {first_row + where + 1}: {self._no_model(given.iloc[where])} Leave such rows out "
                f"({len(strange):,} of this table), or have their cells empty with {{option}}.",
                "unknown",
                "missing",
            )
        order = np.argsort(names[~pd.isna(names)].astype(str), kind="stable")
        places = np.flatnonzero(~np.asarray(pd.isna(names)))[order]
        for rows in np.split(places, np.flatnonzero(names[places][1:] != names[places][:-1]) + 1):
            if len(rows):
                yield str(names[rows[0]]), rows

    def _no_model(self, group: str) -> str:
        if group in self.failed:
            return f"{self.by} {group!r} has no model, since its fit failed: {self.failed[group]}"
        if group == MISSING:
            return f"{self.by} is missing, so no model is known."
        return f"{self.by} {group!r} has no model: it was not in the table of the fit, which had {listed(self.groups)}."


def load_to_ask(path: str | os.PathLike[str]) -> LoadedTable | GroupedModel:
    """The answers of a folder, of one model or of one a group; with neither scikit-learn nor JAX."""
    return GroupedModel.load(path) if is_groups_folder(Path(path)) else LoadedTable.load(path)
