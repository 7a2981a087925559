"""Scores for scikit-learn's `scoring=`, by which cross-validations and searches can choose; higher is better.

>>> import numpy as np
>>> from sklearn.model_selection import cross_val_score
>>> from sklearn.pipeline import make_pipeline
>>> from sklearn.preprocessing import StandardScaler
>>> from pritchel import HorseshoeRegressor
>>> from pritchel.estimators import scorers
>>> X = np.linspace(-2, 2, 60)[:, None]
>>> model = make_pipeline(StandardScaler(), HorseshoeRegressor.fast(hidden=(5,), training__num_steps=200))
>>> len(cross_val_score(model, X, np.sin(X[:, 0]), scoring=scorers.log_likelihood, cv=2))
2

A pipeline has no `predict_interval` of its own; `through` gives what has, and the rows as it takes them:

>>> estimator, rows = scorers.through(model.fit(X, np.sin(X[:, 0])), X)
>>> estimator.predict_interval(rows).shape
(60, 2)
"""

from typing import Any

import numpy as np
import scoringrules

from pritchel.posterior.evaluate import crps


def through(model: Any, X: Any) -> tuple[Any, Any]:
    """The fitted estimator inside pipelines and searches, and inputs as it takes them."""
    while True:
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "steps"):
            X = model[:-1].transform(X) if len(model.steps) > 1 else X
            model = model[-1]
        else:
            return model, X


def log_likelihood(model: Any, X: Any, y: Any) -> float:
    """Mean log predictive density a row, or log probability of a class or count."""
    estimator, rows = through(model, X)
    return float(np.mean(estimator.log_prob(rows, y)))


def neg_crps(model: Any, X: Any, y: Any) -> float:
    """Minus the continuous ranked probability score, in the units of y; averaged over several targets."""
    estimator, rows = through(model, X)
    inputs, targets = estimator.known_rows(rows, y)
    return -float(np.mean(crps(estimator.posterior_, inputs, targets)))


def neg_interval_score(model: Any, X: Any, y: Any, coverage: float = 0.9) -> float:
    """Minus the interval score: width, and a fine for rows outside. `functools.partial` sets another coverage."""
    estimator, rows = through(model, X)
    ends = estimator.predict_interval(rows, coverage)
    return -float(np.mean(scoringrules.interval_score(np.asarray(y, float), ends[..., 0], ends[..., 1], 1 - coverage)))
