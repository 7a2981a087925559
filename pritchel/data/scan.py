"""One pass over batches: their moments, a sample of their rows, and a mark that tells them from others."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from pritchel.data.dataset import Standardizer, Table, usable_scale

MAX_SAMPLE_ROWS, MIN_SAMPLE_ROWS, MAX_SAMPLE_BYTES = 40_000, 1000, 1 << 25
ODD = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], np.uint64)  # of splitmix64


class Moments(NamedTuple):
    """Weighted mean and squared deviations of columns, and their ends; those of two batches can be merged."""

    weight: float
    mean: np.ndarray
    squares: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, columns: np.ndarray, weights: np.ndarray) -> "Moments":
        """Of one batch, which has rows."""
        total = float(weights.sum())
        mean = weights @ columns / total
        return cls(total, mean, weights @ (columns - mean) ** 2, columns.min(0), columns.max(0))

    def merged(self, other: "Moments") -> "Moments":
        """Those of both together (Chan, Golub and LeVeque 1979)."""
        total = self.weight + other.weight
        apart = other.mean - self.mean
        mean = self.mean + apart * (other.weight / total)
        squares = self.squares + other.squares + apart**2 * (self.weight * (other.weight / total))
        return Moments(total, mean, squares, np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def location_scale(self, limit: float | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Means and standard deviations, 1 for constant columns; nothing lies further out than the limit."""
        scale = usable_scale(self.mean, np.sqrt(self.squares / self.weight), self.low == self.high)
        if limit is not None:
            scale = np.maximum(scale, np.maximum(self.high - self.mean, self.mean - self.low) / limit)
        return self.mean, scale


def row_keys(*tables: np.ndarray) -> np.ndarray:
    """A random-looking whole number a row, the same for equal rows whatever their order."""
    keys = np.full(len(tables[0]), ODD[0])
    for column in (column for table in tables for column in np.atleast_2d(table.T)):
        keys = _mixed(keys ^ (column + 0.0).view(np.uint64))  # with 0.0 added, both zeros are one
    return keys


def _mixed(keys: np.ndarray) -> np.ndarray:
    keys = (keys ^ (keys >> np.uint64(30))) * ODD[1]
    keys = (keys ^ (keys >> np.uint64(27))) * ODD[2]
    return keys ^ (keys >> np.uint64(31))


class Sample(NamedTuple):
    """The distinct rows with the smallest keys, by key: how often each came, and its weight over all times."""

    keys: np.ndarray
    counts: np.ndarray
    table: Table

    def with_rows(self, keys: np.ndarray, table: Table, most: int) -> "Sample":
        """The sample of these and of new rows."""
        if len(self.keys) == most:
            is_near = keys <= self.keys[-1]
            keys, table = keys[is_near], table.take(is_near)
        distinct, first, place = np.unique(np.append(self.keys, keys), return_index=True, return_inverse=True)
        kept, place = first[:most], place.ravel()
        counts = np.bincount(place, np.append(self.counts, np.ones(len(keys), int)))[:most].astype(int)
        weights = np.bincount(place, np.append(self.table.weights, table.weights))[:most]
        inputs, targets = (np.concatenate(pair)[kept] for pair in zip(self.table[:2], table[:2], strict=True))
        return Sample(distinct[:most], counts, Table(inputs, targets, weights))

    def divided(self, num: int) -> "tuple[Sample, Sample]":
        """The first rows, and the others."""
        first, rest = slice(num), slice(num, None)
        made = [Sample(self.keys[part], self.counts[part], self.table.take(part)) for part in (first, rest)]
        return made[0], made[1]


class Scan(NamedTuple):
    """What one pass over the rows has told; those of weight zero are not counted."""

    num_rows: int
    inputs: Moments
    targets: Moments
    sample: Sample
    mark: str

    def standardizer(self, scale_targets: bool, input_limit: float | None) -> Standardizer:
        """That of the rows in memory, to rounding."""
        num_targets = len(self.targets.mean)
        as_they_are = (np.zeros(num_targets), np.ones(num_targets))
        of_targets = self.targets.location_scale() if scale_targets else as_they_are
        return Standardizer(*self.inputs.location_scale(input_limit), *of_targets)


def scan(batches: Iterable[Table], on_rows: Callable[[int], None] | None = None) -> Scan | None:
    """Read all batches once; `on_rows` is told how many rows there were so far. None: there were none."""
    found: Scan | None = None
    sum_of_marks, num_read = np.zeros((), np.uint64), 0
    for batch in batches:
        num_read += len(batch.weights)
        counted = batch.take(batch.weights > 0)
        if len(counted.weights):
            keys = row_keys(counted.inputs, counted.targets)
            num_before = 0 if found is None else found.num_rows
            found = _with_batch(found, keys, counted)
            places = 2 * np.arange(num_before, found.num_rows, dtype=np.uint64) + np.uint64(1)
            sum_of_marks += (_mixed(keys ^ counted.weights.view(np.uint64)) * places).sum(dtype=np.uint64)
        if on_rows is not None:
            on_rows(num_read)
    return None if found is None else found._replace(mark=f"{int(sum_of_marks):016x}")


def _with_batch(found: Scan | None, keys: np.ndarray, batch: Table) -> Scan:
    inputs, targets = (Moments.of(columns, batch.weights) for columns in batch[:2])
    row_bytes = 8 * (batch.inputs.shape[1] + batch.targets.shape[1])
    most = int(np.clip(MAX_SAMPLE_BYTES // row_bytes, MIN_SAMPLE_ROWS, MAX_SAMPLE_ROWS))
    if found is None:
        none = Sample(keys[:0], np.zeros(0, int), batch.take(slice(0)))
        return Scan(len(keys), inputs, targets, none.with_rows(keys, batch, most), "")
    return Scan(
        found.num_rows + len(keys),
        found.inputs.merged(inputs),
        found.targets.merged(targets),
        found.sample.with_rows(keys, batch, most),
        "",
    )
