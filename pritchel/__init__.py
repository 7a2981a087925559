"""Pritchel: Bayesian neural networks that choose their own width."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["DynamicsModel", "HorseshoeRegressor"]

if TYPE_CHECKING:
    from pritchel.dynamics import DynamicsModel
    from pritchel.estimators.regressor import HorseshoeRegressor


def __getattr__(name: str) -> Any:
    # JAX and scikit-learn are imported on first use, so that `import pritchel` and `pritchel --help` are instant.
    if name == "HorseshoeRegressor":
        from pritchel.estimators.regressor import HorseshoeRegressor

        return HorseshoeRegressor
    if name == "DynamicsModel":
        from pritchel.dynamics import DynamicsModel

        return DynamicsModel
    raise AttributeError(f"module 'pritchel' has no attribute {name!r}")
