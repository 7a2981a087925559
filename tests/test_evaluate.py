"""Scores against scikit-learn's, against the estimator's own answers, and by hand."""

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from pritchel import HorseshoeClassifier
from pritchel.posterior.evaluate import (
    LEVELS,
    calibration_curve,
    calibration_error,
    evaluate,
    gaussian_log_density,
    reliability_curve,
)
from tests.conftest import tiny


def test_scores_of_a_regression(fitted, table):
    X, y = table
    found = fitted.evaluate(X, y)
    (score,) = found.scores
    assert score.rmse == pytest.approx(metrics.root_mean_squared_error(y, fitted.predict(X)))
    assert score.mae == pytest.approx(metrics.mean_absolute_error(y, fitted.predict(X)))
    assert score.log_likelihood == pytest.approx(fitted.log_prob(X, y).mean())
    assert score.constant_rmse == pytest.approx(y.std())
    for level, share in zip(LEVELS, score.coverage, strict=True):
        low, high = fitted.predict_interval(X, coverage=level).T
        assert share == pytest.approx(np.mean((low <= y) & (y <= high)))


def test_crps_is_the_integral_of_the_squared_gap_of_distribution_functions(fitted, table):
    """Over five rows, against the integral on a grid; the score is from samples, so it differs by their error."""
    X, y = table[0][:5], table[1][:5]
    grid = np.linspace(y.min() - 15, y.max() + 15, 3001)
    cdf = fitted.posterior_.cdf(np.repeat(X, len(grid), axis=0), np.tile(grid, 5)[:, None]).reshape(5, -1)
    exact = np.trapezoid((cdf - (y[:, None] <= grid)) ** 2, grid)
    (score,) = fitted.evaluate(X, y).scores
    assert score.crps == pytest.approx(exact.mean(), rel=0.1)


def test_scores_of_classes_are_scikit_learns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    labels = np.array(["left", "middle", "right"])[np.digitize(X[:, 0] + 0.5 * rng.normal(size=90), [-0.5, 0.5])]
    model = tiny(HorseshoeClassifier, training__num_steps=100).fit(X, labels)
    (score,) = model.evaluate(X, labels, names=["side"]).scores
    proba = model.predict_proba(X)
    assert score.accuracy == metrics.accuracy_score(labels, model.predict(X))
    assert score.log_likelihood == pytest.approx(-metrics.log_loss(labels, proba))
    assert score.brier == pytest.approx(np.mean(np.sum((proba - (labels[:, None] == model.classes_)) ** 2, axis=1)))
    shares = np.mean(labels[:, None] == model.classes_, axis=0)
    assert score.constant_accuracy == shares.max()
    assert score.constant_log_likelihood == pytest.approx(np.sum(shares * np.log(shares)))
    assert score.calibration_error == calibration_error(proba.max(1), model.predict(X) == labels)


def test_calibration_error_by_hand():
    """Two rows in the bin from 0.5, half of them right; two in the last one, all right; gaps do not cancel."""
    confidence, is_right = np.array([0.55, 0.59, 0.9, 1.0]), np.array([True, False, True, True])
    mean, right, counts = reliability_curve(confidence, is_right)
    np.testing.assert_allclose(mean, [0.57, 0.95])
    np.testing.assert_allclose(right, [0.5, 1.0])
    np.testing.assert_array_equal(counts, [2, 2])
    assert calibration_error(confidence, is_right) == pytest.approx(0.5 * 0.07 + 0.5 * 0.05)


def test_calibration_curve_of_uniform_values_is_the_diagonal():
    levels, shares = calibration_curve((np.arange(1000) + 0.5) / 1000)
    np.testing.assert_allclose(shares, levels, atol=0.002)


def test_the_constant_predictor_knows_the_targets_it_is_told_and_gives_counts_probabilities(fitted, table):
    X, y = table
    told = evaluate(fitted.posterior_, X, y[:, None], ["y"], train_targets=y[:10, None]).scores[0]
    assert told.constant_rmse == pytest.approx(np.sqrt(np.mean((y - y[:10].mean()) ** 2)))
    rare = np.zeros(60)
    rare[[3, 40]] = 1
    (score,) = tiny(likelihood="poisson", training__num_steps=50).fit(X, rare).evaluate(X, rare).scores
    mean, sd = rare.mean(), rare.std()
    by_hand = np.log(stats.norm.cdf((rare + 0.5 - mean) / sd) - stats.norm.cdf((rare - 0.5 - mean) / sd)).mean()
    assert score.constant_log_likelihood == pytest.approx(by_hand)
    assert by_hand < 0


def test_a_gaussian_that_is_sure_of_a_count_gives_it_all_and_far_ones_next_to_nothing():
    found = gaussian_log_density(np.array([2.0, 3.0, 9.0]), 2.0, 1e-12, True)
    assert found[0] == 0
    assert np.all(found[1:] < -100)


def test_counts_below_zero_are_refused_and_not_scored():
    X = np.arange(20.0)[:, None]
    model = tiny(likelihood="poisson", training__num_steps=20).fit(X, X[:, 0] % 4)
    with pytest.raises(ValueError, match=r"not negative; row 1 is \[-2"):
        model.evaluate(X[:2], [1.0, -2.0])
