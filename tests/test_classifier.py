"""`HorseshoeClassifier`: scikit-learn's checks, probabilities, entropies, weights, pruning."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

from pritchel import HorseshoeClassifier, Training
from pritchel.estimators.card import card
from tests.conftest import tiny

CHECKED = HorseshoeClassifier(
    hidden=(4,),
    training=Training(num_steps=300, learning_rate=0.05),
    inference="variational",
    num_members=1,
    num_draws=25,
    progress=False,
)


@pytest.mark.slow  # two minutes; the regressor's own run every time
@parametrize_with_checks([CHECKED])
@pytest.mark.filterwarnings("ignore:The fit is no better than the constant predictor")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture(scope="module")
def fitted(iris):
    return tiny(HorseshoeClassifier, num_members=2, training__num_steps=800).fit(*iris)


def test_three_classes_by_name(fitted, iris):
    X, y = iris
    assert fitted.score(X, y) > 0.95
    proba = fitted.predict_proba(X)
    np.testing.assert_allclose(proba.sum(1), 1)
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[proba.argmax(1)])
    index = np.searchsorted(fitted.classes_, y)
    np.testing.assert_allclose(fitted.log_prob(X, y), np.log(proba[np.arange(150), index]))
    np.testing.assert_allclose(fitted.predict_log_proba(X), np.log(proba))
    with pytest.raises(ValueError, match="'rose', a class that the fit has not seen"):
        fitted.log_prob(X[:1], ["rose"])


def test_entropies_add_up_and_grow_away_from_the_data(fitted, iris):
    X, _ = iris
    parts = fitted.predict_uncertainty(X)
    np.testing.assert_allclose(parts.total, parts.aleatoric + parts.epistemic, atol=1e-9)
    proba = fitted.predict_proba(X)
    np.testing.assert_allclose(parts.total, -(proba * np.log(np.maximum(proba, 1e-300))).sum(1))
    sure, between = X[0], (X[60] + X[120]) / 2
    total = fitted.predict_uncertainty(np.stack([sure, between])).total
    assert total[1] > total[0]


def test_samples_have_the_predicted_shares(fitted, iris):
    X = iris[0][[60, 110]]
    draws = fitted.sample_y(X, 4000)
    for row, proba in zip(draws, fitted.predict_proba(X), strict=True):
        share = np.array([(row == label).mean() for label in fitted.classes_])
        assert np.all(np.abs(share - proba) < 0.05)
    assert fitted.sample_functions(X, 7).shape == (2, 3, 7)


def test_a_seed_may_be_a_generator_or_none(fitted, iris):
    X, y = iris
    for ask in (fitted.sample_functions, fitted.sample_y, fitted.check_predictions):
        arguments = (X, y) if ask == fitted.check_predictions else (X,)
        first, again = (ask(*arguments, n_samples=20, random_state=np.random.RandomState(0)) for _ in range(2))
        np.testing.assert_array_equal(first, again)
        assert len(ask(*arguments, n_samples=2, random_state=None)) == len(first)


@pytest.mark.parametrize("wrong", [-1.0, np.nan])
def test_weights_of_classes_are_zero_or_more(wrong):
    with pytest.raises(ValueError, match="class_weight must give every class a weight of zero or more"):
        tiny(HorseshoeClassifier, class_weight={0: wrong, 1: 1.0}).fit(np.arange(20.0)[:, None], [0, 1] * 10)


def test_the_card_of_a_classifier_is_about_classes_and_names_are_names():
    text = card({**CARD, "fitted": {**CARD["fitted"], "classes": [0, 1]}})
    assert "probabilities of the classes" in text
    assert "quantiles" not in text
    assert "from `` c`|x ``." in text


CARD = {
    "estimator": "HorseshoeClassifier",
    "versions": {"pritchel": "0"},
    "created": "today",
    "table": {"targets": ["y"], "columns": [{"name": "c`|x"}]},
    "notes": {},
    "fitted": {"members": [], "units_kept": [], "sampling_report": ["", "", [], None, None], "noise_report": None},
}


def test_class_weight_moves_the_boundary():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1))
    y = np.where(X[:, 0] + rng.normal(size=200) > 1.5, "rare", "common")
    plain = tiny(HorseshoeClassifier).fit(X, y)
    balanced = tiny(HorseshoeClassifier, class_weight="balanced").fit(X, y)
    weighted = tiny(HorseshoeClassifier, class_weight={"rare": 5.0, "common": 1.0}).fit(X, y)
    shares = [(model.predict(X) == "rare").mean() for model in (plain, weighted, balanced)]
    assert shares[0] < shares[1]
    assert shares[0] < shares[2]


def test_pruning_and_the_model_folder(fitted, iris, tmp_path):
    X, _ = iris
    small = fitted.prune(threshold=0.01)
    small.save(tmp_path / "m")
    loaded = HorseshoeClassifier.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict_proba(X), small.predict_proba(X))
    assert loaded.predict(X).tolist() == small.predict(X).tolist()
    assert loaded.classes_.tolist() == ["setosa", "versicolor", "virginica"]


@pytest.mark.slow
def test_scikit_learn_finds_a_temperature(iris):
    """As the documentation advises; classes stay as they were, and the network can still be pruned."""
    model = tiny(HorseshoeClassifier, training__num_steps=100)
    warm = CalibratedClassifierCV(model, method="temperature", cv=2, ensemble=False).fit(*iris)
    inner = warm.calibrated_classifiers_[0].estimator
    before, after = inner.predict_proba(iris[0]), warm.predict_proba(iris[0])
    np.testing.assert_array_equal(after.argmax(1), before.argmax(1))
    assert np.abs(after - before).max() > 1e-3
    assert len(inner.prune().units_kept_) == 1


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="one class only"):
        tiny(HorseshoeClassifier).fit(np.ones((5, 1)), ["a"] * 5)


def test_a_warm_start_keeps_the_classes_it_knows(iris):
    X, y = iris
    model = tiny(HorseshoeClassifier, training__num_steps=20, warm_start=True).fit(X, y)
    known = model.classes_
    is_first = y != known[2]
    model.fit(X[is_first], y[is_first])
    np.testing.assert_array_equal(model.classes_, known)
    assert model.predict_proba(X).shape == (len(X), 3)
    with pytest.raises(ValueError, match="a class that the fit has not seen"):
        model.fit(X, np.where(is_first, y, "another"))
    np.testing.assert_array_equal(model.classes_, known)


def test_a_label_for_each_row_is_asked_for(fitted, iris):
    X, y = iris
    for question in (fitted.log_prob, fitted.evaluate, fitted.check_predictions):
        for labels in (y[:1], y[:5]):
            with pytest.raises(ValueError, match="a label for each of the 150 rows"):
                question(X, labels)
