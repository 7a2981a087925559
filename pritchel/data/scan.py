"""One pass over batches: their moments, a sample of their rows, and a mark that tells them from others."""

from collections.abc import Callable, Iterable, Sequence
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
        mean = np.einsum("i,ij->j", weights, columns) / total  # in this thread: BLAS starts others for so little
        apart = columns - mean
        return cls(total, mean, np.einsum("i,ij,ij->j", weights, apart, apart), columns.min(0), columns.max(0))

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
    """Distinct rows by their keys, in order: how often each came, and its weight over all times."""

    keys: np.ndarray
    counts: np.ndarray
    table: Table

    @classmethod
    def of(cls, keys: np.ndarray, table: Table) -> "Sample":
        """Each row once, as it came."""
        return cls(keys, np.ones(len(keys), int), table)

    def taken(self, rows: np.ndarray | slice) -> "Sample":
        """Some of the rows."""
        return Sample(self.keys[rows], self.counts[rows], self.table.take(rows))

    def divided(self, num: int) -> "tuple[Sample, Sample]":
        """The first rows, and the others."""
        return self.taken(slice(num)), self.taken(slice(num, None))


def merged(samples: Sequence[Sample], most: int) -> Sample:
    """The rows of all with the smallest keys, equal ones as one."""
    keys, counts, tables = zip(*samples, strict=True)
    distinct, first, place = np.unique(np.concatenate(keys), return_index=True, return_inverse=True)
    inputs, targets, weights = (np.concatenate(parts) for parts in zip(*tables, strict=True))
    kept = first[:most]
    found = [np.bincount(place.ravel(), part)[:most] for part in (np.concatenate(counts), weights)]
    return Sample(distinct[:most], found[0].astype(int), Table(inputs[kept], targets[kept], found[1]))


class Sampler:
    """The distinct rows with the smallest keys of all that came: as good as drawn, whatever their order."""

    def __init__(self, num_columns: int):
        self.most = int(np.clip(MAX_SAMPLE_BYTES // (8 * num_columns), MIN_SAMPLE_ROWS, MAX_SAMPLE_ROWS))
        self.waiting: list[Sample] = []
        self.limit = np.iinfo(np.uint64).max  # no larger key can be among them

    def add(self, keys: np.ndarray, table: Table) -> None:
        """Take new rows in."""
        is_near = keys <= self.limit
        self.waiting.append(Sample.of(keys[is_near], table.take(is_near)))
        if sum(len(own.keys) for own in self.waiting) > 2 * self.most:
            self.sample()

    def sample(self) -> Sample:
        """What there is."""
        found = merged(self.waiting, self.most)
        self.waiting = [found]
        if len(found.keys) == self.most:
            self.limit = found.keys[-1]
        return found


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
    moments: tuple[Moments, Moments] | None = None
    sampler: Sampler | None = None
    sum_of_marks, num_read, num_rows = np.zeros((), np.uint64), 0, 0
    for batch in batches:
        num_read += len(batch.weights)
        counted = batch if batch.weights.all() else batch.take(batch.weights > 0)
        if num := len(counted.weights):
            inputs, targets = (Moments.of(columns, counted.weights) for columns in counted[:2])
            moments = (inputs, targets) if moments is None else (moments[0].merged(inputs), moments[1].merged(targets))
            sampler = sampler or Sampler(len(inputs.mean) + len(targets.mean))
            sampler.add(keys := row_keys(counted.inputs, counted.targets), counted)
            places = 2 * np.arange(num_rows, num_rows + num, dtype=np.uint64) + np.uint64(1)
            sum_of_marks += (_mixed(keys ^ counted.weights.view(np.uint64)) * places).sum(dtype=np.uint64)
            num_rows += num
        if on_rows is not None:
            on_rows(num_read)
    if moments is None or sampler is None:
        return None
    return Scan(num_rows, *moments, sampler.sample(), f"{int(sum_of_marks):016x}")
