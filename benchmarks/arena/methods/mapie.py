"""MAPIE's cross-conformal intervals (CV+, five folds) around gradient boosting."""

import numpy as np
from prediction import Fitted, Method, Prediction, num_bytes, of_quantiles
from sklearn.ensemble import HistGradientBoostingRegressor

SHARES = np.array([0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95])
MOST_ROWS = 10_000  # it compares every test row with every training row


def numbers(X: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
    from mapie.regression import CrossConformalRegressor

    boosting = HistGradientBoostingRegressor(random_state=seed)
    shares = SHARES[len(y) * (1 - SHARES) >= 2]  # so few rows cannot promise more
    model = CrossConformalRegressor(boosting, confidence_level=list(shares), cv=5, random_state=seed)
    model.fit_conformalize(X, y)

    def predict(test_X: np.ndarray) -> Prediction:
        mean, ends = model.predict_interval(test_X)  # ends: rows x (low, high) x shares
        levels = np.concatenate([0.5 - shares[::-1] / 2, [0.5], 0.5 + shares / 2])
        values = np.concatenate([ends[:, 0, ::-1], mean[:, None], ends[:, 1]], axis=1)
        return of_quantiles(mean, levels, values)

    return Fitted(predict, num_bytes(model))


ABOUT = "CV+ with five folds around HistGradientBoosting as it comes"
METHODS = [Method("MAPIE", ABOUT, numbers, packages=("mapie", "scikit-learn"), max_rows=MOST_ROWS)]
