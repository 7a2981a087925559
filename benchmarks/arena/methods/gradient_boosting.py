"""scikit-learn's histogram gradient boosting: one model a quantile, and one of class probabilities."""

import numpy as np
from prediction import Fitted, Method, Prediction, num_bytes, of_quantiles
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

QUANTILES = np.array([0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975])


def numbers(X: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
    def of_loss(**options) -> HistGradientBoostingRegressor:
        return HistGradientBoostingRegressor(random_state=seed, **options).fit(X, y)

    mean, parts = of_loss(), [of_loss(loss="quantile", quantile=level) for level in QUANTILES]

    def predict(test_X: np.ndarray) -> Prediction:
        values = np.stack([part.predict(test_X) for part in parts], axis=1)
        return of_quantiles(mean.predict(test_X), QUANTILES, values)

    return Fitted(predict, num_bytes([mean, *parts]))


def classes(X: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
    model = HistGradientBoostingClassifier(random_state=seed).fit(X, y)
    return Fitted(model.predict_proba, num_bytes(model))


ABOUT = "HistGradientBoosting as it comes; nine quantiles, one model each"
METHODS = [Method("Gradient boosting", ABOUT, numbers, classes, ("scikit-learn",))]
