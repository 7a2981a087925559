"""Batches to fit to: what users pass in as a source of rows, checked batch by batch."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from pritchel import checks
from pritchel.data.dataset import Table
from pritchel.data.parts import Parts, SourceError, is_table_source, kind_of, open_parts
from pritchel.model.likelihoods import Likelihood


def is_source(X: Any, y: Any = None) -> bool:
    """Whether X is no table but something to read tables from: files, a lazy table, or batches (X, y[, weight])."""
    if is_table_source(X):
        return True
    if y is not None or not hasattr(X, "__iter__") or hasattr(X, "shape") or hasattr(X, "__array__"):
        return False
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and isinstance(X[0], tuple) and np.ndim(X[0][0]) == 2
    return not isinstance(X, (dict, set, bytes))


class Batch(NamedTuple):
    """Some rows as they came, and where they are, for messages."""

    where: str
    names: tuple[str, ...] | None
    inputs: Any
    targets: Any
    weights: Any
    first_row: int = 0


@runtime_checkable
class Batches(Protocol):
    """Rows that can be read again and again, unchecked."""

    @property
    def num_rows(self) -> int | None:
        """How many there are, where that is known without reading."""
        ...

    def read(self, rng: np.random.Generator | None) -> Iterator[Batch]:
        """All batches: as they come, or in random order as far as that can be."""
        ...


def open_batches(X: Any, y: Any = None, sample_weight: Any = None) -> Batches:
    """A source of rows: y and sample_weight name columns of a table; batches bring their own."""
    if not is_table_source(X):
        if sample_weight is not None:
            raise ValueError("sample_weight of a source of batches comes with them: each is (X, y, weight).")
        return ArrayBatches(X)
    names = [y] if isinstance(y, str) else list(y) if isinstance(y, (list, tuple)) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError(
            f"To fit to {X!r} y must name its target column, or several, as in fit('folder/*.parquet', 'price'); got "
            f"{type(y).__name__}."
        )
    if sample_weight is not None and not isinstance(sample_weight, str):
        raise ValueError(f"To fit to {X!r} sample_weight must name a column; got a {type(sample_weight).__name__}.")
    return ColumnBatches(open_parts(X), names, sample_weight, is_single=isinstance(y, str))


class ArrayBatches:
    """Batches (X, y) or (X, y, weight) of an object that can be iterated over again and again."""

    num_rows = None

    def __init__(self, batches: Any):
        if hasattr(batches, "__next__"):
            raise SourceError(
                f"A {type(batches).__name__} gives its batches once, and a fit reads them many times. Give a list of "
                "batches (X, y), or an object whose __iter__ starts anew each time."
            )
        self.batches = batches

    def read(self, rng: np.random.Generator | None) -> Iterator[Batch]:
        """All batches, as they come."""
        for index, batch in enumerate(self.batches):
            where = f"batch {index + 1}"
            if not isinstance(batch, (tuple, list)) or len(batch) not in (2, 3):
                raise SourceError(f"{where} must be (X, y) or (X, y, weight); it is a {type(batch).__name__}.")
            inputs, targets, *weights = batch
            columns = getattr(inputs, "columns", None)
            names = None if columns is None else tuple(map(str, columns))
            yield Batch(where, names, inputs, targets, weights[0] if weights else None)


class ColumnBatches:
    """Batches of a table by its parts: some columns are targets, one may be a weight, the others are inputs."""

    def __init__(self, parts: Parts, targets: Sequence[str], weight: str | None, is_single: bool):
        named = [*targets, *([] if weight is None else [weight])]
        if unknown := [name for name in named if name not in parts.names]:
            has = ", ".join(map(repr, parts.names[:12])) + (" ..." if len(parts.names) > 12 else "")
            raise SourceError(f"There is no column {unknown[0]!r}. The table has {has}.")
        self.parts, self.targets, self.weight, self.is_single = parts, list(targets), weight, is_single
        self.inputs = [name for name in parts.names if name not in named]
        if not self.inputs:
            raise SourceError("No column is left to predict from: the table has only targets.")

    @property
    def num_rows(self) -> int | None:
        """How many there are, where files say so."""
        return self.parts.num_rows

    def read(self, rng: np.random.Generator | None) -> Iterator[Batch]:
        """All batches: as they come, or parts in random order, by turns."""
        for where, row, batch in self.parts.read(rng):
            if batch.num_rows == 0:
                continue
            inputs = np.column_stack([_numbers(batch, name, where, row) for name in self.inputs])
            targets = [_values(batch, name, where) for name in self.targets]
            weights = None if self.weight is None else _numbers(batch, self.weight, where, row)
            values = targets[0] if self.is_single else np.column_stack(targets)
            yield Batch(where, tuple(self.inputs), inputs, values, weights, row)


def _values(batch: Any, name: str, where: str) -> np.ndarray:
    if name not in batch.schema.names:
        raise SourceError(f"{where} has no column {name!r}.")
    return batch.column(name).to_numpy(zero_copy_only=False)


def _numbers(batch: Any, name: str, where: str, first_row: int) -> np.ndarray:
    """A column as floats; what is missing, or no number, is refused by file, column and row."""
    import pyarrow as pa

    if name not in batch.schema.names:
        raise SourceError(f"{where} has no column {name!r}.")
    column = batch.column(name)
    if kind_of(column.type) != "numbers" and not pa.types.is_boolean(column.type):
        raise SourceError(
            f"{where}: column {name!r} holds {kind_of(column.type)}, not numbers. Leave it out, encode it, or use "
            "TableModel, which takes categories."
        )
    if column.null_count:
        row = first_row + int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise SourceError(
            f"{where}: column {name!r} has no value in row {row}, counted from 0. Fill it, drop the row, or use "
            "TableModel, which takes gaps."
        )
    return column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


class CheckedBatches:
    """Batches as a `Source`: floats of one shape. Classes are numbered as they are first met, `labels`."""

    def __init__(self, batches: Batches, kind: type[Likelihood]):
        self.batches, self.kind = batches, kind
        self.num_rows = batches.num_rows
        self.names: tuple[str, ...] | None = None
        self.shape: tuple[int, int | None] | None = None  # features, and targets; None: y is a vector
        self.labels: dict[Any, int] = {}

    @property
    def is_single_target(self) -> bool:
        """Whether y came as one column."""
        return self.shape is not None and self.shape[1] is None

    def read(self, rng: np.random.Generator | None = None) -> Iterator[Table]:
        """All rows, checked."""
        for batch in self.batches.read(rng):
            if len(batch.inputs):
                yield self._checked(batch)

    def classes(self, known: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The labels in order, and the place there of each number; those of another fit, if it goes on."""
        labels = np.asarray(list(self.labels))
        found = np.unique(labels) if known is None else known
        if len(found) < 2:
            raise ValueError(f"y holds one class only, {found.tolist()[0]!r}; a classifier needs rows of at least two.")
        place = np.minimum(np.searchsorted(found, labels), len(found) - 1)
        if np.any(unknown := found[place] != labels):
            raise ValueError(f"y holds {labels[unknown].tolist()[0]!r}, a class that the fit has not seen.")
        return found, place.astype(np.float64)

    def _checked(self, batch: Batch) -> Table:
        try:
            inputs = np.asarray(batch.inputs, np.float64)
        except (TypeError, ValueError) as error:
            told = checks.explain_bad_table(error, batch.inputs, "X")
            raise SourceError(f"{batch.where}: {told}") from None
        if inputs.ndim != 2:
            raise SourceError(f"{batch.where}: X must have two dimensions, rows and columns; it has {inputs.ndim}.")
        targets = np.asarray(batch.targets)
        self._require_same(batch, inputs, targets)
        if len(targets) != len(inputs):
            raise SourceError(f"{batch.where}: X has {len(inputs)} rows, and y {len(targets)}.")
        _require_finite(batch, "X", inputs, batch.names)
        values = self._numbered(batch.where, targets) if self.kind.has_classes else _floats(batch.where, targets)
        _require_finite(batch, "y", values, None)
        try:
            self.kind.check_targets(values)
        except ValueError as error:
            raise SourceError(f"{batch.where}: {error}") from None
        return Table(inputs, values, _weights(batch.where, batch.weights, len(inputs)))

    def _require_same(self, batch: Batch, inputs: np.ndarray, targets: np.ndarray) -> None:
        shape = inputs.shape[1], None if targets.ndim == 1 else targets.shape[-1]
        if self.shape is None:
            self.shape, self.names = shape, batch.names
        if shape[0] != self.shape[0]:
            raise SourceError(
                f"{batch.where} has {shape[0]} column(s) of X; those before had {self.shape[0]}. All batches must have "
                "the same columns."
            )
        if shape[1] != self.shape[1] or targets.ndim > 2:
            raise SourceError(f"{batch.where}: y has the shape {targets.shape}, unlike that of the batches before.")
        if batch.names != self.names:
            wrong = next(
                (own for own, known in zip(batch.names or (), self.names or (), strict=False) if own != known), ""
            )
            raise SourceError(
                f"{batch.where}: its columns are not those of the first batch, or in another order ({wrong!r})."
            )

    def _numbered(self, where: str, targets: np.ndarray) -> np.ndarray:
        if targets.ndim != 1:
            raise SourceError(f"{where}: y must be one column of labels; it has the shape {targets.shape}.")
        try:
            checks.check_labels(targets)
        except ValueError as error:
            raise SourceError(f"{where}: {error}") from None
        if targets.dtype == object:
            strange = next((label for label in targets if not isinstance(label, str)), None)
            if strange is not None:
                raise SourceError(f"{where}: y holds {strange!r} as an object; labels are texts, numbers or dates.")
            targets = targets.astype(str)
        labels, place = np.unique(targets, return_inverse=True)
        numbers = [self.labels.setdefault(label, len(self.labels)) for label in labels]
        return np.asarray(numbers, np.float64)[place.ravel()][:, None]


