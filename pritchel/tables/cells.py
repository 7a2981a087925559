"""What is in a column's cells: numbers, texts, dates. A cell means the same whatever stands around it."""

import re
from collections.abc import Collection, Sequence
from typing import Any, cast

import numpy as np
import pandas as pd

from pritchel import checks
from pritchel.tables.messages import TableError
from pritchel.tables.spelling import TRUTH, Spelling, spelled_numbers

MISSING = "(missing)"
# Texts that mean missing, as pandas has them.
MISSING_WORDS = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"}
    | {"NULL", "NaN", "None", "n/a", "nan", "null"}
)
DATE_SHAPE = r"^\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,2}:\d{2})"
WHOLE_FLOAT = re.compile(r"([+-]?\d+)\.0+")
MAX_NAMES = 12
PLACES = "pritchel: places"  # the name of an index that says where each row is from


def column_of(frame: pd.DataFrame, name: str, na_values: Collection[str] = ()) -> pd.Series:
    """The column of that name: texts without the space around them, NaN where they mean missing."""
    values = cast(pd.Series, frame[name])
    if isinstance(values.dtype, pd.StringDtype):
        bare = values.str.strip()
        return cast(pd.Series, bare.mask(bare.isin([*MISSING_WORDS, *na_values])))
    if pd.api.types.is_bool_dtype(values) or is_time(values):
        return values
    told = {float(word) for word in na_values if is_plain_number(word)}
    if pd.api.types.is_numeric_dtype(values):
        return cast(pd.Series, values.mask(values.isin(list(told))) if told else values)
    words = MISSING_WORDS | set(na_values)
    cells = [_bare(cell, words, told) for cell in values]
    return pd.Series(cells, index=values.index, name=values.name, dtype=object)


def _bare(cell: Any, words: Collection[str], numbers: Collection[float]) -> Any:
    text = cell.strip() if isinstance(cell, str) else cell
    is_missing = text in words if isinstance(text, str) else isinstance(text, (int, float)) and text in numbers
    return np.nan if is_missing else text


