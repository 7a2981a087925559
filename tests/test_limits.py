"""Full layers and bounds that were still rising are said, with what to try; a sound fit says nothing."""

import numpy as np
import pytest

from pritchel import HorseshoeRegressor, TableModel
from pritchel.posterior.diagnostics import FitWarning, rising_remark, width_remark
from pritchel.report.model_page import model_page
from tests.conftest import tiny
from tests.test_cli import run


def test_a_full_layer_is_named_with_an_offer_that_has_room():
    remark = width_remark(np.array([[92, 30], [88, 40]]), (100, 100), 2000)
    assert "90 of 100 in layer 1" in remark
    assert "hidden=(200, 100)" in remark
    assert width_remark(np.array([[84, 80]]), (100, 100), 2000) is None
    assert width_remark(np.array([[8]]), (8,), 2000) is None  # as few as that are a choice
    assert width_remark(np.array([[92, 30]]), (100, 100), 1000) is None  # more may leave yet


def test_a_bound_that_still_rises_is_told_from_one_that_only_shakes():
    rng = np.random.default_rng(0)
    steps, num_rows = np.arange(1000), 100
    level = num_rows * rng.normal(size=(2, 1000)) * 0.1
    assert rising_remark(level, num_rows) is None
    rising = level + num_rows * np.stack([0 * steps, 0.002 * steps])
    assert "by 0.19 nats a row" in rising_remark(rising, num_rows)
    assert "training__num_steps=2000" in rising_remark(rising, num_rows)
    assert rising_remark(0.001 * rising, num_rows) is None  # sure, and too little to speak of
    rising[:, ::7] = np.nan  # steps that were skipped
    assert rising_remark(rising, num_rows) is not None
    assert rising_remark(rising - 2 * (rising - level), num_rows) is None  # falling


@pytest.mark.filterwarnings("default:The bound was still rising:UserWarning")
def test_a_fit_that_was_cut_short_says_so():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.05 * rng.normal(size=200)
    slow = {"num_steps": 800, "learning_rate": 0.003, "schedule": "constant", "batch_size": 200}
    with pytest.warns(FitWarning, match="still rising"):
        tiny(**{f"training__{name}": value for name, value in slow.items()}).fit(X, y)


def test_a_fit_that_uses_all_it_was_offered_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr("pritchel.posterior.diagnostics.FEW_UNITS", 1)
    monkeypatch.setattr("pritchel.posterior.diagnostics.STEPS_TO_EMPTY", 1)
    X = np.linspace(-3, 3, 100)[:, None]
    with pytest.warns(FitWarning, match=r"1 of 1 in layer 1.*hidden=\(2,\)"):
        model = tiny(hidden=(1,), linear=False, likelihood="gaussian").fit(X, np.maximum(X[:, 0], 0))
    model.save(tmp_path / "m")
    assert model.width_remark_ in " ".join(run("inspect", tmp_path / "m").output.split())
    assert "Nearly all units offered" in model_page(TableModel.load(tmp_path / "m"), None, "m").html()


def test_the_gaussian_prior_has_no_width_to_speak_of(monkeypatch):
    monkeypatch.setattr("pritchel.posterior.diagnostics.FEW_UNITS", 1)
    X = np.linspace(-3, 3, 50)[:, None]
    assert isinstance(tiny(prior="gaussian", training__num_steps=50).fit(X, X[:, 0]), HorseshoeRegressor)
