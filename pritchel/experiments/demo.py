"""The demo: a curve, a function of five columns among ten, and a table that wants a line, scored beside yardsticks."""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1

from pritchel.data.toy import uneven_sine
from pritchel.estimators.regressor import HorseshoeRegressor
from pritchel.experiments.scores import Scores, bayesian_ridge_scores, constant_scores, estimator_scores


class DemoRow(NamedTuple):
    """One line of the demo's table."""

    data: str
    method: str
    units: str
    scores: Scores


class Demo(NamedTuple):
    """The demo's table, and the fit of the curve with the points it saw."""

    rows: list[DemoRow]
    curve: HorseshoeRegressor
    X: np.ndarray
    y: np.ndarray


def run_demo(say: Callable[[str], None] = print) -> Demo:
    """Fit and score all three problems."""
    rows: list[DemoRow] = []

    say("Fitting a curve: 400 points of a sine whose noise grows, 200 units offered ...")
    train, test = uneven_sine(400, seed=0), uneven_sine(1000, seed=1)
    curve = _fit_and_score("sine", _network(200), (*train, *test), rows, say)

    say("Fitting Friedman's function: 400 rows, ten columns of which five matter, 50 units offered ...")
    X, y = make_friedman1(1400, noise=1.0, random_state=0)
    _fit_and_score("Friedman", _network(50), (X[:400], y[:400], X[400:], y[400:]), rows, say)

    say("Fitting scikit-learn's diabetes table: 353 rows, where a line is hard to beat, 50 units offered ...")
    X, y = load_diabetes(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    held, kept = order[:89], order[89:]
    _fit_and_score("diabetes", _network(50), (X[kept], y[kept], X[held], y[held]), rows, say)
    return Demo(rows, curve, *train)


def _network(num_units: int) -> HorseshoeRegressor:
    return HorseshoeRegressor(hidden=(num_units,), num_members=1, random_state=0)


def _fit_and_score(
    name: str, estimator: HorseshoeRegressor, split: tuple, rows: list[DemoRow], say: Callable[[str], None]
) -> HorseshoeRegressor:
    train_X, train_y, test_X, test_y = split
    start = time.perf_counter()
    estimator.fit(train_X, train_y)
    say(f"  done in {time.perf_counter() - start:.1f} s")
    small = estimator.prune()
    report = small.prune_report_[0]
    kept, offered = report.kept[0], report.offered[0]
    rows.append(DemoRow(name, "constant", "", constant_scores(train_y, test_y)))
    rows.append(DemoRow(name, "BayesianRidge", "", bayesian_ridge_scores(*split)))
    rows.append(DemoRow(name, "Pritchel", f"{offered}", estimator_scores(estimator, test_X, test_y)))
    rows.append(DemoRow(name, "Pritchel, pruned", f"{kept} of {offered}", estimator_scores(small, test_X, test_y)))
    return estimator
