"""scikit-learn's Gaussian process: squared exponential with a length scale a column, noise learned."""

import numpy as np
from prediction import Fitted, Method, Prediction, num_bytes, of_normals

ABOUT = "squared exponential, a length scale a column, noise learned; standardized; three starts, one beyond 1,000 rows"
MANY_ROWS, MOST_ROWS = 1000, 2000


def numbers(X: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    kernel = ConstantKernel(1.0, (1e-3, 1e4)) * RBF(np.full(X.shape[1], np.sqrt(X.shape[1])), (1e-2, 1e4))
    process = GaussianProcessRegressor(
        kernel + WhiteKernel(0.1, (1e-8, 1e2)),
        normalize_y=True,
        n_restarts_optimizer=2 if len(y) <= MANY_ROWS else 0,
        random_state=seed,
    )
    model = make_pipeline(StandardScaler(), process).fit(X, y)

    def predict(test_X: np.ndarray) -> Prediction:
        return of_normals(*model.predict(test_X, return_std=True))  # the deviation has the noise in it

    return Fitted(predict, num_bytes(model))


def classes(X: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    kernel = ConstantKernel(1.0, (1e-3, 1e4)) * RBF(np.sqrt(X.shape[1]), (1e-2, 1e4))
    model = make_pipeline(StandardScaler(), GaussianProcessClassifier(kernel, random_state=seed)).fit(X, y)
    return Fitted(model.predict_proba, num_bytes(model))


METHODS = [Method("Gaussian process", ABOUT, numbers, classes, ("scikit-learn",), MOST_ROWS)]
