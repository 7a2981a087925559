"""Targets on grids, of one value in many rows, and of too many zeros: found where they are, and said with a way out."""

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from pritchel import FitWarning
from pritchel.data.grid import coarse_step, has_many_zeros, heavy_value, rounding_variance
from pritchel.estimators.saved import unpack
from pritchel.folder import read_folder
from pritchel.model.likelihoods import LIKELIHOODS
from pritchel.model.likelihoods.base import LikelihoodStart
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


def test_values_on_a_grid_may_be_off_by_half_a_step(rng):
    marks, smooth = np.round(5 + 0.8 * rng.normal(size=500)), rng.normal(size=500)
    variance = rounding_variance(np.column_stack([marks, smooth]))
    assert variance[0] == pytest.approx(np.var(np.linspace(-0.25, 0.25, 1001)), rel=0.01)
    assert variance[1] == 0
    assert rounding_variance(smooth[:, None]) is None
    assert rounding_variance(((marks - 5) / 0.8).astype(np.float32)[:, None]) == pytest.approx(variance[0] / 0.64)


@pytest.mark.parametrize("name", ["heteroscedastic", "auto", "mixture"])
def test_the_bound_on_a_grid_is_the_mean_over_what_values_stand_for(x64, rng, name):
    """Log densities of targets moved about within half a step: Gaussian ones have that mean, others a higher one."""
    marks = np.round(5 + 0.8 * rng.normal(size=500))[:, None] - 5
    settings = LIKELIHOODS[name](num_humps=1) if name == "mixture" else LIKELIHOODS[name]()
    knows, not_told = (settings.build(LikelihoodStart(rows, np.ones(500))) for rows in (marks, marks + 1e-3 * marks**2))
    assert not_told.rounding is None
    target, outputs = np.array([[1.0]]), np.array([[0.7, 3.0]])
    params = jnp.asarray(knows.start(1)).at[0].set(2.0)
    moved = target + np.linspace(-0.25, 0.25, 2001)[:, None]
    mean = float(not_told.log_density(params, moved, np.repeat(outputs, 2001, 0)).mean())
    got = float(knows.log_density(params, target, outputs)[0])
    assert got < float(not_told.log_density(params, target, outputs)[0]) - 0.01
    assert got == pytest.approx(mean, abs=1e-4) if name != "auto" else mean - 0.01 < got < mean
    without_width = np.full_like(outputs, 1e-12)
    both = [float(one.expected_log_density(params, target, outputs, without_width)[0]) for one in (knows, not_told)]
    densities = [float(one.log_density(params, target, outputs)[0]) for one in (knows, not_told)]
    assert both[0] - both[1] == pytest.approx(densities[0] - densities[1], abs=2e-3)


def test_noise_does_not_cling_to_a_grid(rng):
    """Where half the rows follow a rule exactly, noise there stays a good part of a step wide."""
    X = np.column_stack([rng.choice([-1.0, 1.0], (300, 2)), rng.normal(size=300)])
    y = np.where(X[:, 0] > 0, X[:, 1], np.round(2 * rng.normal(size=300)))
    model = tiny(likelihood="auto", training__num_steps=600).fit(X, y)
    (noise,) = model.noise_report_
    assert noise.least > 0.1


def test_models_from_before_noise_knew_of_grids_still_load(rng, tmp_path):
    X = rng.normal(size=(60, 2))
    for name in ("auto", "mixture", "gaussian"):
        model = tiny(likelihood=name, training__num_steps=5).fit(X, X[:, 0])
        spec, arrays = read_folder(model.save(tmp_path / name))
        for member in spec["fitted"]["members"]:
            member["model"]["fields"]["likelihood"]["fields"].pop("rounding", None)
        older = unpack(spec | {"format_version": 6}, arrays).model
        assert np.array_equal(older.predict(X), model.predict(X))
