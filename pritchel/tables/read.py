"""CSV and Parquet to data frames, whole or in pieces. Cells of a CSV stay texts: what a column is, its plan says."""

import lzma
import re
import shutil
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.io.common import get_handle

from pritchel.memory import require_room
from pritchel.tables.layout import HEAD_BYTES, Layout, layout_of, refuse_twice
from pritchel.tables.messages import TableError
from pritchel.tables.spelling import MOSTLY

CHUNK_ROWS = 20_000
SPOOL_BYTES = 1 << 26
# What pandas may want to read a table, and crashes without, besides what a file read whole takes for each of its bytes.
READ_BYTES, BYTES_PER_BYTE = 1 << 26, 4
NUMBER = re.compile(r"[+-]?[\d.,' ]*\d[\d.,' ]*([eE][+-]?\d+)?")  # near enough, whatever the marks
INTEGERS = [pd.Int8Dtype(), pd.Int16Dtype(), pd.Int32Dtype(), pd.Int64Dtype()]
INTEGERS += [pd.UInt8Dtype(), pd.UInt16Dtype(), pd.UInt32Dtype(), pd.UInt64Dtype()]
LAYOUT = "layout"  # in the `attrs` of a table that was read: how
# What decompressing a damaged file raises, besides OSError.
DAMAGE = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError)


def read_table(source: str, sep: str | None = None, encoding: str | None = None) -> pd.DataFrame:
    """A whole table: a CSV (also compressed), a Parquet file, or `-` for CSV on standard input."""
    (frame,) = iter_table(source, sep, encoding, chunk_rows=None)
    return frame


def iter_table(
    source: str, sep: str | None = None, encoding: str | None = None, chunk_rows: int | None = CHUNK_ROWS
) -> Iterator[pd.DataFrame]:
    """A table in pieces of so many rows (None: in one), so that it need not fit into memory; at least one piece."""
    if source != "-" and not Path(source).exists():
        raise TableError(f"There is no file {source}.")
    is_parquet = source != "-" and Path(source).suffix.lower() in (".parquet", ".pq")
    with errors_of(source):
        for piece in _iter_parquet(source, chunk_rows) if is_parquet else _iter_csv(source, sep, encoding, chunk_rows):
            yield named(piece, source)


@contextmanager
def errors_of(source: str) -> Iterator[None]:
    """Whatever goes wrong with a file while it is read as a `TableError` that names it."""
    try:
        yield
    except TableError:
        raise
    except pd.errors.EmptyDataError:
        raise TableError(f"{source} is empty.") from None
    except pd.errors.ParserError as error:
        if "out of memory" in str(error):
            raise MemoryError(f"to read {source}") from None
        raise TableError(f"{source} is not a CSV that can be read: {_in_words(str(error))}") from None
    except UnicodeError as error:
        raise TableError(f"{source} is not a CSV that can be read: {error}. Give its {{option}}.", "encoding") from None
    except DAMAGE as error:
        raise TableError(f"{source} is damaged or cut short: {error}.") from None
    except (ImportError, ValueError) as error:
        raise TableError(f"{source} cannot be read: {error}") from None
    except OSError as error:
        raise TableError(f"{source} cannot be read: {error.strerror or error}.") from None


def named(frame: pd.DataFrame, source: str = "the table") -> pd.DataFrame:
    """The frame with texts as the names of its columns, none of them twice."""
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"A table must be a pandas DataFrame; got a {type(frame).__name__}. Columns need their names.")
    names = [str(name) for name in frame.columns]
    refuse_twice(names, source)
    return frame.set_axis(names, axis=1)


def _in_words(text: str) -> str:
    """What pandas has to say of a file, about the header that the file has and not the one that we gave it."""
    found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", text)
    if found:
        return f"line {found[2]} has {found[3]} cells, and the header has {int(found[1]) - 1}."
    return f"{text.removeprefix('Error tokenizing data. C error: ').strip().rstrip('.')}."


def read_layout(where: Any, source: str, sep: str | None, encoding: str | None) -> Layout:
    """How the text at a path, or of an open file, is laid out; it has a header."""
    with get_handle(where, "rb", compression="infer", is_text=False) as handles:
        head: Any = handles.handle
        layout = layout_of(head.read(HEAD_BYTES), source, sep, encoding)
    if not layout.names:
        raise TableError(f"{source} is empty.")
    return layout


def _iter_csv(source: str, sep: str | None, encoding: str | None, chunk_rows: int | None) -> Iterator[pd.DataFrame]:
    with nullcontext(source) if source != "-" and Path(source).is_file() else _spooled(source) as where:
        layout = read_layout(where, source, sep, encoding)
        if not isinstance(where, str):
            where.seek(0)
        whole = 0 if chunk_rows is not None or not isinstance(where, str) else Path(where).stat().st_size
        require_room(READ_BYTES + BYTES_PER_BYTE * whole, f"to read {source}")
        yield from text_pieces(where, layout, source, chunk_rows)


def text_pieces(
    where: Any, layout: Layout, source: str, chunk_rows: int | None, has_header: bool = True, first_row: int = 0
) -> Iterator[pd.DataFrame]:
    """The rows of a text at a path, or of an open file, in pieces of texts; at least one piece."""
    start, num_headers = first_row, int(has_header)
    with pd.read_csv(where, **_options(layout)) as file:
        piece = _next_piece(file, None if chunk_rows is None else chunk_rows + num_headers).iloc[num_headers:]
        while start == first_row or len(piece):
            piece.index = pd.RangeIndex(start, start + len(piece))
            yield _checked(piece, layout, source)
            start += max(len(piece), 1)
            piece = _next_piece(file, chunk_rows)


