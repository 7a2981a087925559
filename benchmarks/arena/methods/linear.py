"""The linear models anybody would try first: Bayesian ridge regression and logistic regression."""

import numpy as np
from prediction import Fitted, Method, Prediction, num_bytes, of_normals
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def numbers(X: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
    model = make_pipeline(StandardScaler(), BayesianRidge()).fit(X, y)

    def predict(test_X: np.ndarray) -> Prediction:
        return of_normals(*model.predict(test_X, return_std=True))

    return Fitted(predict, num_bytes(model))


def classes(X: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000)).fit(X, y)
    return Fitted(model.predict_proba, num_bytes(model))


METHODS = [Method("Linear", "BayesianRidge; LogisticRegression for classes", numbers, classes, ("scikit-learn",))]