def _floats(where: str, targets: np.ndarray) -> np.ndarray:
    try:
        checks.check_numeric_targets(targets)
        values = np.asarray(targets, np.float64)
    except (TypeError, ValueError) as error:
        raise SourceError(f"{where}: {error}") from None
    return values.reshape(len(values), -1)


def _weights(where: str, weights: Any, num_rows: int) -> np.ndarray:
    if weights is None:
        return np.ones(num_rows)
    values = np.asarray(weights, np.float64)
    if values.shape != (num_rows,):
        raise SourceError(f"{where}: weights must be one number a row; they have the shape {values.shape}.")
    if not (np.isfinite(values) & (values >= 0)).all():
        raise SourceError(f"{where}: a weight is zero or more; one is {values[~(values >= 0)][:1]}.")
    return values


def _require_finite(batch: Batch, name: str, values: np.ndarray, names: Sequence[str] | None) -> None:
    is_wrong = ~(np.abs(values) <= checks.LARGEST)
    if is_wrong.any():
        row, column = (int(part) for part in np.argwhere(is_wrong)[0])
        label = repr(names[column]) if names is not None else column
        raise SourceError(
            f"{batch.where}: {name} holds {values[row, column]:g} in row {batch.first_row + row}, counted from 0, "
            f"column {label}. Fill or drop what is missing, and mend what is too large to compute with."
        )
