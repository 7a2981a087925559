"""The demo: a toy curve and the diabetes table, fitted, scored against yardsticks and drawn."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_diabetes

from pritchel.data.toy import sine
from pritchel.estimators.regressor import HorseshoeRegressor
from pritchel.experiments.scores import Scores, bayesian_ridge_scores, constant_scores, estimator_scores
from pritchel.report.figures import draw_band_and_units


class DemoRow(NamedTuple):
    """One line of the demo's table."""

    data: str
    method: str
    units: str
    scores: Scores


def run_demo(folder: Path, say: Callable[[str], None] = print) -> tuple[list[DemoRow], Path]:
    """Fit both problems, write `demo.png` into the folder, and return the table."""
    rows: list[DemoRow] = []

    say("Fitting the toy curve: 500 noisy points of a sine, 200 units offered ...")
    train, test = sine(500, seed=0), sine(500, seed=1)
    curve = _fit_and_score(
        "sine", HorseshoeRegressor(hidden=(200,), num_members=1, random_state=0), (*train, *test), rows, say
    )

    say("Fitting scikit-learn's diabetes table: 353 rows for training, 50 units offered ...")
    X, y = load_diabetes(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    held, kept = order[:89], order[89:]
    table = HorseshoeRegressor(hidden=(50,), num_members=1, random_state=0)
    _fit_and_score("diabetes", table, (X[kept], y[kept], X[held], y[held]), rows, say)

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "demo.png"
    grid = np.linspace(-4.6, 4.6, 400)[:, None]
    draw_band_and_units(curve, *train, grid, np.sin(grid[:, 0]), path)
    return rows, path


def _fit_and_score(
    name: str, estimator: HorseshoeRegressor, split: tuple, rows: list[DemoRow], say: Callable[[str], None]
) -> HorseshoeRegressor:
    train_X, train_y, test_X, test_y = split
    start = time.perf_counter()
    estimator.fit(train_X, train_y)
    say(f"  done in {time.perf_counter() - start:.1f} s")
    small = estimator.prune()
    kept, offered = small.prune_report_.kept[0], small.prune_report_.offered[0]
    rows.append(DemoRow(name, "constant", "", constant_scores(train_y, test_y)))
    rows.append(DemoRow(name, "BayesianRidge", "", bayesian_ridge_scores(*split)))
    rows.append(DemoRow(name, "Pritchel", f"{offered}", estimator_scores(estimator, test_X, test_y)))
    rows.append(DemoRow(name, "Pritchel, pruned", f"{kept} of {offered}", estimator_scores(small, test_X, test_y)))
    return estimator
