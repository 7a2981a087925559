"""CSV and Parquet to data frames, whole or in pieces."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pritchel.tables.messages import TableError

CHUNK_ROWS = 20_000


def read_table(source: str, na_values: Sequence[str] = ()) -> pd.DataFrame:
    """A whole table: a CSV (also compressed), a Parquet file, or `-` for CSV on standard input."""
    return pd.concat(iter_table(source, na_values, chunk_rows=None), ignore_index=True)


def iter_table(
    source: str, na_values: Sequence[str] = (), chunk_rows: int | None = CHUNK_ROWS
) -> Iterator[pd.DataFrame]:
    """A table in pieces of so many rows (None: in one), so that it need not fit into memory."""
    if source != "-" and not Path(source).exists():
        raise TableError(f"There is no file {source}.")
    is_parquet = source != "-" and Path(source).suffix.lower() in (".parquet", ".pq")
    try:
        for piece in (_iter_parquet if is_parquet else _iter_csv)(source, na_values, chunk_rows):
            if len(piece) == 0 and len(piece.columns) == 0:
                raise TableError(f"{source} is empty.")
            yield named(piece)
    except pd.errors.EmptyDataError:
        raise TableError(f"{source} is empty.") from None
    except (pd.errors.ParserError, UnicodeDecodeError, EOFError) as error:
        raise TableError(f"{source} is not a CSV that can be read: {error}.") from None
    except OSError as error:
        raise TableError(f"{source} cannot be read: {error.strerror or error}.") from None


def named(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with texts as the names of its columns."""
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"A table must be a pandas DataFrame; got a {type(frame).__name__}. Columns need their names.")
    return frame.rename(columns=str)


def _iter_csv(source: str, na_values: Sequence[str], chunk_rows: int | None) -> Iterator[pd.DataFrame]:
    where: Any = sys.stdin.buffer if source == "-" else source
    options: dict[str, Any] = {"na_values": list(na_values), "skipinitialspace": True, "low_memory": False}
    if chunk_rows is None:
        yield pd.read_csv(where, **options)
        return
    pieces: Any = pd.read_csv(where, chunksize=chunk_rows, **options)
    with pieces:
        yield from pieces


def _iter_parquet(source: str, na_values: Sequence[str], chunk_rows: int | None) -> Iterator[pd.DataFrame]:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise TableError("Reading Parquet needs pyarrow: pip install 'pritchel[parquet]'.") from None
    try:
        file = parquet.ParquetFile(source)
        start = 0
        for batch in file.iter_batches(chunk_rows or max(file.metadata.num_rows, 1)):
            piece = batch.to_pandas().replace(list(na_values), np.nan) if na_values else batch.to_pandas()
            piece.index = pd.RangeIndex(start, start + len(piece))
            start += len(piece)
            yield piece
    except pyarrow.ArrowException as error:
        raise TableError(f"{source} is not a Parquet file that can be read: {error}.") from None
