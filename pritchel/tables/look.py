"""A first look at a table in parts: enough of its rows, and counts of all, to plan its columns without holding it."""

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pritchel.checks import LARGEST
from pritchel.data.parts import Parts, kind_of
from pritchel.tables.cells import MISSING, PLACES, column_of, counted_texts, texts, typed
from pritchel.tables.columns import Column, LeftOut, TablePlan, Told
from pritchel.tables.layout import refuse_twice
from pritchel.tables.messages import TableError
from pritchel.tables.plan import MAX_CATEGORIES, plan_table

MAX_ROWS, MIN_ROWS, MAX_CELLS = 20_000, 1000, 2_000_000
MAX_COUNTED = 100_000  # distinct texts of a column that are counted
MAX_WITNESSES = 40  # distinct texts of a column of which a row is kept


class LookedTable(NamedTuple):
    """A table by its parts, and what one pass over them has told.

    `sample` has rows at random, and besides them those with the least, the greatest, a missing and every rare value of
    each column: whatever is in the table is in it too.
    """

    parts: Parts
    sample: pd.DataFrame
    num_rows: int
    counts: dict[str, Counter[str]]  # of columns of texts; those with too many distinct ones are not here
    num_missing: dict[str, int]

    def plan(self, targets: list[str], told: Told) -> TablePlan:
        """What each column is, categories by their counts in the whole table."""
        plan = plan_table(self.sample, targets, told)
        columns = [self._counted(column, told) for column in plan.columns]
        ids = {column.name for column in columns if self._counts_rows(column, told)}
        if ids and len(ids) < len(columns):
            columns = [column for column in columns if column.name not in ids]
            spellings = {name: own for name, own in plan.spellings.items() if name not in ids}
            left_out = plan.left_out | dict.fromkeys(ids, LeftOut.ID_COUNT)
            plan = plan._replace(left_out=left_out, spellings=spellings)
        return plan._replace(columns=tuple(columns))

    def labels(self, target: str, told: Told) -> list[str]:
        """The classes of a target, as texts, each in its commonest way to write it."""
        if target in self.counts:
            return list(self._texts(target, told))
        values = column_of(self.sample, target, told.na_values)
        return list(counted_texts(texts(values.dropna()).value_counts()))

    def _texts(self, name: str, told: Told) -> dict[str, int]:
        own = self.counts[name]
        cleaned = texts(column_of(pd.DataFrame({name: pd.Series([*own], dtype=object)}), name, told.na_values))
        found: Counter[str] = Counter()
        for text, count in zip(cleaned, own.values(), strict=True):
            found[text] += count
        return counted_texts(pd.Series(dict(found.most_common())))

    def _counted(self, column: Column, told: Told) -> Column:
        words = {word: self.counts.get(column.name, {}).get(word, 0) for word in told.na_values}
        missing = {"missing": self.num_missing[column.name] + sum(words.values())}
        if column.kind == "number":
            return column._replace(summary=column.summary | missing)
        if column.name not in self.counts:
            return column
        counts = self._texts(column.name, told)
        if missing["missing"]:
            counts[MISSING] = missing["missing"]
        counts = dict(sorted(counts.items(), key=lambda item: -item[1]))
        kept = list(counts)[:MAX_CATEGORIES]
        summary = missing | {"distinct": len(counts), "counts": {value: counts[value] for value in kept[:10]}}
        return column._replace(categories=tuple(sorted(kept)), summary=summary)

    def _counts_rows(self, column: Column, told: Told) -> bool:
        """Whether whole numbers run from the first row to the last, as far as can be seen."""
        if column.kind != "number" or column.name in (*told.keep, *told.number):
            return False
        values: Any = typed(column_of(self.sample, column.name, told.na_values), "plain")
        if not pd.api.types.is_integer_dtype(values) or self.num_rows < 2 * MIN_ROWS:
            return False
        return int(values.max()) - int(values.min()) + 1 == self.num_rows and values.nunique() > 0.99 * len(values)


