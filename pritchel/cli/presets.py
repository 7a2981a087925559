"""An estimator from what was said on the command line."""

from typing import Any

from pritchel.estimators.base import HorseshoeEstimator
from pritchel.estimators.classifier import HorseshoeClassifier
from pritchel.estimators.regressor import HorseshoeRegressor

PRESETS = ("default", "fast", "paper")


def make_estimator(preset: str, classes: bool, arguments: dict[str, Any]) -> HorseshoeEstimator:
    """A regressor or classifier of the named preset with the given arguments changed."""
    if preset not in PRESETS:
        raise ValueError(f"--preset must be one of {', '.join(PRESETS)}; got {preset!r}.")
    kind = HorseshoeClassifier if classes else HorseshoeRegressor
    wrong = [name for name in arguments if name not in kind().get_params(deep=False)]
    if wrong:
        raise ValueError(f"--{wrong[0].replace('_', '-')} is not for {'classes' if classes else 'numbers'}.")
    make = kind if preset == "default" else getattr(kind, preset)
    return make(**arguments)
