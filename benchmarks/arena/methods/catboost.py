"""CatBoost with a mean and a variance for every row, or class probabilities."""

import numpy as np
from prediction import Fitted, Method, Prediction, num_bytes, of_normals

ABOUT = "RMSEWithUncertainty, 1,000 rounds, the best by a tenth of the rows held out"


def _fit(model, X: np.ndarray, y: np.ndarray, seed: int):
    order = np.random.default_rng(seed).permutation(len(y))
    cut = max(1, len(y) // 10)
    return model.fit(X[order[cut:]], y[order[cut:]], eval_set=(X[order[:cut]], y[order[:cut]]), use_best_model=True)


def numbers(X: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
    from catboost import CatBoostRegressor

    quiet = {"verbose": False, "allow_writing_files": False, "random_seed": seed}
    model = _fit(CatBoostRegressor(loss_function="RMSEWithUncertainty", **quiet), X, y, seed)

    def predict(test_X: np.ndarray) -> Prediction:
        mean, variance = model.predict(test_X).T
        return of_normals(mean, np.sqrt(variance))

    return Fitted(predict, num_bytes(model))


def classes(X: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
    from catboost import CatBoostClassifier

    quiet = {"verbose": False, "allow_writing_files": False, "random_seed": seed}
    model = _fit(CatBoostClassifier(loss_function="MultiClass", classes_count=int(y.max()) + 1, **quiet), X, y, seed)
    return Fitted(model.predict_proba, num_bytes(model))


METHODS = [Method("CatBoost", ABOUT, numbers, classes, ("catboost",))]