def _options(layout: Layout) -> dict[str, Any]:
    """Texts, with one name more than there are columns: a cell beyond the last is then seen, and shifts nothing."""
    how = {"sep": layout.sep, "encoding": layout.encoding, "skipinitialspace": True, "dtype": str}
    names = {"header": None, "names": [*layout.names, ""], "index_col": False}
    return how | names | {"keep_default_na": False, "low_memory": False, "iterator": True}


def _next_piece(file: Any, num_rows: int | None) -> pd.DataFrame:
    try:
        return file.read(num_rows)
    except StopIteration:
        return pd.DataFrame()


def _spooled(source: str) -> Any:
    """A pipe, so that it can be read twice: its head, then all of it."""
    copy = tempfile.SpooledTemporaryFile(SPOOL_BYTES)  # noqa: SIM115 - its reader closes it
    if source == "-":
        shutil.copyfileobj(sys.stdin.buffer, copy)
    else:
        with open(source, "rb") as pipe:
            shutil.copyfileobj(pipe, copy)
    copy.seek(0)
    return copy


def _checked(piece: pd.DataFrame, layout: Layout, source: str) -> pd.DataFrame:
    """A piece without the cells that end lines in a separator; refuses those that hold something, and stray quotes."""
    for name in [""] + [name for name in layout.names[-1:] if name.startswith("Unnamed: ")]:
        is_filled = piece[name].fillna("").str.strip() != ""
        if not is_filled.any():
            piece = piece.drop(columns=name)
        elif name == "":
            row = piece.index[is_filled.to_numpy(bool)][0]
            raise TableError(
                f"{source}: row {row + 1} has {len(layout.names) + 1} cells, and the header has {len(layout.names)}. "
                "Mend it, or put quotes around the cell that holds a separator."
            )
    for name in piece.columns:
        _refuse_stray_quote(piece, str(name), layout, source)
    piece.attrs[LAYOUT] = {"sep": layout.sep, "encoding": layout.encoding}  # short: pandas copies it at every step
    return piece


def _refuse_stray_quote(piece: pd.DataFrame, name: str, layout: Layout, source: str) -> None:
    """A cell of many lines that would each be a row: everything from one stray quote to the next.

    They would if they have the cells for it, and numbers where other rows have numbers. Where no such column says
    anything, two breaks are wanted.
    """
    broken: Any = piece[name][piece[name].str.contains("\n", regex=False, na=False)]
    hold_numbers = None
    for row, cell in broken.items():
        lines = cell.split("\n")
        cells = _cells_of_rows([line.split(layout.sep) for line in lines], layout.names.index(name), piece.shape[1])
        if cells is None:
            continue
        if hold_numbers is None:
            hold_numbers = [_are_numbers(own) for _, own in piece.drop(index=broken.index).items()]
        told = [NUMBER.fullmatch(text) is not None for column, text in cells if text and hold_numbers[column]]
        if all(told) and (told or len(lines) > 2):
            raise TableError(
                f"{source}: the cell of column {name!r} in row {int(str(row)) + 1} runs over {len(lines)} lines, which "
                "look like rows of their own. Take out the stray quote where it begins."
            )


def _cells_of_rows(lines: list[list[str]], place: int, num_columns: int) -> list[tuple[int, str]] | None:
    """Columns and texts, if a cell's lines are the rest of a row, whole rows and the beginning of one; else None."""
    whole = [(place + 1, lines[0][1:]), *((0, cells) for cells in lines[1:-1])]
    if num_columns < 2 or any(start + len(cells) < num_columns for start, cells in whole):
        return None
    return [
        (column, text.strip())
        for start, cells in [*whole, (0, lines[-1][:-1])]
        for column, text in zip(range(start, num_columns), cells, strict=False)
    ]


def _are_numbers(cells: pd.Series) -> bool:
    return bool(cells.dropna().str.strip().str.fullmatch(NUMBER.pattern).mean() > MOSTLY)


def _iter_parquet(source: str, chunk_rows: int | None) -> Iterator[pd.DataFrame]:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise TableError("Reading Parquet needs pyarrow: pip install 'pritchel[parquet]'.") from None
    try:
        file = parquet.ParquetFile(source)
        start = 0
        for batch in _batches(file, chunk_rows):
            piece = _as_frame(batch, source)
            if any(name is not None for name in piece.index.names):  # an index with a name is a column
                piece = piece.reset_index()
            piece.index = pd.RangeIndex(start, start + len(piece))
            start += len(piece)
            yield piece
    except (pyarrow.ArrowException, NotImplementedError) as error:
        raise TableError(f"{source} is not a Parquet file that can be read: {error}.") from None


def _as_frame(batch: Any, source: str) -> pd.DataFrame:
    """As pandas has it, whose notes in the file, if they are damaged, end in errors of every kind."""
    import pyarrow

    whole: Any = {getattr(pyarrow, str(kind).lower())(): kind for kind in INTEGERS}  # of floats, large ones lose digits
    try:
        return batch.to_pandas(types_mapper=whole.get)
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        told = f"{type(error).__name__}: {error}"
        raise TableError(
            f"{source} is not a Parquet file that can be read: its notes for pandas are damaged ({told})."
        ) from None


def _batches(file: Any, chunk_rows: int | None) -> Iterator[Any]:
    if file.metadata.num_rows == 0 or chunk_rows is None:
        yield file.read()
    else:
        yield from file.iter_batches(chunk_rows)
