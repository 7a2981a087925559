"""Tables too large for memory as parts that are read in batches: Parquet files, and what other engines scan.

Batches are pyarrow's. Parts are what can be read in any order: row groups of files, fragments, partitions.
"""

import glob
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

BATCH_ROWS, READ_BYTES = 1 << 14, 1 << 16
MAX_OPEN, MAX_OPEN_COLUMNS = 4, 44  # parts that are read by turns: each column of each takes some 2 MB
SUFFIXES = (".parquet", ".pq")


class SourceError(ValueError):
    """A source of rows that cannot be read, or is not the same when it is read again."""


class Part(NamedTuple):
    """Rows that are read one after another; `name` and `first_row` say where they are, for messages."""

    name: str
    read: Callable[[], Iterator[Any]]
    first_row: int = 0


class Parts(NamedTuple):
    """A table by its parts; `num_rows` where it is known without reading."""

    names: tuple[str, ...]
    parts: tuple[Part, ...]
    num_rows: int | None = None

    def read(self, rng: np.random.Generator | None = None) -> Iterator[tuple[str, int, Any]]:
        """All batches, each with the name of its part and the number of its first row there.

        As they come, or in random order, several parts by turns: rows that lie together are then spread.
        """
        num_open = min(MAX_OPEN, max(MAX_OPEN_COLUMNS // max(len(self.names), 1), 1))
        order = range(len(self.parts)) if rng is None else rng.permutation(len(self.parts))
        waiting = (_batches(self.parts[index]) for index in order)
        under_way: deque[Iterator[tuple[str, int, Any]]] = deque()
        while True:
            while len(under_way) < (1 if rng is None else num_open) and (part := next(waiting, None)) is not None:
                under_way.append(part)
            if not under_way:
                return
            part = under_way.popleft()
            if (batch := next(part, None)) is not None:
                yield batch
                (under_way.append if rng is not None else under_way.appendleft)(part)


def _batches(part: Part) -> Iterator[tuple[str, int, Any]]:
    from pyarrow import ArrowException

    row = part.first_row
    try:
        for batch in part.read():
            yield part.name, row, batch
            row += batch.num_rows
    except (ArrowException, OSError) as error:
        raise SourceError(f"{part.name} cannot be read beyond row {row}: {error}. Mend it or leave it out.") from None


@contextmanager
def _engine_errors(what: str) -> Iterator[None]:
    """Whatever another engine raises as a `SourceError`, in the words of what went wrong first."""
    try:
        yield
    except (SourceError, MemoryError):
        raise
    except Exception as error:
        first: BaseException = error
        while (before := getattr(first, "cause", None) or first.__cause__) is not None:
            first = before
        told = f"{type(first).__name__}: {first}".strip().rstrip(".")
        raise SourceError(f"{what}: {told}. Mend it or leave it out.") from error


def _engine_part(name: str, read: Callable[[], Iterator[Any]]) -> Part:
    """A part that another engine reads."""

    def guarded() -> Iterator[Any]:
        with _engine_errors(f"{name} cannot be read"):
            yield from read()

    return Part(name, guarded)


def is_table_source(source: Any) -> bool:
    """Whether it is a path, or a table that another engine reads when asked."""
    return is_path(source) or _engine(source) is not None


def is_path(source: Any) -> bool:
    """Whether it is a path or a pattern, or several."""
    if isinstance(source, (list, tuple)):
        return len(source) > 0 and all(isinstance(path, (str, os.PathLike)) for path in source)
    return isinstance(source, (str, os.PathLike))


def open_parts(source: Any) -> Parts:
    """A folder, a pattern or several paths of Parquet files; a pyarrow dataset, a polars lazy frame, a Dask data frame
    or a Ray dataset."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise SourceError("Reading a table in batches needs pyarrow: pip install 'pritchel[parquet]'.") from None
    if is_path(source):
        if not (files := files_of(source)):
            raise SourceError(f"There is no Parquet file {source}.")
        return _parquet_parts(files)
    engine = str(_engine(source))
    with _engine_errors(f"The {engine} table cannot be opened"):
        return _ENGINES[engine](source)


def files_of(source: Any, suffixes: tuple[str, ...] = SUFFIXES) -> list[Path]:
    """The files of a pattern, a path or several, and those of a folder whose names end so, by name."""
    found: list[Path] = []
    for place in source if isinstance(source, (list, tuple)) else [source]:
        path = Path(place)
        if path.is_dir():
            found += sorted(file for file in path.rglob("*") if file.name.lower().endswith(suffixes) and file.is_file())
        else:
            found += [path] if path.exists() else [Path(name) for name in sorted(glob.glob(str(place), recursive=True))]
    return found


def _parquet_parts(files: Sequence[Path]) -> Parts:
    """A part a row group; there is a file, and all have the same columns, of the same kinds."""
    import pyarrow.parquet as parquet
    from pyarrow import ArrowException

    parts, num_rows, first = [], 0, None
    for path in files:
        try:
            with parquet.ParquetFile(path) as file:
                metadata, schema = file.metadata, file.schema_arrow
        except (ArrowException, OSError) as error:
            other = "" if path.suffix.lower() in SUFFIXES else " TableModel, and pritchel fit, read CSV."
            raise SourceError(f"{path} is not a Parquet file that can be read: {error}{other}") from None
        first = (path, schema) if first is None else first
        _require_same(*first, path, schema)
        row = 0
        for group in range(metadata.num_row_groups):
            parts.append(Part(str(path), _group_reader(path, metadata, group), row))
            row += metadata.row_group(group).num_rows
        num_rows += row
    names = () if first is None else tuple(first[1].names)
    return Parts(names, tuple(parts), num_rows)


def _group_reader(path: Path, metadata: Any, group: int) -> Callable[[], Iterator[Any]]:
    import pyarrow.parquet as parquet

    def read() -> Iterator[Any]:
        with parquet.ParquetFile(path, metadata=metadata, buffer_size=READ_BYTES, pre_buffer=False) as file:
            yield from file.iter_batches(BATCH_ROWS, row_groups=[group], use_threads=False)

    return read


def kind_of(kind: Any) -> str:
    """What a column of a pyarrow type holds, in a word."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return kind_of(kind.value_type)
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "numbers"
    if types.is_string(kind) or types.is_large_string(kind):
        return "texts"
    return "nothing" if types.is_null(kind) else str(kind)


def _require_same(first: Path, known: Any, path: Path, schema: Any) -> None:
    """Refuse a file whose columns are not those of the first, by name."""
    for name in known.names:
        if name not in schema.names:
            raise SourceError(
                f"{path} has no column {name!r}, which {first} has. All files must have the same columns."
            )
    _require_same_kinds(str(first), known, str(path), schema)
    for name in schema.names:
        if name not in known.names:
            raise SourceError(
                f"{path} has a column {name!r}, which {first} has not. All files must have the same columns."
            )


def _require_same_kinds(first: str, known: Any, name: str, schema: Any) -> None:
    """Refuse columns that hold something else than those of the same names in the first."""
    for column in (column for column in known.names if column in schema.names):
        own, other = kind_of(schema.field(column).type), kind_of(known.field(column).type)
        if own != other and "nothing" not in (own, other):
            raise SourceError(
                f"{name}: column {column!r} holds {own}; in {first} it holds {other}. Mend it, or leave the file out."
            )


def _engine(source: Any) -> str | None:
    """Which engine a lazy table is of; none of them is imported to find out."""
    package, kind = type(source).__module__.split(".")[0], type(source).__name__
    if package == "polars" and kind != "LazyFrame":
        return None
    has = {"pyarrow": "get_fragments", "polars": "collect", "ray": "iter_batches"}
    if package.startswith("dask") and hasattr(source, "get_partition"):
        return "dask"
    return package if package in has and hasattr(source, has[package]) else None


def _dataset_parts(dataset: Any) -> Parts:
    """A part a fragment of a pyarrow dataset."""
    schema = dataset.schema
    few = {"batch_size": BATCH_ROWS, "batch_readahead": 1, "fragment_readahead": 1, "use_threads": False}

    def part(fragment: Any) -> Part:
        name = str(getattr(fragment, "path", "") or "the dataset")

        def read() -> Iterator[Any]:
            _require_same_kinds("the dataset", schema, name, fragment.physical_schema)
            yield from fragment.to_batches(schema=schema, **few)

        return Part(name, read)

    return Parts(tuple(schema.names), tuple(map(part, dataset.get_fragments())))


def _polars_parts(frame: Any) -> Parts:
    """One part: a lazy frame is run from its start for every pass."""

    def read() -> Iterator[Any]:
        if hasattr(frame, "collect_batches"):
            pieces: Iterator[Any] = iter(frame.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True))
        else:
            starts = (index * BATCH_ROWS * 8 for index in range(1 << 40))
            pieces = iter(lambda: frame.slice(next(starts), BATCH_ROWS * 8).collect(), None)
        for piece in pieces:
            if len(piece) == 0:
                return
            yield from piece.to_arrow().to_batches()

    return Parts(tuple(frame.collect_schema().names()), (_engine_part("the lazy frame", read),))


def _dask_parts(frame: Any) -> Parts:
    """A part a partition."""
    from pyarrow import Table

    def reader(index: int) -> Callable[[], Iterator[Any]]:
        return lambda: iter(Table.from_pandas(frame.get_partition(index).compute(), preserve_index=False).to_batches())

    parts = tuple(_engine_part(f"partition {index}", reader(index)) for index in range(frame.npartitions))
    return Parts(tuple(map(str, frame.columns)), parts)


def _ray_parts(dataset: Any) -> Parts:
    """One part: the blocks in their order, which Ray would otherwise let tasks change from pass to pass."""
    own = type(dataset).copy(dataset, _deep_copy=True)
    own.context.execution_options.preserve_order = True

    def read() -> Iterator[Any]:
        for table in own.iter_batches(batch_size=BATCH_ROWS, batch_format="pyarrow"):
            yield from table.to_batches()

    schema = own.schema()
    if schema is None:
        raise SourceError("The Ray dataset has no columns: nothing was read into it.")
    return Parts(tuple(schema.names), (_engine_part("the Ray dataset", read),))


_ENGINES = {"pyarrow": _dataset_parts, "polars": _polars_parts, "dask": _dask_parts, "ray": _ray_parts}
