"""TabPFN, a transformer trained beforehand on made-up tables. It runs where its package and its weights are."""

import numpy as np
from prediction import Fitted, Method, Prediction

MOST_ROWS = 10_000


def numbers(X: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
    import torch
    from tabpfn import TabPFNRegressor

    model = TabPFNRegressor(random_state=seed).fit(X, y)

    def predict(test_X: np.ndarray) -> Prediction:
        full = model.predict(test_X, output_type="full")
        bars, logits = full["criterion"], full["logits"]

        def log_density(test_y: np.ndarray) -> np.ndarray:
            return -bars(logits, torch.as_tensor(test_y, dtype=logits.dtype)).detach().cpu().numpy()

        def quantiles(levels: np.ndarray) -> np.ndarray:
            values = model.predict(test_X, output_type="quantiles", quantiles=list(levels))
            return np.stack(values, axis=1)

        return Prediction(np.asarray(full["mean"], float), quantiles, log_density)

    return Fitted(predict)


def classes(X: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
    from tabpfn import TabPFNClassifier

    return Fitted(TabPFNClassifier(random_state=seed).fit(X, y).predict_proba)


ABOUT = "as it comes, where .venv-tabpfn has the package and its weights"
METHODS = [Method("TabPFN", ABOUT, numbers, classes, ("tabpfn", "torch"), MOST_ROWS, environment="tabpfn")]