def is_plain_number(text: str) -> bool:
    """Whether a text is a number as Python writes it."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def present_texts(values: pd.Series) -> pd.Series:
    """The cells that are not missing, as texts."""
    present = values.dropna()
    return present if isinstance(present.dtype, pd.StringDtype) else present.map(str).astype(object)


def is_numeric(values: pd.Series) -> bool:
    """Whether the column has numbers, not texts that spell them."""
    return pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)


def numbers(values: pd.Series, spelling: Spelling = "plain", first_row: int = 0) -> np.ndarray:
    """Floats, NaN where missing; `first_row` is the number of the first row, for messages."""
    found = _floats(values, spelling)
    is_wrong = np.isnan(found) & np.asarray(values.notna())
    if is_wrong.any():
        where = int(np.flatnonzero(is_wrong)[0])
        raise TableError(
            f"Column {values.name!r} must hold numbers; {row_name(values, where, first_row)} is "
            f"{values.iloc[where]!r}. Mend it, or say with {{option}} that this means missing.",
            "na_values",
            values.iloc[where],
        )
    is_large = np.abs(found) > checks.LARGEST
    if is_large.any():
        where = int(np.flatnonzero(is_large)[0])
        what = "infinite" if np.isinf(found[where]) else f"{found[where]:g}, too large to compute with,"
        place = row_name(values, where, first_row)
        raise TableError(f"Column {values.name!r} is {what} in {place}. Mend it or drop the row.")
    return found


def row_name(values: pd.Series, where: int, first_row: int = 0) -> str:
    """What to call a row in a message: its place, where that is the index, or its number, from 1."""
    return str(values.index[where]) if values.index.name == PLACES else f"row {first_row + where + 1}"


def training_numbers(values: pd.Series, spelling: Spelling) -> np.ndarray:
    """Floats to fit to; refuses a column that floats are too coarse for."""
    found = numbers(values, spelling)
    present = found[~np.isnan(found)]
    if checks.columns_without_digits(present[:, None]):
        raise TableError(f"Column {values.name!r}: {checks.FEW_DIGITS}")
    if 0 < np.abs(present).max(initial=0.0) < 1 / checks.LARGEST:
        raise TableError(f"Column {values.name!r} is too small to compute with. Give it in other units.")
    return found


def _floats(values: pd.Series, spelling: Spelling) -> np.ndarray:
    if is_time(values):
        return np.full(len(values), np.nan)
    if pd.api.types.is_numeric_dtype(values):  # yes and no among them
        cells: Any = values
        return np.asarray(cells.to_numpy(dtype=float, na_value=np.nan))
    found = np.full(len(values), np.nan)
    is_present = np.asarray(values.notna())
    found[is_present] = spelled_numbers(present_texts(values), spelling)
    return found


def is_number(values: pd.Series, spelling: Spelling = "plain") -> np.ndarray:
    """Which cells are numbers, or texts that spell one."""
    return ~np.isnan(_floats(values, spelling))


def share_of_numbers(values: pd.Series, spelling: Spelling = "plain") -> float:
    """How many of the cells that are not missing are numbers, or texts that spell one; 0 where all are missing."""
    present = values.dropna()
    return float(np.mean(is_number(present, spelling))) if len(present) else 0.0


def typed(values: pd.Series, spelling: Spelling) -> pd.Series:
    """A column of texts that all spell plain numbers as numbers, whole ones as such; others as they are."""
    if pd.api.types.is_numeric_dtype(values) or not values.notna().any() or looks_like_dates(values):
        return values
    if spelling == "comma" and present_texts(values).str.contains(".", regex=False).any():  # between thousands
        return values
    try:
        return cast(pd.Series, pd.to_numeric(values))
    except (ValueError, TypeError):
        return values


def texts(values: pd.Series) -> pd.Series:
    """Categories as text, missing ones by name."""
    cells = values.astype(object).where(values.notna(), MISSING)
    return cells if isinstance(values.dtype, pd.StringDtype) else cells.map(_text).astype(object)


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def category_key(text: str) -> str:
    """The same for two ways to write one category: TRUE and True, 1 and 1.0."""
    whole = WHOLE_FLOAT.fullmatch(text)
    lower = text.lower()
    return whole[1] if whole else lower if lower in TRUTH else text


def count_texts(values: pd.Series) -> dict[str, int]:
    """Rows a category, most first; ways to write the same one count together, under the commonest."""
    return counted_texts(texts(values).value_counts())


def counted_texts(found: pd.Series) -> dict[str, int]:
    """The same of texts with their counts, most first."""
    names: dict[str, str] = {}
    counts: dict[str, int] = {}
    for text, count in found.items():
        name = names.setdefault(category_key(str(text)), str(text))
        counts[name] = counts.get(name, 0) + int(count)
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


def as_known(values: pd.Series, known: Sequence[str]) -> pd.Series:
    """Texts as a model knows them, None for those that it has not seen."""
    own = {category_key(text): text for text in reversed(known)} | {text: text for text in known}
    found = {text: own.get(text, own.get(category_key(text))) for text in values.unique()}
    return values.map(found).astype(object)


def is_time(values: pd.Series) -> bool:
    """Whether the column has dates, times or spans of time, not texts that spell them."""
    if isinstance(values.dtype, pd.PeriodDtype):
        return True
    return pd.api.types.is_datetime64_any_dtype(values) or pd.api.types.is_timedelta64_dtype(values)


def looks_like_dates(values: pd.Series) -> bool:
    """Whether a column holds dates or times, by its type or by how its texts look."""
    if is_time(values):
        return True
    if pd.api.types.is_numeric_dtype(values) or not values.notna().any():
        return False
    return bool(present_texts(values).str.match(DATE_SHAPE).mean() > 0.9)


def holds_nested(values: pd.Series) -> bool:
    """Whether cells are lists or records."""
    return values.dtype == object and any(isinstance(cell, (list, tuple, dict, set, np.ndarray)) for cell in values)


def listed(names: Any) -> str:
    """Names in quotes, the first dozen of them."""
    shown = [repr(str(name)) for name in names]
    return ", ".join(shown[:MAX_NAMES]) + (f" and {len(shown) - MAX_NAMES} more" if len(shown) > MAX_NAMES else "")
