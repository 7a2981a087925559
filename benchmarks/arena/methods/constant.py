"""The same answer for every row: quantiles and a normal density of the training targets, or the classes' shares."""

import numpy as np
from prediction import Fitted, Method, Prediction, of_normals


def numbers(X: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
    def predict(test_X: np.ndarray) -> Prediction:
        rows = len(test_X)
        own = of_normals(np.full(rows, y.mean()), np.full(rows, y.std(ddof=1)))
        return own._replace(quantiles=lambda levels: np.tile(np.quantile(y, levels), (rows, 1)))

    return Fitted(predict, 16)


def classes(X: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
    shares = np.bincount(y) / len(y)
    return Fitted(lambda test_X: np.tile(shares, (len(test_X), 1)), 8 * len(shares))


METHODS = [Method("Constant", "mean and spread of the training targets, whatever the inputs", numbers, classes)]
