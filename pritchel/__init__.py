"""Pritchel: Bayesian neural networks that choose their own width."""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["DynamicsModel", "HorseshoeClassifier", "HorseshoeRegressor", "TableError", "TableModel"]

if TYPE_CHECKING:
    from pritchel.estimators.classifier import HorseshoeClassifier
    from pritchel.estimators.dynamics import DynamicsModel
    from pritchel.estimators.regressor import HorseshoeRegressor
    from pritchel.tables.messages import TableError
    from pritchel.tables.model import TableModel

# JAX and scikit-learn are imported on first use, so that `import pritchel` and `pritchel --help` are instant.
_HOMES = {
    "DynamicsModel": "pritchel.estimators.dynamics",
    "HorseshoeClassifier": "pritchel.estimators.classifier",
    "HorseshoeRegressor": "pritchel.estimators.regressor",
    "TableError": "pritchel.tables.messages",
    "TableModel": "pritchel.tables.model",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'pritchel' has no attribute {name!r}")
