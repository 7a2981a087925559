"""Writing a table piece by piece: CSV, Parquet or standard output; a file is there whole or not at all."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from pritchel.tables.messages import TableError

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
SUFFIXES = ("", ".csv", ".txt", ".gz", ".parquet", ".pq")


@contextmanager
def table_writer(
    output: str, overwrite: bool, quotes_formulas: bool = False
) -> Iterator[Callable[[pd.DataFrame], None]]:
    """A function that appends rows to the output; a spreadsheet runs no text of it if `quotes_formulas`."""
    if quotes_formulas:
        with table_writer(output, overwrite) as append:
            yield lambda frame: append(_with_quoted_formulas(frame))
        return
    if output == "-":
        yield _csv_appender(sys.stdout, None)
        return
    path = Path(output)
    if path.suffix.lower() not in SUFFIXES:
        raise TableError(f"{path}: what ends in {path.suffix} is not written; choose a .csv, .csv.gz or .parquet file.")
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists. Choose another name, or add --overwrite.")
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    temporary.chmod(0o644)
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            with _parquet_appender(temporary) as append:
                yield append
        else:
            yield _csv_appender(temporary, "gzip" if path.suffix.lower() == ".gz" else None)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _with_quoted_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Texts and names that begin as a formula does, with a quote before them, which spreadsheets do not show."""

    def quoted(value: Any) -> Any:
        return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value

    columns = {
        quoted(name): column if column.dtype.kind in "biuf" else column.map(quoted) for name, column in frame.items()
    }
    return pd.DataFrame(columns, index=frame.index)


def _csv_appender(where: Any, compression: Literal["gzip"] | None) -> Callable[[pd.DataFrame], None]:
    is_first = True

    def append(frame: pd.DataFrame) -> None:
        nonlocal is_first
        mode = "w" if is_first else "a"
        frame.to_csv(where, mode=mode, header=is_first, index=False, compression=compression)
        is_first = False

    return append


@contextmanager
def _parquet_appender(path: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise TableError("Writing Parquet needs pyarrow: pip install 'pritchel[parquet]'.") from None
    writer = None

    def append(frame: pd.DataFrame) -> None:
        nonlocal writer
        table = pyarrow.Table.from_pandas(frame, preserve_index=False)
        if writer is None:  # a column that is empty so far may still hold texts
            texts, is_null = pyarrow.string(), pyarrow.types.is_null
            known = [field.with_type(texts) if is_null(field.type) else field for field in table.schema]
            writer = parquet.ParquetWriter(path, pyarrow.schema(known))
        writer.write_table(table.cast(writer.schema))

    try:
        yield append
    finally:
        if writer is not None:
            writer.close()
