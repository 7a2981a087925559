"""Forests: quantiles of the training targets that share a leaf, or shares of classes."""

import numpy as np
from prediction import Fitted, Method, Prediction, num_bytes, of_quantiles
from scores import LEVELS


def numbers(X: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
    from quantile_forest import RandomForestQuantileRegressor

    model = RandomForestQuantileRegressor(500, min_samples_leaf=5, n_jobs=-1, random_state=seed).fit(X, y)

    def predict(test_X: np.ndarray) -> Prediction:
        values = model.predict(test_X, quantiles=list(LEVELS))
        return of_quantiles(model.predict(test_X, quantiles="mean"), LEVELS, values)

    return Fitted(predict, num_bytes(model))


def classes(X: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(500, n_jobs=-1, random_state=seed).fit(X, y)
    return Fitted(model.predict_proba, num_bytes(model))


ABOUT = "quantile forest, 500 trees, five rows a leaf at least; RandomForestClassifier with 500 trees for classes"
METHODS = [Method("Forest", ABOUT, numbers, classes, ("quantile-forest", "scikit-learn"))]
