"""What is in a column's cells: numbers, texts, dates."""

from typing import Any, cast

import numpy as np
import pandas as pd

from pritchel.tables.messages import TableError

MISSING = "(missing)"
DATE_SHAPE = r"^\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,2}:\d{2})"
MAX_NAMES = 12


def column_of(frame: pd.DataFrame, name: str) -> pd.Series:
    """The column of that name, of a table in which no name occurs twice."""
    return cast(pd.Series, frame[name])


def numbers(values: pd.Series, first_row: int = 0) -> np.ndarray:
    """Floats, NaN where missing; `first_row` is the number of the first row, for messages."""
    try:
        cells: Any = pd.to_numeric(values)
        found = np.asarray(cells.to_numpy(dtype=float, na_value=np.nan))
    except (ValueError, TypeError):
        where = int(np.flatnonzero(~is_number(values) & np.asarray(values.notna()))[0])
        raise TableError(
            f"Column {values.name!r} must hold numbers; row {first_row + where + 1} is {values.iloc[where]!r}."
        ) from None
    if np.isinf(found).any():
        where = int(np.flatnonzero(np.isinf(found))[0])
        raise TableError(f"Column {values.name!r} is infinite in row {first_row + where + 1}. Mend it or drop the row.")
    return found


def is_number(values: pd.Series) -> np.ndarray:
    """Which cells are numbers, or texts that spell one."""
    cells: Any = pd.to_numeric(values, errors="coerce")
    return np.asarray(cells.notna(), bool)


def share_of_numbers(values: pd.Series) -> float:
    """How many of the cells that are not missing are numbers, or texts that spell one; 0 where all are missing."""
    present = values.dropna()
    return float(np.mean(is_number(present))) if len(present) else 0.0


def texts(values: pd.Series) -> pd.Series:
    """Categories as text, missing ones by name."""
    cells = values.astype(object)
    return cells.where(values.notna(), MISSING).map(_text).astype(object)


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def looks_like_dates(values: pd.Series) -> bool:
    """Whether a column holds dates or times, by its type or by how its texts look."""
    if pd.api.types.is_datetime64_any_dtype(values) or pd.api.types.is_timedelta64_dtype(values):
        return True
    present = values.dropna()
    if pd.api.types.is_numeric_dtype(values) or len(present) == 0:
        return False
    return bool(present.astype(str).str.match(DATE_SHAPE).mean() > 0.9)


def listed(names: Any) -> str:
    """Names in quotes, the first dozen of them."""
    shown = [repr(str(name)) for name in names]
    return ", ".join(shown[:MAX_NAMES]) + (f" and {len(shown) - MAX_NAMES} more" if len(shown) > MAX_NAMES else "")
