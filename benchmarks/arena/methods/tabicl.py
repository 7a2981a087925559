"""TabICL, a transformer trained beforehand on made-up tables. It runs where its package and its weights are."""

import numpy as np
from prediction import Fitted, Method, Prediction, of_quantiles
from scores import LEVELS

MOST_ROWS = 50_000


def numbers(X: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
    from tabicl import TabICLRegressor

    model = TabICLRegressor(random_state=seed).fit(X, y)

    def predict(test_X: np.ndarray) -> Prediction:
        values = np.asarray(model.predict(test_X, output_type="quantiles", alphas=list(LEVELS)), float)
        return of_quantiles(np.asarray(model.predict(test_X), float), LEVELS, values)

    return Fitted(predict)


def classes(X: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
    from tabicl import TabICLClassifier

    return Fitted(TabICLClassifier(random_state=seed).fit(X, y).predict_proba)


ABOUT = "as it comes, where .venv-tabicl has the package and its weights"
METHODS = [Method("TabICL", ABOUT, numbers, classes, ("tabicl", "torch"), MOST_ROWS, environment="tabicl")]
