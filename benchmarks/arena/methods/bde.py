"""Bayesian deep ensembles sampled by MILE, the nearest relative: all weights of small networks, none pruned.

It wants standardized inputs and targets, and one host device a member, set before JAX starts. It pins a version of
blackjax that Pritchel cannot live with, hence an environment of its own.
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from prediction import Fitted, Method, Prediction, of_mixtures

ADVISED = {
    "hidden_layers": [16, 16],
    "n_members": 8,
    "epochs": 200,
    "patience": 10,
    "validation_split": 0.15,
    "lr": 1e-3,
    "weight_decay": 1e-4,
    "warmup_steps": 5000,
    "n_samples": 800,
    "n_thinning": 2,
}
DEFAULTS = {"hidden_layers": [16, 16]}


class Scale:
    """Columns to mean 0 and deviation 1."""

    def __init__(self, values: np.ndarray):
        self.mean, self.sd = values.mean(0), values.std(0) + 1e-8

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """In those units."""
        return ((values - self.mean) / self.sd).astype(np.float32)


def _start(settings: dict) -> None:
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={settings.get('n_members', 2)}"


def _bytes_of_draws(model: Any) -> int:
    """It cannot be pickled; what it would have to keep are its draws of all weights."""
    import jax

    return sum(part.nbytes for part in jax.tree.leaves(model.positions_eT_))


def numbers(settings: dict) -> Callable[[np.ndarray, np.ndarray, int], Fitted]:
    def fit(X: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
        _start(settings)
        from bde import BdeRegressor
        from bde.loss import GaussianNLL

        of_inputs, of_targets = Scale(X), Scale(y)
        model = BdeRegressor(**settings, seed=seed, loss=GaussianNLL())
        model.fit(x=of_inputs(X), y=of_targets(y)[:, None])

        def predict(test_X: np.ndarray) -> Prediction:
            raw = np.asarray(model.predict(of_inputs(test_X), raw=True), float).reshape(-1, len(test_X), 2)
            sds = np.logaddexp(0, raw[..., 1]) + 1e-6
            return of_mixtures(of_targets.mean + of_targets.sd * raw[..., 0], of_targets.sd * sds)

        return Fitted(predict, _bytes_of_draws(model))

    return fit


def classes(settings: dict) -> Callable[[np.ndarray, np.ndarray, int], Fitted]:
    def fit(X: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
        _start(settings)
        from bde import BdeClassifier
        from bde.loss import CategoricalCrossEntropy

        of_inputs = Scale(X)
        model = BdeClassifier(**settings, seed=seed, loss=CategoricalCrossEntropy())
        model.fit(x=of_inputs(X), y=y.astype(np.int32))
        return Fitted(lambda test_X: np.asarray(model.predict_proba(of_inputs(test_X)), float), _bytes_of_draws(model))

    return fit


def _method(name: str, about: str, settings: dict, num_splits: int | None = None) -> Method:
    packages = ("sklearn-contrib-bde", "jax", "blackjax")
    of_kinds = numbers(settings), classes(settings)
    return Method(name, about, *of_kinds, packages, environment="bde", num_splits=num_splits)


METHODS = [
    _method("bde", "its README's example with 800 draws: 8 networks of 16 + 16 units, 5,000 steps of warm-up", ADVISED),
    _method("bde, defaults", "the constructor's defaults: 2 networks, 20 epochs, 10 draws", DEFAULTS, 1),
]
