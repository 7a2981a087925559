"""How a table spells its numbers: with decimal points or commas, marks between thousands, or as True and False."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from pritchel.tables.messages import TableError

Spelling = Literal["plain", "point", "comma", "truth"]
MOSTLY = 0.8  # a column is one of numbers with slips if more of its cells than this are numbers
MAX_CELLS = 1000  # distinct cells that a guess looks at
GAPS = " \u00a0\u202f'\u2019"  # marks between thousands, besides the comma or point that is not the decimal mark
TRUTH = {"true": 1.0, "false": 0.0}
DECIMALS: dict[str, Spelling] = {".": "point", ",": "comma"}
SENTENCES: dict[str, str] = {
    "point": "'1,234.5' is 1234.5",
    "comma": "'1.234,5' is 1234.5",
    "truth": "True is 1, False is 0",
}


def _pattern(decimal: str, between: str) -> str:
    whole = rf"(?:\d+|\d{{1,3}}(?:[{between}{GAPS}]\d{{3}})+)"
    return rf"[+-]?(?:{whole}(?:[{decimal}]\d*)?|[{decimal}]\d+)(?:[eE][+-]?\d+)?"


PATTERNS = {"point": _pattern(".", ","), "comma": _pattern(",", ".")}


def spelled_numbers(cells: pd.Series, spelling: Spelling) -> np.ndarray:
    """Floats from texts, NaN for those that spell none."""
    found = _plain(cells)
    if spelling == "truth":
        words = cells.str.lower().map(TRUTH)
        return np.where(np.isnan(found), words.to_numpy(float), found)
    if spelling == "plain":
        return found
    is_so = cells.str.fullmatch(PATTERNS[spelling]).to_numpy(bool)
    between = "," if spelling == "point" else "."
    bare = cells.str.replace(f"[{between}{GAPS}]", "", regex=True).str.replace(",", ".", regex=False)
    return np.where(is_so, _plain(bare), found if spelling == "point" else np.nan)


def _plain(cells: pd.Series) -> np.ndarray:
    found: Any = pd.to_numeric(cells, errors="coerce")
    return np.asarray(found.to_numpy(dtype=float, na_value=np.nan))


class _Look(NamedTuple):
    """What the cells of one column may be: shares that are numbers, plain or by either mark, and one with a comma."""

    plain: float
    point: float
    comma: float
    with_comma: str | None

    @property
    def mark(self) -> str:
        """The decimal mark that the cells call for: `.`, `,`, or none."""
        if max(self.point, self.comma) <= MOSTLY or self.point == self.comma:
            return ""
        return "." if self.point > self.comma else ","

    @property
    def is_grouped(self) -> bool:
        """Whether there are marks between thousands, if the point is the decimal mark."""
        return self.point > max(MOSTLY, self.plain)

    @property
    def is_open(self) -> bool:
        """Whether a comma may be either mark."""
        return self.mark == "" and self.is_grouped and self.with_comma is not None


def guess_spellings(columns: Mapping[str, pd.Series], decimal: str | None = None) -> dict[str, Spelling]:
    """How each column of texts spells numbers, if it holds any; columns that are not named are plain.

    One file has one decimal mark: columns that leave it open follow those that do not. `decimal` is the mark, if told.
    """
    guessed: dict[str, Spelling] = {name: "truth" for name, cells in columns.items() if _holds_truth(cells)}
    rest = {name: cells for name, cells in columns.items() if name not in guessed}
    if decimal is not None:
        return guessed | _spelt(rest, DECIMALS[decimal])
    looks = {name: _look(cells) for name, cells in rest.items()}
    marks = {look.mark for look in looks.values()} - {""}
    if marks == {","}:
        return guessed | _spelt(rest, "comma")
    for name, look in looks.items():
        if look.is_open and marks != {"."}:
            raise TableError(
                f"Column {name!r} holds numbers with commas, such as {look.with_comma!r}. Say with {{option}} which "
                "mark is the decimal one, '.' or ','.",
                "decimal",
            )
    if marks == {",", "."}:  # both marks in one file: each column for itself
        guessed |= _spelt((name for name, look in looks.items() if look.mark == ","), "comma")
        return guessed | _spelt((name for name, look in looks.items() if look.mark != "," and look.is_grouped), "point")
    return guessed | (_spelt(rest, "point") if any(look.is_grouped for look in looks.values()) else {})


def _spelt(names: Iterable[str], spelling: Spelling) -> dict[str, Spelling]:
    return dict.fromkeys(names, spelling)


def spell_numbers(cells: pd.Series) -> bool:
    """Whether most texts are numbers, by one mark or the other."""
    look = _look(cells)
    return max(look.plain, look.point, look.comma) > MOSTLY


def _holds_truth(cells: pd.Series) -> bool:
    return len(cells) > 0 and str(cells.iloc[0]).lower() in TRUTH and bool(cells.str.lower().isin(list(TRUTH)).all())


def _look(cells: pd.Series) -> _Look:
    distinct = cells.unique()
    sample = distinct[:: max(1, len(distinct) // MAX_CELLS)].tolist()
    if not sample:
        return _Look(0.0, 0.0, 0.0, None)
    is_plain = ~np.isnan(_plain(pd.Series(sample, dtype=object)))
    is_point, is_comma = ([re.fullmatch(PATTERNS[style], cell) is not None for cell in sample] for style in PATTERNS)
    plain, point, comma = (float(np.mean(part)) for part in (is_plain, is_plain | np.asarray(is_point), is_comma))
    return _Look(plain, point, comma, next((cell for cell in sample if "," in cell), None))
