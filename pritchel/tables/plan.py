"""What each column of a table is, and what to do with it.

A plan is made once, from the training table, out of plain values (medians, categories) that a model folder records.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pritchel import checks
from pritchel.tables import cells
from pritchel.tables.cells import column_of, listed, looks_like_dates, numbers, share_of_numbers
from pritchel.tables.columns import NOTHING_TOLD, Column, LeftOut, TablePlan, Told, check_decimal
from pritchel.tables.messages import TableError
from pritchel.tables.spelling import MOSTLY, Spelling, guess_spellings, spell_numbers

MAX_CATEGORIES = 30
MIN_ROWS_FOR_IDS = 20
ID_NAMES, ID_ENDINGS = ("id", "index", "row", "key"), ("_id", " id", "unnamed: 0")
FEW_VALUES = 8  # of a column of numbers: nothing lies between them
RUG = np.linspace(0.05, 0.95, 37)  # quantiles that say where the numbers of a column lie


def plan_table(frame: pd.DataFrame, targets: Sequence[str], told: Told = NOTHING_TOLD) -> TablePlan:
    """What to do with each column of a training table; refuses what would go wrong unseen, and says what to do."""
    _check_names(frame, targets, told)
    table = {name: column_of(frame, name, told.na_values) for name in frame.columns}
    spellings = _spellings(table, targets, told)
    columns, left_out = [], {}
    for name, cleaned in table.items():
        if name in targets:
            _check_target(cleaned, told)
            continue
        spelling = spellings.get(name, "plain")
        values = cleaned if name in told.category else cells.typed(cleaned, spelling)
        why = _reason_to_leave_out(values, spelling, told)
        if why is None:
            columns.append(_plan_column(values, spelling, told))
        else:
            left_out[name] = why
    if not columns:
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out.items()) or "it has only targets"
        raise TableError(
            f"No column is left to predict from ({reasons}). Use {{option}} to use one all the same.", "keep"
        )
    used = {told.weight, *targets, *(column.name for column in columns if column.kind == "number")}
    in_use: dict[str, Spelling] = {name: spellings[name] for name in spellings if name in used}
    return TablePlan(tuple(columns), tuple(targets), left_out, in_use, tuple(told.na_values))


def _check_names(frame: pd.DataFrame, targets: Sequence[str], told: Told) -> None:
    check_decimal(told.decimal)
    for option, names in (("target", targets), *told.named()):
        unknown = [name for name in names if name not in frame.columns]
        if unknown:
            has = f"No column {listed(unknown)} ({{option}}). The table has {listed(frame.columns)}."
            raise TableError(has, option)
    twice = [name for index, name in enumerate(targets) if name in targets[:index]]
    if twice:
        raise TableError(f"Column {listed(twice)} is named twice as {{option}}: once is enough.", "target")
    both = [name for name in told.category if name in told.number]
    if both:
        raise TableError(f"Column {listed(both)} cannot be a category and a number: take it from {{option}}.", "number")
    if told.weight is not None and told.weight in targets:
        raise TableError(f"Column {told.weight!r} is the target: it cannot be the {{option}} as well.", "weight")


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


def _spellings(table: dict[str, pd.Series], targets: Sequence[str], told: Told) -> dict[str, Spelling]:
    """How each column spells numbers, of those that are not plain: a matter of all, as a file is of one piece."""
    found = {}
    for name, values in table.items():
        is_idle = name in told.category or (name in told.drop and name not in targets)
        if not (is_idle or cells.is_numeric(values) or cells.holds_nested(values)):
            found[name] = cells.present_texts(values)
    return guess_spellings(found, told.decimal)


def holds_classes(frame: pd.DataFrame, targets: Sequence[str], told: Told = NOTHING_TOLD) -> bool:
    """Whether the target is one column of texts or of yes and no: classes rather than numbers."""
    if len(targets) != 1 or targets[0] not in frame.columns or targets[0] in told.number:
        return False
    if targets[0] in told.category:
        return True
    values = column_of(frame, targets[0], told.na_values)
    if cells.is_numeric(values) or looks_like_dates(values):
        return False
    return not spell_numbers(cells.present_texts(values))


def _check_target(values: pd.Series, told: Told) -> None:
    if values.name not in told.category and looks_like_dates(values):
        raise TableError(
            f"The target {values.name!r} holds dates or times (such as {values.dropna().iloc[0]}). Turn it into a "
            "number, such as days since a start; for classes, say so with {option}.",
            "category",
            values.name,
        )


def _reason_to_leave_out(values: pd.Series, spelling: Spelling, told: Told) -> LeftOut | None:
    if values.name == told.weight:
        return LeftOut.WEIGHT
    if values.name in told.drop:
        return LeftOut.TOLD
    if values.name in (*told.keep, *told.category, *told.number) or cells.holds_nested(values):
        return None
    present = values.dropna()
    num_distinct = present.nunique()
    if len(present) == 0:
        return LeftOut.EMPTY
    if num_distinct <= 1 and len(present) == len(values):
        return LeftOut.CONSTANT
    if num_distinct < len(values) or len(values) < MIN_ROWS_FOR_IDS:
        return None
    if share_of_numbers(values, spelling) < MOSTLY and not looks_like_dates(values):
        return LeftOut.ID_TEXT
    if pd.api.types.is_integer_dtype(values):
        name = str(values.name).lower()
        is_named_id = name in ID_NAMES or name.endswith(ID_ENDINGS)
        if is_named_id or np.all(np.diff(np.sort(numbers(values))) == 1):
            return LeftOut.ID_COUNT
    return None


def _plan_column(values: pd.Series, spelling: Spelling, told: Told) -> Column:
    _refuse_unusable(values)
    name, num_missing = str(values.name), int(values.isna().sum())
    if name not in told.category and _holds_numbers(values, spelling, told):
        found = cells.training_numbers(values, spelling)
        found = found[~np.isnan(found)]
        quantiles = np.quantile(found, [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1])
        summary = {"missing": num_missing, "quantiles": quantiles.tolist(), "mean": float(found.mean())}
        summary |= {"rug": np.quantile(found, RUG).tolist()}
        distinct = np.unique(found)
        summary |= {"values": distinct.tolist()} if len(distinct) <= FEW_VALUES else {}
        summary |= {"far": far} if (far := checks.far_values(found)) else {}
        return Column(name, "number", float(np.median(found)), num_missing > 0, (), summary)
    counts = cells.count_texts(values)
    kept = list(counts)[:MAX_CATEGORIES]
    shown = {value: counts[value] for value in kept[:10]}
    summary = {"missing": num_missing, "distinct": len(counts), "counts": shown}
    return Column(name, "category", 0.0, False, tuple(sorted(kept)), summary)


def _refuse_unusable(values: pd.Series) -> None:
    """Columns out of which no input can be made."""
    name = str(values.name)
    if not values.notna().any():
        raise TableError(
            f"Column {name!r} is empty: there is nothing in it to predict from. Leave it out with {{option}}.",
            "drop",
            name,
        )
    if cells.holds_nested(values):
        raise TableError(
            f"Column {name!r} holds lists or records. Take out of them what matters, as columns of their own, or leave "
            "it out with {option}.",
            "drop",
            name,
        )
    if looks_like_dates(values):
        raise TableError(
            f"Column {name!r} holds dates or times (such as {values.dropna().iloc[0]}). Turn it into numbers that mean "
            "something to the target, such as days since a start, month or hour, or leave it out with {option}.",
            "drop",
            name,
        )


def _holds_numbers(values: pd.Series, spelling: Spelling, told: Told) -> bool:
    """Whether a column is one of numbers, also by being told so; one with a few words in it is a slip, and refused."""
    if values.name in told.number or pd.api.types.is_numeric_dtype(values):
        return True
    share = share_of_numbers(values, spelling)
    if MOSTLY < share < 1:
        where = int(np.flatnonzero(~cells.is_number(values, spelling) & np.asarray(values.notna()))[0])
        cell, row = values.iloc[where], cells.row_name(values, where)
        raise TableError(
            f"Column {values.name!r} holds numbers, but {row} is {cell!r}. Mend it, or say with {{option}} that this "
            "means missing.",
            "na_values",
            cell,
        )
    return share == 1