def look_through(parts: Parts, on_rows: Callable[[int], None] | None = None) -> LookedTable:
    """Read all rows once. `on_rows` is told how many there were so far."""
    refuse_twice(list(parts.names), "the table")
    look = _Look(max(min(MAX_ROWS, MAX_CELLS // max(len(parts.names), 1)), MIN_ROWS))
    for where, row, batch in parts.read():
        look.add(where, row, batch)
        if on_rows is not None:
            on_rows(look.num_rows)
    if look.num_rows == 0:
        raise TableError("The table has no rows; a fit needs at least two.")
    return LookedTable(parts, look.sample(), look.num_rows, look.counts, look.num_missing)


def frame_of(batch: Any) -> pd.DataFrame:
    """A batch as a data frame of its columns; an index without a name, which pandas writes beside them, is left out."""
    frame = batch.to_pandas(ignore_metadata=True)
    return frame.drop(columns=[name for name in frame.columns if str(name).startswith("__index_level_")])


def plain_numbers(column: Any) -> np.ndarray | None:
    """A column of texts as floats, NaN where it has nothing, if all others are plain numbers: fast, and for most."""
    import pyarrow as pa
    from pyarrow import compute

    made: Any = compute  # whose functions are made when it is imported
    filled = made.if_else(made.not_equal(column, ""), column, pa.scalar(None, column.type))
    try:
        return filled.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None


class _Look:
    """What is kept of the batches so far."""

    def __init__(self, most: int):
        self.most, self.rng, self.num_rows = most, np.random.default_rng(0), 0
        self.drawn: list[tuple[np.ndarray, Any]] = []  # rows with small random keys, and those
        self.limit = 1.0
        self.witnesses: dict[tuple[str, Any], Any] = {}
        self.ends: dict[str, tuple[float, float]] = {}
        self.counts: dict[str, Counter[str]] = {}
        self.num_missing: Counter[str] = Counter()
        self.uncounted: set[str] = set()
        self.words: set[str] = set()  # columns of texts that spell no numbers
        self.places: list[tuple[str, int, int]] = []  # of batches: the part, the row there, and the row of all

    def add(self, where: str, first_row: int, batch: Any) -> None:
        """Take a batch in."""
        if batch.num_rows == 0:
            return
        self.places.append((where, first_row, self.num_rows))
        frame: Any = frame_of(batch)
        frame.index = pd.RangeIndex(self.num_rows, self.num_rows + len(frame))
        self.num_rows += len(frame)
        keys = self.rng.random(len(frame))
        self.drawn.append((keys[keys < self.limit], frame[keys < self.limit]))
        if sum(len(own) for own, _ in self.drawn) > 2 * self.most:
            self._thin()
        for name in frame.columns:
            column, kind = batch.column(name), kind_of(batch.column(name).type)
            values = plain_numbers(column) if kind == "texts" and name not in self.words else None
            is_clean = kind != "texts" or values is not None
            cells = frame[name] if is_clean else column_of(frame, name)
            is_missing = np.asarray(cells.isna()) if values is None else np.isnan(values)
            self.num_missing[name] += int(is_missing.sum())
            if is_missing.any() and (name, None) not in self.witnesses:
                self.witnesses[name, None] = frame[is_missing].head(1)
            if kind in ("numbers", "bool"):
                self._numbers(name, frame[name].to_numpy(float, na_value=np.nan), frame)
            elif kind == "texts":
                self._numbers(name, self._spelled(name, cells) if values is None else values, frame)
                self._texts(name, column, frame)

    def sample(self) -> pd.DataFrame:
        """All that was kept, as one table in its order, each row once and known by its place."""
        self._thin()
        kept: Any = pd.concat([self.drawn[0][1], *self.witnesses.values()])
        kept = kept[~kept.index.duplicated()].sort_index()
        batches = np.searchsorted([first for _, _, first in self.places], kept.index, side="right") - 1
        found = [(self.places[batch], row) for batch, row in zip(batches, kept.index, strict=True)]
        names = [f"row {own + row - first + 1} of {where}" for (where, own, first), row in found]
        return kept.set_axis(pd.Index(names, dtype=object, name=PLACES), axis=0)

    def _thin(self) -> None:
        keys = np.concatenate([own for own, _ in self.drawn])
        frame: Any = pd.concat([own for _, own in self.drawn])
        if len(keys) > self.most:
            self.limit = float(np.partition(keys, self.most)[self.most])
            frame, keys = frame[keys < self.limit], keys[keys < self.limit]
        self.drawn = [(keys, frame)]

    def _spelled(self, name: str, cells: pd.Series) -> np.ndarray:
        """The numbers of a column of texts, which is not looked at again once a batch of it has none."""
        if name in self.words:
            return np.full(len(cells), np.nan)
        found: Any = pd.to_numeric(cells, errors="coerce")
        values = found.to_numpy(float, na_value=np.nan)
        if np.isnan(values).all() and cells.notna().any():
            self.words.add(name)
        return values

    def _numbers(self, name: str, values: np.ndarray, frame: Any) -> None:
        values = np.where(np.abs(values) <= LARGEST, values, np.nan)
        if np.isnan(values).all():
            return
        low, high = int(np.nanargmin(values)), int(np.nanargmax(values))
        least, most = self.ends.get(name, (np.inf, -np.inf))
        for end, row, is_new in (("low", low, values[low] < least), ("high", high, values[high] > most)):
            if is_new:
                self.witnesses[name, end] = frame.iloc[[row]]
        self.ends[name] = (min(least, values[low]), max(most, values[high]))

    def _texts(self, name: str, column: Any, frame: Any) -> None:
        if name in self.uncounted:
            return
        counts = self.counts.setdefault(name, Counter())
        found = column.value_counts()
        values, numbers = (found.field(part).to_pylist() for part in ("values", "counts"))
        for text, count in zip(values, numbers, strict=True):
            if text is None:
                continue
            if text not in counts and len(counts) < MAX_WITNESSES:
                self.witnesses[name, f"= {text}"] = frame[(frame[name] == text).to_numpy()].head(1)
            counts[text] += count
        if len(counts) > MAX_COUNTED:
            del self.counts[name]
            self.uncounted.add(name)
