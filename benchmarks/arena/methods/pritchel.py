"""Pritchel: as it comes, variational, fast, and with the paper's settings."""

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from prediction import Fitted, Method, Prediction


def _saved_bytes(model: Any) -> int:
    with tempfile.TemporaryDirectory() as folder:
        place = model.save(Path(folder) / "model")
        return sum(path.stat().st_size for path in place.rglob("*") if path.is_file())


def _pruned(model: Any) -> Any:
    """What is deployed: a sampled network has been pruned before, another one is now."""
    return model if model.sampling_report_ is not None else model.prune()


def numbers(make: Callable) -> Callable[[np.ndarray, np.ndarray, int], Fitted]:
    def fit(X: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
        from pritchel import HorseshoeRegressor

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # it says what it thinks of the fit; the scores say more
            model = make(HorseshoeRegressor, random_state=seed, progress=False).fit(X, y)

        def predict(test_X: np.ndarray) -> Prediction:
            return Prediction(
                model.predict(test_X),
                lambda levels: model.predict_quantiles(test_X, levels),
                lambda test_y: model.log_prob(test_X, test_y),
            )

        return Fitted(predict, _saved_bytes(_pruned(model)))

    return fit


def classes(make: Callable) -> Callable[[np.ndarray, np.ndarray, int], Fitted]:
    def fit(X: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
        from pritchel import HorseshoeClassifier

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = make(HorseshoeClassifier, random_state=seed, progress=False).fit(X, y)
        return Fitted(model.predict_proba, _saved_bytes(_pruned(model)))

    return fit


def _method(name: str, about: str, make: Callable, num_splits: int | None = 1) -> Method:
    return Method(name, about, numbers(make), classes(make), ("pritchel", "jax"), num_splits=num_splits)


METHODS = [
    _method(
        "Pritchel", "as it comes: pruned, then sampled; noise as the rows ask for", lambda kind, **o: kind(**o), None
    ),
    _method("Pritchel, variational", "the first stage alone", lambda kind, **o: kind(inference="variational", **o)),
    _method("Pritchel, fast", "the preset `fast`", lambda kind, **o: kind.fast(**o)),
    _method("Pritchel, paper", "the preset `paper`", lambda kind, **o: kind.paper(**o)),
]
