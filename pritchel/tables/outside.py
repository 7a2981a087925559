"""Where a table is unlike the rows that a model was fitted to: what lies outside, was never seen, or is missing."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pritchel.tables.cells import MISSING, column_of, texts
from pritchel.tables.columns import Column, TablePlan
from pritchel.tables.encode import known_cells

MAX_COLUMNS, MAX_SHOWN = 8, 5


class Outside(NamedTuple):
    """How many cells of a column are unlike those of the fit."""

    num_rows: int = 0
    num_missing: int = 0
    num_far: int = 0
    farthest: float = 0.0  # the value furthest beyond the range, and its row, numbered from 1
    row: int = 0
    unseen: Counter[str] = Counter()  # noqa: RUF012 - never changed

    def joined(self, other: "Outside", column: Column) -> "Outside":
        """Counts of two pieces of a table."""
        further = max((self, other), key=lambda one: one.num_far and _beyond(column, np.asarray([one.farthest]))[0])
        return Outside(
            self.num_rows + other.num_rows,
            self.num_missing + other.num_missing,
            self.num_far + other.num_far,
            further.farthest,
            further.row,
            self.unseen + other.unseen,
        )


def outside_cells(plan: TablePlan, frame: pd.DataFrame, first_row: int = 0) -> tuple[pd.DataFrame, dict[str, Outside]]:
    """Which cells of the model's columns are outside, (rows, columns), and their counts by column."""
    known = known_cells(plan, frame, first_row)
    flags, counts = {}, {}
    for column in plan.columns:
        values: Any = known[column.name]
        if column.kind == "number":
            flags[column.name], counts[column.name] = _of_numbers(column, values.to_numpy(float), first_row)
        else:
            raw = texts(column_of(frame, column.name, plan.na_values))
            flags[column.name], counts[column.name] = _of_categories(values, raw)
    return pd.DataFrame(flags, index=frame.index, dtype=bool), counts


def joined_counts(plan: TablePlan, first: dict[str, Outside], second: dict[str, Outside]) -> dict[str, Outside]:
    """The counts of two pieces of a table as those of one."""
    return {c.name: first.get(c.name, Outside()).joined(second[c.name], c) for c in plan.columns}


def _of_numbers(column: Column, values: np.ndarray, first_row: int) -> tuple[np.ndarray, Outside]:
    is_missing = np.isnan(values)
    beyond = _beyond(column, np.where(is_missing, column.fill, values))
    is_far, where = beyond > 0, int(np.argmax(beyond)) if len(beyond) else 0
    worst = (float(values[where]), first_row + where + 1) if is_far.any() else (0.0, 0)
    flags = is_far | (is_missing & (not column.is_missing_marked))
    return flags, Outside(len(values), int(is_missing.sum()), int(is_far.sum()), *worst)


def _beyond(column: Column, values: np.ndarray) -> np.ndarray:
    """How far each value lies beyond the range of the fit; 0 within it, or if none is on record."""
    if not column.summary:
        return np.zeros(len(values))
    low, high = column.summary["quantiles"][0], column.summary["quantiles"][-1]
    return np.maximum(np.maximum(low - values, values - high), 0)


def _of_categories(known: pd.Series, raw: pd.Series) -> tuple[np.ndarray, Outside]:
    is_unseen = np.asarray(known.isna())
    is_missing = np.asarray(raw == MISSING)
    unseen = Counter(raw[is_unseen & ~is_missing].tolist())
    return is_unseen, Outside(len(raw), int(is_missing.sum()), unseen=unseen)


def outside_remarks(plan: TablePlan, counts: dict[str, Outside]) -> Iterator[str]:
    """A sentence a column that has something outside, for the first of them."""
    said = [text for column in plan.columns for text in _sentences(column, counts[column.name])]
    yield from said[:MAX_COLUMNS]
    if len(said) > MAX_COLUMNS:
        yield f"{len(said) - MAX_COLUMNS:,} more columns are unlike the rows of the fit."


def _sentences(column: Column, count: Outside) -> Iterator[str]:
    of_rows = f"of {count.num_rows:,} row(s)"
    is_known_to_miss = column.is_missing_marked or MISSING in column.categories
    if count.num_rows and count.num_missing == count.num_rows:
        yield f"{column.name!r} is missing in every row."
    elif count.num_missing and not is_known_to_miss:
        yield f"{column.name!r} is missing in {count.num_missing:,} {of_rows}; in the rows of the fit it never was."
    if count.num_far:
        low, high = column.summary["quantiles"][0], column.summary["quantiles"][-1]
        yield (
            f"{column.name!r} lies outside the range of the fit, {low:g} to {high:g}, in {count.num_far:,} {of_rows}; "
            f"the furthest is {count.farthest:g} in row {count.row}."
        )
    if count.unseen:
        num, shown = sum(count.unseen.values()), count.unseen.most_common(MAX_SHOWN)
        alike = {known.lower(): known for known in column.categories}
        named = [f"{text!r} ({rows}{_like(alike.get(text.lower()))})" for text, rows in shown]
        more = f" and {len(count.unseen) - MAX_SHOWN:,} more" if len(count.unseen) > MAX_SHOWN else ""
        what = f"{', '.join(named)}{more}"
        yield f"{column.name!r} holds categories that the model does not know in {num:,} {of_rows}: {what}."


def _like(known: str | None) -> str:
    return "" if known is None else f"; it knows {known!r}"
