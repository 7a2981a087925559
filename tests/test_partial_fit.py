"""Fits that go on, some rows at a time."""

import pickle

import numpy as np
import pandas as pd
import pytest

import pritchel
from pritchel import HorseshoeClassifier
from pritchel.posterior.diagnostics import FitWarning
from tests.conftest import tiny
from tests.test_fit_batches import Pieces


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24_000, 3))
    return X, 10 + 3 * np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=24_000)


def test_rows_seen_once_each_make_a_fit(rows):
    """One pass over batches, from Adam's state of the batch before."""
    X, y = rows
    model = tiny(training__learning_rate=0.02, num_members=2)
    for start in range(0, len(y), 2000):
        model.partial_fit(X[start : start + 2000], y[start : start + 2000])
    assert model.score(X, y) > 0.95
    assert not model.is_collapsed_
    assert model.elbo_.shape == (2, 12 * 16)
    assert model.n_iter_ == 192
    assert [int(adam[0]) for adam in model._before.adams] == [192, 192]  # steps that the optimizer knows of
    assert "seen once" in model.sampling_report_.why
    np.testing.assert_allclose(model.posterior_.standardizer.input_mean, X[:2000].mean(0))
    again = tiny(training__learning_rate=0.02, num_members=2).partial_fit(Pieces(X, y, size=2000))
    np.testing.assert_array_equal(again.predict(X[:50]), model.predict(X[:50]))
    assert pickle.loads(pickle.dumps(model)).partial_fit(X[:500], y[:500]).n_iter_ == 196


def test_the_posterior_narrows_with_the_rows_seen(rows):
    """The same rows again count as new ones: the precision's shape grows with all that were seen."""
    X, y = rows[0][:500], rows[1][:500]
    model = tiny(training__learning_rate=0.02)
    spread = []
    for _ in range(25):
        model.partial_fit(X, y)
        spread.append(model.predict_uncertainty(X[:100]).epistemic.mean())
    assert spread[-1] < 0.85 * spread[5]


def test_it_goes_on_from_a_fit_and_not_from_a_folder(rows, tmp_path):
    X, y = rows[0][:500], rows[1][:500]
    model = tiny().fit(X, y)
    before = model.score(X, y)
    model.partial_fit(X + 0.01, y)
    assert model.score(X, y) > before - 0.1
    loaded = pritchel.load(model.save(tmp_path / "model"))
    with pytest.raises(ValueError, match="which a model folder does not hold"):
        loaded.partial_fit(X, y)
    with pytest.raises(ValueError, match="calibration needs rows"):
        tiny(calibration="spread").partial_fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :2], y)


def test_classes_may_come_later_if_they_are_told(rows):
    X, y = rows[0][:3000], rows[1][:3000]
    labels = np.where(y > 10, "up", "down")
    order = np.argsort(labels, kind="stable")
    model = tiny(HorseshoeClassifier).partial_fit(X[order][:100], labels[order][:100], classes=["up", "down"])
    assert model.classes_.tolist() == ["down", "up"]
    for _ in range(3):
        model.partial_fit(Pieces(X, labels, size=1000))
    assert model.score(X, labels) > 0.85
    with pytest.raises(ValueError, match="a class that the fit has not seen"):
        model.partial_fit(X, np.where(y > 10, "up", "odd"))
    with pytest.raises(ValueError, match="classes are those of a classifier"):
        tiny().partial_fit(X, y, classes=[0, 1])


def test_files_are_read_once_in_their_order(rows, tmp_path):
    frame = pd.DataFrame(rows[0][:2000], columns=["a", "b", "c"]).assign(y=rows[1][:2000])
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    model = tiny().partial_fit(tmp_path / "t.parquet", "y")
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.n_iter_ == 16


def test_a_rate_of_counts_stays_where_rows_that_come_are_unlike_the_first():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 1))
    y = rng.poisson(np.where(X[:, 0] < 0.5, 2, 200))
    model = tiny(likelihood="poisson").fit(X, y)
    before = model.predict([[0.2], [0.9]])
    seldom = X[:, 0] < 0.5
    model.set_params(training__learning_rate=1e-3).partial_fit(X[seldom], y[seldom])
    np.testing.assert_allclose(model.predict([[0.2], [0.9]]), before, rtol=0.1)


def test_what_was_pruned_stays_away_and_one_row_is_enough_to_go_on(rows):
    X, y = rows[0][:500], rows[1][:500]
    model = tiny().partial_fit(X, y)
    with pytest.warns(FitWarning, match="left a hidden layer with no unit"):
        smaller = model.prune(threshold=10.0)
    widths = smaller.posterior_.members[0].guide.widths
    assert widths != model.posterior_.members[0].guide.widths
    assert smaller.partial_fit(X, y).posterior_.members[0].guide.widths == widths
    assert model.partial_fit([(X[:64], y[:64]), (X[64:65], y[64:65])]).n_iter_ == 4 + 2
    with pytest.raises(ValueError, match="at least one non-zero number"):
        model.partial_fit(X[:2], y[:2], sample_weight=[0.0, 0.0])
    with pytest.raises(ValueError, match="minimum of 2"):
        tiny().partial_fit(X[:1], y[:1])


def test_batches_before_one_that_fails_stay_learned_and_weightless_ones_are_passed_over(rows, tmp_path):
    X, y = rows[0][:300], rows[1][:300]
    wrong = np.where(np.arange(100) == 5, np.nan, y[200:])
    model = tiny()
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit([(X[:100], y[:100]), (X[100:200], y[100:200]), (X[200:], wrong)])
    assert model.n_iter_ == 2
    np.testing.assert_array_equal(pritchel.load(model.save(tmp_path / "m")).predict(X), model.predict(X))
    nothing = (X[:100], y[:100], np.zeros(100))
    assert tiny().partial_fit([nothing, (X[:100], y[:100], np.ones(100)), nothing]).n_iter_ == 1
