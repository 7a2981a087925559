"""Rows that are read in batches, again for each pass, and shuffled in a buffer: memory is bounded by the buffer."""

import dataclasses
import functools
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from pritchel.data.dataset import Dataset, Standardizer, Table, numbers_of_inputs
from pritchel.data.parts import SourceError
from pritchel.data.scan import Sample, Scan, row_keys
from pritchel.data.split import MAX_UNSEEN
from pritchel.serial import stored

OFTEN = 0.2  # of the distinct rows
BUFFER_BYTES, MIN_BUFFER_ROWS = 48 << 20, 2048


@runtime_checkable
class Source(Protocol):
    """Rows in float64 and their own units that can be read again and again."""

    def read(self, rng: np.random.Generator | None = None) -> Iterator[Table]:
        """All of them, in batches: as they come, or in an order that the generator chooses, as far as it can be."""
        ...


def joined(parts: Sequence[Dataset]) -> Dataset:
    """Batches as one."""
    return parts[0] if len(parts) == 1 else Dataset(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def buffer_rows(num_columns: int) -> int:
    """Rows that a buffer holds where nothing is said."""
    return max(BUFFER_BYTES // (4 * (num_columns + 1)), MIN_BUFFER_ROWS)


@dataclasses.dataclass(frozen=True)
class Stream:
    """Standardized rows of a source, less those set aside. In the words of `Rows`: no table in memory."""

    source: Source
    standardizer: Standardizer
    num_rows: int
    total_weight: float
    known: Sample  # of the rows to be fitted to, in their own units
    buffer: int  # rows that are shuffled at a time
    scanned: str  # the mark of the scan
    num_scanned: int
    codes: np.ndarray | None = None  # what the classes that a source numbers as it meets them are numbered at last
    aside: int = -1  # rows whose key is not above this are set aside
    table: None = None

    @classmethod
    def of(cls, source: Source, found: Scan, standardizer: Standardizer, buffer: int | None = None) -> "Stream":
        """All rows of a source that was scanned."""
        own = buffer_rows(len(standardizer.input_mean) + len(standardizer.target_mean))
        weight = found.inputs.weight
        rows = (found.num_rows, weight, found.sample, own if buffer is None else buffer)
        return cls(source, standardizer, *rows, found.mark, found.num_rows)

    @property
    def num_features(self) -> int:
        """Inputs of each."""
        return len(self.standardizer.input_mean)

    @property
    def num_targets(self) -> int:
        """Targets of each."""
        return len(self.standardizer.target_mean)

    @property
    def sample(self) -> Dataset:
        """Distinct rows of those to be fitted to, with weights that stand for all."""
        return self._sample

    @functools.cached_property
    def _sample(self) -> Dataset:
        table = self.known.table
        share = self.total_weight / max(float(table.weights.sum()), np.finfo(float).tiny)
        return self.standardized(table._replace(weights=table.weights * share))

    def whole(self) -> Dataset:
        """All of them, as they come."""
        return joined(list(self.read()))

    def passes(self, seed: np.random.SeedSequence, state: "StreamPosition | None" = None) -> "StreamPasses":
        """Shuffled passes from the start, or from where others stood."""
        return StreamPasses(self, seed, state)

    def set_aside(self, fraction: float, seed: int) -> tuple["Stream", Dataset]:
        """The rows without a part of them, ten thousand at most, and that part: by their keys, whatever the seed."""
        rest, aside = self.leave_out(fraction)
        return rest, self.standardized(aside)

    def leave_out(self, fraction: float) -> tuple["Stream", Table]:
        """The same; that part in its own units. Says so where that is no fair share of the rows."""
        inputs = self.known.table.inputs
        repeated = 1 - (numbers_of_inputs(inputs).max() + 1) / len(inputs)
        if repeated > OFTEN:
            warnings.warn(
                f"Of rows that are read in batches, those with equal inputs and targets are set aside together, and "
                f"here {repeated:.0%} share their inputs with others whose targets differ: what is found from the rows "
                "set aside (scores, calibration, early stopping) is too pessimistic. Give such a table as arrays or a "
                "data frame.",
                UserWarning,
                stacklevel=3,
            )
        num = int(np.searchsorted(np.cumsum(self.known.counts), fraction * self.num_rows)) + 1
        aside, rest = self.known.divided(min(num, MAX_UNSEEN, max(len(self.known.keys) // 2, 1)))
        smaller = dataclasses.replace(
            self,
            num_rows=self.num_rows - int(aside.counts.sum()),
            total_weight=self.total_weight - float(aside.table.weights.sum()),
            known=rest,
            aside=int(aside.keys[-1]),
        )
        return smaller, self._named(aside.table)

    def in_own_units(self) -> Table:
        """The rows of the sample, with weights that stand for all, as they came."""
        return self._named(self.known.table)._replace(weights=self.sample.weights.astype(np.float64))

    def mark(self) -> Any:
        """Of all rows, in their order, those set aside, and how they are shuffled."""
        codes = [] if self.codes is None else [self.codes]
        return [self.scanned, self.num_scanned, str(self.aside), self.buffer, *self.standardizer, *codes]

    def standardized(self, table: Table) -> Dataset:
        """Rows of the source in standard units."""
        table, standardizer = self._named(table), self.standardizer
        scaled = (standardizer.scale_inputs(table.inputs), standardizer.scale_targets(table.targets), table.weights)
        return Dataset(*(part.astype(np.float32) for part in scaled))

    def read(self, rng: np.random.Generator | None = None) -> Iterator[Dataset]:
        """All of them, in batches, as `Source` has them."""
        num_rows = 0
        for batch in self.source.read(rng):
            rows = self.standardized(self._fitted(batch))
            num_rows += rows.num_rows
            if rows.num_rows:
                yield rows
        self.require_all(num_rows)

    def _named(self, table: Table) -> Table:
        """Rows with classes by their last numbers."""
        return table if self.codes is None else table._replace(targets=self.codes[table.targets.astype(int)])

    def _fitted(self, batch: Table) -> Table:
        is_fitted = batch.weights > 0
        if self.aside >= 0:
            is_fitted &= row_keys(batch.inputs, batch.targets) > np.uint64(self.aside)
        return batch if is_fitted.all() else batch.take(is_fitted)

    def require_all(self, num_rows: int) -> None:
        """Refuse a source that gives other rows than it gave when it was scanned."""
        if num_rows != self.num_rows:
            raise SourceError(
                f"The source of the rows gave {self.num_rows:,} rows when it was first read and {num_rows:,} when it "
                "was read again. Every pass must give the same rows: a generator gives them once, so give a list of "
                "batches, or an object whose __iter__ starts anew; files must not change during a fit."
            )


@stored
class StreamPosition(NamedTuple):
    """Where the passes stand: their number, the rows of this one before those in the buffer, and those given of it."""

    number: int = 0
    num_before: int = 0
    num_given: int = 0


class StreamPasses:
    """Shuffled passes over a stream: its parts in random order, their rows in random order within the buffer.

    A stream that fits into the buffer is read once. To go on from where others stood, the pass is read up to there.
    """

    def __init__(self, stream: Stream, seed: np.random.SeedSequence, state: StreamPosition | None = None):
        self.stream, self.seed = stream, seed
        self.state = StreamPosition()
        self.is_kept = stream.num_rows <= stream.buffer
        num_rows = min(stream.num_rows, stream.buffer)
        self.rows = Dataset(*(np.empty((num_rows, *part.shape[1:]), np.float32) for part in stream.sample))
        self.order = np.empty(0, np.int32)  # of the rows in the buffer
        self.batches: Iterator[Dataset] | None = None
        self.left = stream.sample.take(slice(0))  # of the batch that the buffer had no room for
        if state is not None and state != self.state:
            self._fill(state)

    def take(self, count: int, is_wanted: np.ndarray | None = None) -> Dataset:
        """The next rows; with a mask those of them that are wanted."""
        parts, wanted = [], slice(None)
        while count:
            if self.state.num_given == len(self.order):
                self._go_on()
            start = self.state.num_given
            chosen = self.order[start : start + count]
            self.state = self.state._replace(num_given=start + len(chosen))
            if is_wanted is not None:
                wanted, is_wanted = is_wanted[: len(chosen)], is_wanted[len(chosen) :]
            parts.append(self.rows.take(chosen[wanted]))
            count -= len(chosen)
        return joined(parts)

    def _go_on(self) -> None:
        """To the rows after those in the buffer: of the same pass, or of the next."""
        number, num_before = self.state.number, self.state.num_before + len(self.order)
        if num_before < self.stream.num_rows:
            self._fill(StreamPosition(number, num_before))
            return
        if self.batches is not None:  # to its end, where it looks whether these were all
            self.stream.require_all(num_before + self.left.num_rows + sum(rows.num_rows for rows in self.batches))
            self.batches = None
        self._fill(StreamPosition(number + 1))

    def _fill(self, state: StreamPosition) -> None:
        """Have in the buffer what it held in that state, in the same order."""
        if not (self.is_kept and len(self.order)):
            if self.batches is None:
                self.batches = self.stream.read(self._rng(0 if self.is_kept else state.number, 0))
                self._next(state.num_before)
            num_rows = min(self.stream.buffer, self.stream.num_rows - state.num_before)
            self._next(num_rows, self.rows)
            self.order = np.empty(num_rows, np.int32)
        own = np.arange(len(self.order), dtype=np.int32)
        self.order = self._rng(state.number, 1, state.num_before).permutation(own)
        self.state = state

    def _next(self, count: int, into: Dataset | None = None) -> None:
        """Read on by so many rows, and keep them, if there is a place for them."""
        num_read = 0
        while num_read < count and self.batches is not None:
            batch = self.left if self.left.num_rows else next(self.batches)
            num = min(batch.num_rows, count - num_read)
            for own, new in zip(into or (), batch, strict=into is not None):
                own[num_read : num_read + num] = new[:num]
            self.left, num_read = batch.take(slice(num, None)), num_read + num

    def _rng(self, *place: int) -> np.random.Generator:
        return np.random.default_rng(
            np.random.SeedSequence(self.seed.entropy, spawn_key=(*self.seed.spawn_key, *place))
        )
