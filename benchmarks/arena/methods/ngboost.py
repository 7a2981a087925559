"""NGBoost: natural gradient boosting of a normal distribution's mean and log deviation, or of class logits."""

import numpy as np
from prediction import Fitted, Method, Prediction, num_bytes, of_normals

ABOUT = "the paper's UCI protocol: 2,000 rounds at 0.01, stopped by a fifth of the rows held out"
VALIDATION = 0.2


def _parts(num: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng(seed).permutation(num)
    cut = max(1, int(VALIDATION * num))
    return order[cut:], order[:cut]


def _fit(model, X: np.ndarray, y: np.ndarray, seed: int):
    train, held = _parts(len(y), seed)
    return model.fit(X[train], y[train], X_val=X[held], Y_val=y[held], early_stopping_rounds=50)


def numbers(X: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
    from ngboost import NGBRegressor

    model = _fit(NGBRegressor(n_estimators=2000, verbose=False, random_state=seed), X, y, seed)

    def predict(test_X: np.ndarray) -> Prediction:
        own = model.pred_dist(test_X, max_iter=model.best_val_loss_itr)
        return of_normals(own.loc, own.scale)

    return Fitted(predict, num_bytes(model))


def classes(X: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
    from ngboost import NGBClassifier
    from ngboost.distns import k_categorical

    distribution = k_categorical(int(y.max()) + 1)
    model = _fit(NGBClassifier(Dist=distribution, n_estimators=2000, verbose=False, random_state=seed), X, y, seed)
    return Fitted(lambda test_X: model.predict_proba(test_X, max_iter=model.best_val_loss_itr), num_bytes(model))


METHODS = [Method("NGBoost", ABOUT, numbers, classes, ("ngboost", "scikit-learn"))]
