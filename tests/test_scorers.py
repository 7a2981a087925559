"""Scorers: what they say is what the model says, through pipelines and searches, and higher is better."""

from functools import partial

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pritchel import HorseshoeClassifier
from pritchel.estimators import scorers
from tests.conftest import tiny


def test_they_are_the_models_own_figures(fitted, table):
    X, y = table
    score = fitted.evaluate(X, y).scores[0]
    assert scorers.log_likelihood(fitted, X, y) == pytest.approx(score.log_likelihood)
    assert scorers.neg_crps(fitted, X, y) == pytest.approx(-score.crps)
    low, high = fitted.predict_interval(X, 0.8).T
    by_hand = high - low + 10 * (np.maximum(low - y, 0) + np.maximum(y - high, 0))
    assert scorers.neg_interval_score(fitted, X, y, coverage=0.8) == pytest.approx(-by_hand.mean())


def test_a_worse_model_has_lower_scores(fitted, table):
    X, y = table
    blind = tiny().fit(np.random.default_rng(0).permutation(X), y)
    for scorer in (scorers.log_likelihood, scorers.neg_crps, scorers.neg_interval_score):
        assert scorer(blind, X, y) < scorer(fitted, X, y)


def test_pipelines_and_searches_are_looked_through(table):
    X, y = table
    pipeline = make_pipeline(StandardScaler(), tiny())
    search = GridSearchCV(
        pipeline,
        {"horseshoeregressor__hidden": [(8,)]},
        scoring={"ll": scorers.log_likelihood, "is": partial(scorers.neg_interval_score, coverage=0.5)},
        refit="ll",
        cv=2,
    ).fit(100 * X, y)
    estimator, rows = scorers.through(search, 100 * X)
    np.testing.assert_allclose(rows.std(0), 1)
    np.testing.assert_allclose(estimator.predict(rows), search.predict(100 * X))
    assert np.isfinite(search.cv_results_["mean_test_is"]).all()


def test_classes_have_a_log_likelihood(table):
    X, _ = table
    y = np.where(X[:, 0] > 0, "a", "b")
    model = tiny(HorseshoeClassifier).fit(X, y)
    own = np.log(model.predict_proba(X)[np.arange(len(y)), (y == "b").astype(int)]).mean()
    assert scorers.log_likelihood(model, X, y) == pytest.approx(own)


def test_several_targets_are_averaged(table):
    X, y = table
    both = np.stack([y, 2 * y], 1)
    model = tiny().fit(X, both)
    ends = model.predict_interval(X, 0.9)
    fine = 20 * (np.maximum(ends[..., 0] - both, 0) + np.maximum(both - ends[..., 1], 0))
    expected = (ends[..., 1] - ends[..., 0] + fine).mean()
    assert scorers.neg_interval_score(model, X, both) == pytest.approx(-expected)
    assert scorers.neg_crps(model, X, both) < 0
