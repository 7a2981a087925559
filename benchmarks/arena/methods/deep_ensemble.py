"""Deep ensembles (Lakshminarayanan, Pritzel, Blundell 2017): five networks, each with a mean and a variance."""

import numpy as np
from prediction import Fitted, Method, Prediction, num_bytes, of_mixtures

MEMBERS = 5


def numbers(X: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
    from plain_network import Standardized, outputs, train

    data = Standardized.of(X, y)
    members = [train(data, MEMBERS * seed + k, is_normal=True)[0] for k in range(MEMBERS)]

    def predict(test_X: np.ndarray) -> Prediction:
        out = np.stack([outputs(params, data.inputs(test_X), 0.0, None) for params in members]).astype(float)
        sds = np.exp(0.5 * np.clip(out[..., 1], -12, 6))
        return of_mixtures(data.mean + data.sd * out[..., 0], data.sd * sds)

    return Fitted(predict, num_bytes(members))


def classes(X: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
    from plain_network import UNITS
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    networks = [MLPClassifier(UNITS, max_iter=500, random_state=MEMBERS * seed + k) for k in range(MEMBERS)]
    members = [make_pipeline(StandardScaler(), network).fit(X, y) for network in networks]
    return Fitted(lambda test_X: np.mean([own.predict_proba(test_X) for own in members], axis=0), num_bytes(members))


ABOUT = "five networks of 100 + 100, the best by a tenth of the rows held out; MLPClassifier for classes"
METHODS = [Method("Deep ensemble", ABOUT, numbers, classes, ("jax", "optax", "scikit-learn"))]
