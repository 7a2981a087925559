"""Streams of rows: what one pass tells of them, and shuffled passes through a buffer."""

import numpy as np
import pytest

from pritchel.data import scan as scanning
from pritchel.data.dataset import Standardizer, Table, prepare
from pritchel.data.parts import SourceError
from pritchel.data.scan import row_keys, scan
from pritchel.data.stream import Stream

SEED = np.random.SeedSequence(3)


class ListSource:
    """Batches of one table, in an order that the generator chooses."""

    def __init__(self, table: Table, size: int):
        self.batches = [table.take(slice(start, start + size)) for start in range(0, len(table.weights), size)]
        self.num_reads = 0

    def read(self, rng=None):
        self.num_reads += 1
        for index in range(len(self.batches)) if rng is None else rng.permutation(len(self.batches)):
            yield self.batches[index]


def made_up(num_rows: int, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 4, num_rows).astype(float)
    return Table(rng.normal(5, 2, size=(num_rows, 3)), rng.normal(size=(num_rows, 1)), weights)


def numbered(num_rows: int) -> Table:
    """Rows that are known by their input."""
    return Table(np.arange(num_rows, dtype=float)[:, None], np.ones((num_rows, 1)), np.ones(num_rows))


def stream_of(table: Table, size: int, buffer: int | None = None) -> Stream:
    source = ListSource(table, size)
    found = scan(source.read())
    assert found is not None
    as_they_are = Standardizer(
        *(np.full(columns, value) for columns in (table.inputs.shape[1], 1) for value in (0.0, 1.0))
    )
    return Stream.of(source, found, as_they_are, buffer)


@pytest.mark.parametrize("input_limit", [None, 2.0])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_standardizer_is_that_of_the_rows_in_memory(size, input_limit):
    table = made_up(300)
    table.inputs[:, 1] = 1e5 + 1e-3 * table.inputs[:, 1]  # squares of which lose every digit
    table.inputs[:, 2] = 3.0  # a constant
    found = scan(ListSource(table, size).read())
    assert found is not None
    _, expected = prepare(*table, input_limit=input_limit)
    for own, other in zip(found.standardizer(True, input_limit), expected, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-6)
    assert found.standardizer(True, input_limit).input_scale[2] == 1
    assert found.num_rows == np.count_nonzero(table.weights)
    assert found.inputs.weight == table.weights.sum()


def test_a_scan_does_not_depend_on_where_batches_end_but_on_the_order_of_rows():
    table = made_up(300)
    marks = [scan(ListSource(table, size).read()).mark for size in (10, 13)]
    assert marks[0] == marks[1]
    swapped = np.r_[1, 0, 2:300]
    assert scan(ListSource(table.take(swapped), 13).read()).mark != marks[0]
    heavier = table._replace(weights=table.weights + np.eye(300)[7])
    assert scan(ListSource(heavier, 13).read()).mark != marks[0]


def test_equal_rows_have_equal_keys_and_others_do_not():
    rows = np.round(np.random.default_rng(0).normal(size=(4000, 2)), 1)
    rows[0], rows[1] = (0.0, 1.0), (-0.0, 1.0)
    keys = row_keys(rows)
    assert keys[0] == keys[1]
    assert len(np.unique(keys)) == len(np.unique(rows + 0.0, axis=0))
    assert abs(np.mean(keys / 2.0**64) - 0.5) < 0.05
    assert row_keys(rows[:1, ::-1]) != keys[0]


