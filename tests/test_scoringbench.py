"""The wrapper for ScoringBench in examples/, run by a small stand-in of that benchmark.

The stand-in is written from reading github.com/jonaslandsgesell/ScoringBench at commit 4b4d059, which is in no package
index: a base class whose `fit`, `predict` and `predict_distribution` a wrapper gives; a prediction built by
`from_histogram` from bins of each row, means and the range of the targets trained on; and what a fold does: it fills
gaps, builds a wrapper with no argument, fits it to frames and scores its bins. What is not here: the benchmark's
tables, its grid for scores of the density, and most of its scores.
"""

import runpy
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from tests.conftest import tiny

EXAMPLE = Path(__file__).parents[1] / "examples" / "scoringbench_wrapper.py"
ESTIMATOR = tiny(likelihood="student_t")
PACKAGES = ("scoringbench", "scoringbench.univariate", "scoringbench.univariate.wrappers")


class ProbabilisticWrapper:
    _y_train_range = None

    def fit(self, X, y):
        raise NotImplementedError

    def predict(self, X):
        raise NotImplementedError

    def predict_distribution(self, X):
        raise NotImplementedError


@dataclass
class DistributionPrediction:
    bin_edges: np.ndarray
    probas: np.ndarray
    mean: np.ndarray
    train_range: tuple[float, float]

    @classmethod
    def from_histogram(cls, bin_edges, probas, mean=None, *, train_range, is_grid_native=False):
        low, high = train_range
        assert np.isfinite((low, high)).all()
        assert high > low
        assert not is_grid_native  # that would leave the density on a grid of the model's choice
        return cls(bin_edges, probas, mean, train_range)


def crps(prediction: DistributionPrediction, y: np.ndarray) -> np.ndarray:
    """E|Y - y| - E|Y - Y'| / 2 of Y uniform within each bin."""
    left, right, p = prediction.bin_edges[:, :-1], prediction.bin_edges[:, 1:], prediction.probas
    u, v = left - y[:, None], right - y[:, None]
    distance = (p * (v * abs(v) - u * abs(u)) / (2 * (right - left))).sum(1)
    middle = (left + right) / 2
    apart = abs(middle[:, :, None] - middle[:, None, :])
    np.einsum("kii->ki", apart)[...] = (right - left) / 3
    return distance - np.einsum("ki,kij,kj->k", p, apart, p) / 2


def run_fold(X_train, X_test, y_train, y_test, factory):
    medians = X_train.median()
    model = factory()
    assert isinstance(model, ProbabilisticWrapper)
    model.fit(X_train.fillna(medians), y_train)
    prediction = model.predict_distribution(X_test.fillna(medians))
    return model, prediction, crps(prediction, np.asarray(y_test, float))


@pytest.fixture(scope="module")
def frames():
    """As the benchmark hands them over: columns by name, a category as small whole numbers, a gap, y a series."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.normal(size=66), "b": rng.normal(size=66), "c": rng.integers(0, 3, 66).astype(np.int8)})
    y = pd.Series(10 + 3 * np.sin(X["a"]) + X["c"] + 0.3 * rng.standard_t(4, 66), name="target")
    X.loc[[5, 64], "b"] = np.nan
    return X[:60], X[60:], y[:60], y[60:]


@pytest.fixture(scope="module")
def wrapper_kind():
    """The example's class, loaded where the stand-in can be imported."""
    with pytest.MonkeyPatch.context() as patch:
        for name in PACKAGES:
            patch.setitem(sys.modules, name, module := ModuleType(name))
        module.ProbabilisticWrapper, module.DistributionPrediction = ProbabilisticWrapper, DistributionPrediction
        return runpy.run_path(str(EXAMPLE))["PritchelWrapper"]


@pytest.fixture(scope="module")
def fold(frames, wrapper_kind):
    return run_fold(*frames, lambda: wrapper_kind(ESTIMATOR))


@pytest.fixture(scope="module")
def inputs(frames):
    X_train, X_test, *_ = frames
    return X_test.fillna(X_train.median()).to_numpy(float)


def test_bins_are_a_distribution(fold, frames):
    _, prediction, _ = fold
    assert prediction.bin_edges.shape == (6, 401)
    assert np.all(np.diff(prediction.bin_edges) > 0)
    assert np.all(prediction.probas >= 0)
    np.testing.assert_allclose(prediction.probas.sum(1), 1, rtol=1e-12)
    assert prediction.train_range == (frames[2].min(), frames[2].max())


def test_bins_are_the_estimators_own(fold, inputs):
    model, prediction, _ = fold
    np.testing.assert_array_equal(prediction.mean, model.estimator_.predict(inputs))
    np.testing.assert_array_equal(prediction.mean, model.predict(inputs))
    levels = (0.025, 0.3, 0.5, 0.9)
    below = np.pad(prediction.probas.cumsum(1), ((0, 0), (1, 0)))
    quantiles = model.estimator_.predict_quantiles(inputs, levels)
    for row in range(len(inputs)):
        reached = np.interp(quantiles[row], prediction.bin_edges[row], below[row])
        np.testing.assert_allclose(reached, levels, atol=2e-4)


def test_density_of_bins_is_log_prob(fold, inputs):
    model, prediction, _ = fold
    middles, widths = (prediction.bin_edges[:, 1:] + prediction.bin_edges[:, :-1]) / 2, np.diff(prediction.bin_edges)
    log_density = model.estimator_.log_prob(np.repeat(inputs, middles.shape[1], 0), middles.ravel())
    density = np.exp(log_density.reshape(middles.shape))
    np.testing.assert_allclose((density * widths).sum(1), 1, atol=0.01)  # without the tails beyond the last edges
    inner = slice(8, -8)  # bins at the ends are wide
    np.testing.assert_allclose((prediction.probas / widths)[:, inner], density[:, inner], rtol=0.02)


def test_scores_are_those_of_draws(fold, frames, inputs):
    """Of a score that is computed from bins here and from draws of y there."""
    model, _, scores = fold
    draws = model.estimator_.sample_y(inputs, 4000, random_state=1)
    y = np.asarray(frames[3])[:, None]
    apart = abs(draws[:, ::2] - draws[:, 1::2])
    each = abs(draws - y).reshape(len(y), -1, 2).mean(2) - apart / 2
    assert np.all(abs(each.mean(1) - scores) < 5 * each.std(1) / np.sqrt(each.shape[1]))


def test_other_tables(wrapper_kind, table):
    """Arrays, gaps that nobody filled, and a row without y."""
    X, y = np.vstack([table[0], table[0][:1]]), np.append(table[1], np.nan)
    X[3, 0], X[4, 1] = np.nan, np.inf
    edges, probabilities = wrapper_kind(ESTIMATOR).fit(X, y).predict_bins(X[3:5])
    assert np.all(np.isfinite(edges))
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-12)


def test_without_scoringbench(monkeypatch, table):
    monkeypatch.setitem(sys.modules, "scoringbench", None)
    model = runpy.run_path(str(EXAMPLE))["PritchelWrapper"](ESTIMATOR).fit(*table)
    assert model.predict(table[0][:3]).shape == (3,)
    assert model.predict_bins(table[0][:3])[1].shape == (3, 400)
    with pytest.raises(ImportError, match="checkout"):
        model.predict_distribution(table[0][:3])
