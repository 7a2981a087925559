"""What inputs are worth: against closed forms, in groups, of classes, on record and in words."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel

from pritchel import HorseshoeClassifier, TableModel
from pritchel.estimators import fitted as fitted_estimators
from pritchel.posterior import importance
from pritchel.posterior.importance import with_range
from tests.conftest import tiny


def test_an_input_is_worth_what_shuffling_it_costs(fitted, table):
    """y = 10 + 3 sin x1 + x2 + noise of 0.1: shuffling a column adds twice the variance of its part to the error."""
    X, y = table
    found = {own.name: own for own in fitted.importances(X, y)}
    assert list(found) == ["x1", "x2", "x3"]
    base = np.sqrt(np.mean((fitted.predict(X) - y) ** 2))
    for name, part in (("x1", 3 * np.sin(X[:, 0])), ("x2", X[:, 1])):
        expected = np.sqrt(base**2 + 2 * part.var()) - base
        assert found[name].error == pytest.approx(expected, rel=0.2)
    assert abs(found["x3"].error) < 0.15 * found["x2"].error  # of sixty rows a little is learned from it
    for own in found.values():
        assert own.error_range[0] <= own.error <= own.error_range[1]
        assert own.log_likelihood_range[0] <= own.log_likelihood <= own.log_likelihood_range[1]
    assert fitted.importances(X, y) == fitted.importances(X, y)


def test_log_likelihood_lost_is_that_of_the_draws(fitted, table, monkeypatch):
    """With one shuffle that is known, the figures are those of predictions by hand."""
    monkeypatch.setattr(importance, "NUM_SHUFFLES", 1)
    X, y = table
    rng = np.random.default_rng(0)
    rng.permutation(len(X))  # rows are chosen first
    moved = X.copy()
    moved[:, 1] = X[rng.permutation(len(X)), 1]
    (own,) = fitted.importances(X, y, {"second": [1]})
    before, after = (
        fitted.posterior_.draw_log_densities(rows, y[:, None], importance.NUM_DRAWS, None)[..., 0].mean(1)
        for rows in (X, moved)
    )
    assert own.log_likelihood == pytest.approx((before - after).mean())
    assert own.log_likelihood_range == pytest.approx(np.quantile(before - after, [0.05, 0.95]))


def test_copies_of_a_column_are_worth_more_together():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    X = np.stack([x, x + 0.01 * rng.normal(size=200), rng.normal(size=200)], 1)
    model = tiny(prior="gaussian").fit(X, x + 0.1 * rng.normal(size=200))
    alone = {own.name: own.error for own in model.importances(X, x)}
    both = {own.name: own.error for own in model.importances(X, x, {"copies": [0, 1], "idle": [2]})}
    assert both["copies"] > 1.2 * max(alone["x1"], alone["x2"])
    assert both["idle"] < 0.1 * both["copies"]


def test_of_classes_the_error_is_a_share(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.where(X[:, 0] > 0, "up", "down")
    model = tiny(HorseshoeClassifier).fit(X, y)
    found = {own.name: own for own in model.importances(X, y)}
    assert 0.3 < found["x1"].error < 0.6  # half of the rows come to lie on the other side
    assert abs(found["x2"].error) < 0.03
    assert found["x1"].log_likelihood > 0.3 > found["x2"].log_likelihood


def test_wide_tables_are_measured_on_fewer_rows(fitted, table, monkeypatch):
    X, y = table
    asked = []
    kept = importance._by_draw

    def watched(posterior, inputs, targets):
        asked.append(len(inputs))
        return kept(posterior, inputs, targets)

    monkeypatch.setattr(importance, "_by_draw", watched)
    monkeypatch.setattr(importance, "MAX_PREDICTIONS", 3 * 3 * 40)
    fitted.importances(X, y)
    assert asked == [40, 120, 120, 120]


def test_it_is_on_record_by_column(table):
    X, y = table
    frame = pd.DataFrame({"a": X[:, 0], "idle": X[:, 2], "kind": np.where(X[:, 1] > 0, "p", "q"), "y": y})
    frame["y"] += np.where(X[:, 1] > 0, 4, 0)
    model = TableModel(tiny(), holdout=0.2).fit(frame, "y")
    names = [own["name"] for own in model.notes_["importances"]]
    assert sorted(names) == ["a", "idle", "kind"]  # one of each, though kind makes two inputs
    assert names[-1] == "idle"
    assert [own.name for own in model.importances(frame)][-1] == "idle"
    without = TableModel(tiny(), holdout=0).fit(frame, "y")
    assert len(without.notes_["importances"]) == 3


def test_in_words():
    own = {"error": 0.1234, "error_range": [0.1, 0.2], "log_likelihood": None}
    assert with_range(own, "error") == "0.123 (0.1 to 0.2)"
    assert with_range(own, "log_likelihood") == "not finite"


def test_shares_of_what_inputs_are_worth_serve_scikit_learn(table, monkeypatch):
    X, y = table
    model = tiny(training__num_steps=200).fit(X, y, sample_weight=np.arange(60) % 3)
    asked = []
    real = fitted_estimators.importances
    monkeypatch.setattr(fitted_estimators, "importances", lambda *rows: asked.append(1) or real(*rows))
    shares = model.feature_importances_
    assert shares.shape == (3,)
    assert shares.min() >= 0
    assert shares.sum() == pytest.approx(1)
    assert list(np.argsort(-shares)) == [0, 1, 2]
    np.testing.assert_array_equal(model.feature_importances_, shares)
    assert len(asked) == 1  # remembered
    assert SelectFromModel(model, prefit=True, threshold=0.02).transform(X).shape == (60, 2)
    assert model.fit(X, y)._worth is None  # of the fit before
    for unknown in (pickle.loads(pickle.dumps(model)), copy.copy(model)):
        assert not hasattr(unknown, "feature_importances_")
        with pytest.raises(
            AttributeError, match=r"not part of a pickled or loaded estimator: call importances\(X, y\)"
        ):
            _ = unknown.feature_importances_
    assert model.prune().feature_importances_.sum() == pytest.approx(1)
    with pytest.raises(NotFittedError):
        _ = tiny().feature_importances_


def test_shares_of_classes_and_of_nothing(table):
    X, y = table
    model = tiny(HorseshoeClassifier, training__num_steps=200).fit(X, np.where(y > 10, "high", "low"))
    assert model.feature_importances_.argmax() == 0
    idle = np.column_stack([X[:, 0], np.full(60, 2.0)])
    assert tiny(training__num_steps=5).fit(idle, y).feature_importances_[1] == pytest.approx(0, abs=1e-12)