def test_the_sample_is_all_distinct_rows_with_their_weights_or_a_random_part(monkeypatch):
    table = made_up(300)
    twice = Table(*(np.concatenate([part, part]) for part in table))
    own = stream_of(twice, 11).sample
    expected, _ = prepare(*table)
    assert own.num_rows == expected.num_rows
    np.testing.assert_allclose(own.weights.sum(), 2 * table.weights.sum(), rtol=1e-5)
    monkeypatch.setattr(scanning, "MAX_SAMPLE_ROWS", 100)
    monkeypatch.setattr(scanning, "MIN_SAMPLE_ROWS", 100)
    rows = numbered(5000)
    for size in (17, 5000):
        part = stream_of(rows, size).sample
        assert part.num_rows == 100
        assert len(np.unique(part.inputs)) == 100
        assert part.weights.sum() == pytest.approx(5000)
        assert abs(part.inputs.mean() - 2500) < 5 * 5000 / np.sqrt(12 * 100)
    np.testing.assert_array_equal(part.inputs, stream_of(rows.take(np.arange(5000)[::-1]), 100).sample.inputs)


@pytest.mark.parametrize("buffer", [1, 64, 100, 5000])
def test_every_pass_gives_every_row_once_in_another_order(buffer):
    passes = stream_of(numbered(300), 30, buffer).passes(SEED)
    first, second = (passes.take(300).inputs[:, 0] for _ in range(2))
    for own in (first, second):
        np.testing.assert_array_equal(np.sort(own), np.arange(300))
    assert np.mean(first == second) < 0.5
    other = stream_of(numbered(300), 30, buffer).passes(np.random.SeedSequence(4)).take(300).inputs[:, 0]
    assert np.mean(first == other) < 0.5


def test_rows_are_shuffled_within_the_buffer_and_parts_across():
    passes = stream_of(numbered(3000), 30, 300).passes(SEED)
    block = passes.take(300).inputs[:, 0]
    assert len(np.unique(block // 30)) == 10  # ten parts, of all over the table
    assert block.max() - block.min() > 1500
    assert np.abs(np.diff(block)).mean() > 300  # their rows in no order


def test_a_stream_that_fits_into_the_buffer_is_read_once():
    stream = stream_of(numbered(300), 30, 300)
    passes = stream.passes(SEED)
    passes.take(1000)
    assert stream.source.num_reads == 2  # one for the scan
    larger = stream_of(numbered(301), 30, 300)
    larger.passes(SEED).take(1000)
    assert larger.source.num_reads == 5


@pytest.mark.parametrize("buffer", [50, 5000])
@pytest.mark.parametrize("taken", [1, 13, 50, 299, 300, 750])
def test_passes_go_on_from_where_others_stood(buffer, taken):
    stream = stream_of(numbered(300), 30, buffer)
    passes = stream.passes(SEED)
    passes.take(taken)
    on = stream.passes(SEED, passes.state)
    np.testing.assert_array_equal(on.take(777).inputs, passes.take(777).inputs)


def test_rows_set_aside_are_never_given():
    table = made_up(3000)
    stream = stream_of(table, 100, 500)
    rest, aside = stream.set_aside(0.2, seed=0)
    assert abs(aside.num_rows - 0.2 * stream.num_rows) <= 1
    assert rest.num_rows + aside.num_rows == stream.num_rows
    given = rest.passes(SEED).take(rest.num_rows)
    known = {row.tobytes() for row in aside.inputs}
    assert not known & {row.tobytes() for row in given.inputs}
    assert not known & {row.tobytes() for row in rest.sample.inputs}
    np.testing.assert_allclose(rest.sample.weights.sum() + aside.weights.sum(), table.weights.sum(), rtol=1e-5)
    smaller, more = rest.set_aside(0.5, seed=0)
    assert not known & {row.tobytes() for row in more.inputs}
    assert smaller.num_rows == rest.num_rows - more.num_rows
    assert stream.mark() != rest.mark()


@pytest.mark.parametrize("change", ["fewer", "more", "none"])
def test_a_source_that_gives_other_rows_the_second_time_is_refused(change):
    stream = stream_of(numbered(300), 30, 50)
    batches = stream.source.batches
    stream.source.batches = {"fewer": batches[:-1], "more": [*batches, batches[0]], "none": []}[change]
    with pytest.raises(SourceError, match="300 rows when it was first read and"):
        stream.passes(SEED).take(400)
