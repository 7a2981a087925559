"""How a text file is laid out: its encoding, what separates its cells, its header. Guessed from its first part."""

import codecs
import csv
import io
import re
from typing import NamedTuple

from pritchel.tables.cells import listed
from pritchel.tables.messages import TableError

SEPARATORS = (",", ";", "\t", "|")
HEAD_BYTES, HEAD_ROWS = 1 << 20, 50
MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
FALLBACK = "cp1252"  # what Windows writes in western Europe, if not UTF-8
FOR_EXCEL = re.compile("sep=.", re.IGNORECASE)
EXCEL = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")


class Layout(NamedTuple):
    """How to read a text file."""

    sep: str
    encoding: str
    names: tuple[str, ...]


def layout_of(head: bytes, source: str, sep: str | None = None, encoding: str | None = None) -> Layout:
    """The layout of a file that begins so; what is told is not guessed."""
    if head.startswith(EXCEL):
        raise TableError(f"{source} is a workbook or an archive, not a table of text. Save it as CSV or Parquet.")
    encoding = encoding or _guess_encoding(head)
    text = _decoded(head, source, encoding)
    if "\0" in text:
        raise TableError(
            f"{source} is not a text file in {encoding}. If it is in another encoding, give {{option}}.", "encoding"
        )
    first, *rest = text.split("\n", 1)
    if not rest and "\r" in first.rstrip("\r"):
        raise TableError(f"{source} ends its lines with CR alone, as Macs of old did. Save it with LF or CRLF.")
    if FOR_EXCEL.fullmatch(first.strip()):
        raise TableError(f"{source} begins with a line for Excel, {first.strip()!r}, and not its header. Take it out.")
    if sep is not None and len(sep) != 1:
        raise TableError(f"{{option}} must be one character, such as ';'; got {sep!r}.", "sep")
    is_cut = len(head) >= HEAD_BYTES
    sep = sep or max(SEPARATORS, key=lambda mark: _fitness(_rows(text, mark, is_cut)))
    return Layout(sep, encoding, _names(next(iter(_rows(text, sep, is_cut)), []), source))


def _guess_encoding(head: bytes) -> str:
    for mark, name in MARKS.items():
        if head.startswith(mark):
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return FALLBACK
    return "utf-8"


def _decoded(head: bytes, source: str, encoding: str) -> str:
    try:
        return codecs.getincrementaldecoder(encoding)().decode(head)
    except LookupError:
        raise TableError(
            f"{{option}}: there is no encoding {encoding!r}. Common are utf-8, cp1252, latin-1.", "encoding"
        ) from None
    except UnicodeError:
        raise TableError(f"{source} is not a text file in {encoding}. Give another {{option}}.", "encoding") from None


def _rows(text: str, sep: str, is_cut: bool) -> list[list[str]]:
    """The first rows that are not blank, without one that may be cut off."""
    found: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text), delimiter=sep, skipinitialspace=True):
            if row:
                found.append(row)
            if len(found) == HEAD_ROWS:
                return found
    except csv.Error:
        pass
    return found[:-1] if is_cut and len(found) > 1 else found


def _fitness(rows: list[list[str]]) -> tuple[bool, int]:
    """How well a separator fits: whether all rows have as many cells as the header, or one more, and how many."""
    num_cells = len(rows[0]) if rows else 0
    return num_cells > 1 and all(num_cells <= len(row) <= num_cells + 1 for row in rows), num_cells


def _names(header: list[str], source: str) -> tuple[str, ...]:
    names = [name.strip() or f"Unnamed: {index}" for index, name in enumerate(header)]
    refuse_twice(names, source)
    return tuple(names)


def refuse_twice(names: list[str], source: str) -> None:
    """No name may stand for two columns."""
    twice = list(dict.fromkeys(name for name in names if names.count(name) > 1)) if len(set(names)) < len(names) else []
    if twice:
        raise TableError(f"Column {listed(twice)} occurs twice in {source}. Rename one, or take it out.")
