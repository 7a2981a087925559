"""Targets on grids, of one value in many rows, and of too many zeros: found where they are, and said with a way out."""

import numpy as np
import pandas as pd
import pytest

from pritchel import FitWarning
from pritchel.data.grid import coarse_step, has_many_zeros, heavy_value
from pritchel.tables.training import remarks, training_table
from tests.conftest import tiny


@pytest.fixture(scope="module")
def rng():
    return np.random.default_rng(0)


def test_coarse_grids_are_found_and_fine_ones_are_none(rng):
    values = rng.normal(size=500)
    assert coarse_step(np.round(5 + 0.8 * values)) == 1
    assert coarse_step(np.round(4 * values) / 4 + 0.1) == pytest.approx(0.25)
    assert coarse_step(np.round(values, 2)) is None
    assert coarse_step(values) is None
    assert coarse_step(np.full(10, 3.0)) is None
    assert coarse_step(rng.choice([0.0, 1.0, 1.7], 100)) is None


def test_a_value_that_many_rows_share_is_found(rng):
    rain = np.where(rng.random(300) < 0.4, 0.0, rng.gamma(2.0, 3.0, 300))
    value, share = heavy_value(rain)
    assert value == 0
    assert share == pytest.approx(np.mean(rain == 0))
    assert heavy_value(np.round(5 + 0.8 * rng.normal(size=300))) is None
    assert heavy_value(rng.normal(size=300)) is None


def test_more_zeros_than_other_counts_explain(rng):
    assert has_many_zeros(rng.poisson(4.0, 400) * (rng.random(400) < 0.5))
    assert not has_many_zeros(rng.poisson(0.4, 400))
    assert not has_many_zeros(rng.negative_binomial(0.7, 0.3, 400))
    assert not has_many_zeros(rng.normal(size=400))
    assert not has_many_zeros(np.zeros(9))


def test_noise_that_would_cling_to_a_value_is_warned_of(rng):
    X = rng.normal(size=(200, 1))
    counts = rng.poisson(6.0, 200) * (rng.random(200) < 0.5)
    with pytest.warns(FitWarning, match=r"y is exactly 0 in \d+ % of the rows.*likelihood='zero_inflated'"):
        tiny(likelihood="auto", training__num_steps=5).fit(X, counts)
    rain = np.where(counts == 0, -1.0, rng.gamma(2.0, 3.0, 200))
    with pytest.warns(FitWarning, match=r"y, column 1 is exactly -1 in \d+ % of the rows.*likelihood='gaussian'"):
        tiny(likelihood="auto", training__num_steps=5).fit(X, np.column_stack([X[:, 0], rain]))
    tiny(likelihood="zero_inflated", training__num_steps=5).fit(X, counts)  # where a warning is an error


def test_a_table_says_what_its_target_is(rng):
    marks = np.round(5 + 0.8 * rng.normal(size=300))
    falls = rng.poisson(30.0, 300) * (rng.random(300) < 0.6)
    said = {}
    for name, values in (("mark", marks), ("falls", falls)):
        frame = pd.DataFrame({"x": rng.normal(size=300), name: values})
        told = remarks(training_table(frame, [name]), classes=False, may_hold_codes=True)
        said[name] = " ".join(str(message) for message in told)
    assert "mark lies on a grid with steps of 1" in said["mark"]
    assert "round_to=1" in said["mark"]
    assert "likelihood='zero_inflated'" in said["falls"]
    assert "grid" not in said["falls"]
