"""Text tables too large for memory as parts that are read in batches: ranges of lines of CSV files.

Cells stay texts, as those of a table in memory do. Where a range may begin is seen from line ends and quotes alone.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pritchel.data.parts import BATCH_ROWS, SUFFIXES, Part, Parts, files_of, is_path, open_parts
from pritchel.tables.cells import listed
from pritchel.tables.layout import Layout
from pritchel.tables.messages import TableError
from pritchel.tables.read import errors_of, named, read_layout, text_pieces

RANGE_BYTES = 1 << 22
NEWLINE, QUOTE = b"\n"[0], b'"'[0]
COMPRESSED = (".gz", ".bz2", ".xz", ".zip", ".zst", ".tar")
TEXT_SUFFIXES = tuple(name + end for name in (".csv", ".tsv") for end in ("", *COMPRESSED))


def table_parts(source: Any, sep: str | None = None, encoding: str | None = None) -> Parts:
    """A source of rows by its parts: CSV files by ranges of lines, all else as `open_parts` has it.

    Of a folder with Parquet files those count; of one without, its CSV files.
    """
    if not is_path(source):
        return open_parts(source)
    files = files_of(source) or files_of(source, TEXT_SUFFIXES)
    if not files:
        raise TableError(f"There is no file {source}.")
    texts = [path for path in files if path.suffix.lower() not in SUFFIXES]
    if not texts:
        return open_parts(files)
    if len(texts) < len(files):
        other = next(path for path in files if path not in texts)
        raise TableError(f"{source}: {other} is Parquet and {texts[0]} is not. Give files of one kind.")
    return _text_parts(texts, sep, encoding)


class Range(NamedTuple):
    """Lines of a file: where they begin and end, in bytes, and the number of the first row; None: to the end."""

    start: int = 0
    end: int | None = None
    first_row: int = 0


def _text_parts(files: Sequence[Path], sep: str | None, encoding: str | None) -> Parts:
    """A part a range; the files have the same columns."""
    parts, first, num_rows = [], None, 0
    for path in files:
        with errors_of(str(path)):
            layout = read_layout(str(path), str(path), sep, encoding)
            first = first or (path, layout)
            _require_same(*first, path, layout)
            ranges, num_lines = line_ranges(path) if _is_plain(path, layout) else ([Range()], 0)
            num_rows += num_lines
        parts += [Part(str(path), _reader(path, layout, own), own.first_row) for own in ranges]
    return Parts(() if first is None else first[1].names, tuple(parts), num_rows or None)


def _require_same(first: Path, known: Layout, path: Path, layout: Layout) -> None:
    for one, names, other, others in (
        (path, layout.names, first, known.names),
        (first, known.names, path, layout.names),
    ):
        if missing := [name for name in others if name not in names]:
            raise TableError(
                f"{one} has no column {listed(missing)}, which {other} has. All files must have the same columns."
            )


def _is_plain(path: Path, layout: Layout) -> bool:
    """Whether bytes are characters: neither compressed nor of two bytes each."""
    return not path.name.lower().endswith(COMPRESSED) and len("\n".encode(layout.encoding.removesuffix("-sig"))) == 1


def line_ranges(path: Path, num_bytes: int = RANGE_BYTES) -> tuple[list[Range], int]:
    """Ranges of about so many bytes that begin where a row does, and the number of rows below the header.

    A line end between quotes ends no row. A stray quote makes the range that it is in longer.
    """
    ranges, start, first_row, is_open = [], 0, -1, 0  # the header is a line, too
    place, num_rows = 0, -1
    with path.open("rb") as file:
        while block := file.read(num_bytes):
            codes = np.frombuffer(block, np.uint8)
            ends = np.flatnonzero(codes == NEWLINE)
            num_quotes = block.count(b'"')
            if num_quotes or is_open:
                is_inside = (is_open + np.searchsorted(np.flatnonzero(codes == QUOTE), ends)) % 2
                ends, is_open = ends[is_inside == 0], (is_open + num_quotes) % 2
            num_rows += len(ends)
            if len(ends):
                end = place + int(ends[-1]) + 1
                ranges.append(Range(start, end, max(first_row, 0)))
                start, first_row = end, num_rows
            place += len(block)
    if start < place:
        ranges.append(Range(start, place, max(first_row, 0)))
        num_rows += 1
    return ranges, max(num_rows, 0)


def _reader(path: Path, layout: Layout, lines: Range) -> Callable[[], Iterator[Any]]:
    def read() -> Iterator[Any]:
        import pyarrow as pa

        with errors_of(str(path)):
            where = str(path) if lines.end is None else io.BufferedReader(_Slice(path, lines.start, lines.end))
            pieces = text_pieces(where, layout, str(path), BATCH_ROWS, lines.start == 0, lines.first_row)
            for piece in pieces:
                cells = named(piece, str(path))
                yield pa.RecordBatch.from_pydict({name: pa.array(cells[name], pa.large_string()) for name in cells})

    return read


class _Slice(io.RawIOBase):
    """Some bytes of a file, as a file."""

    def __init__(self, path: Path, start: int, end: int):
        self.file, self.left = path.open("rb", buffering=0), end - start
        self.file.seek(start)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        num = self.file.readinto(memoryview(buffer)[: self.left]) or 0
        self.left -= num
        return num

    def close(self) -> None:
        self.file.close()
        super().close()
