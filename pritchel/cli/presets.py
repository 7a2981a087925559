"""An estimator from what was said on the command line."""

from typing import Any

from pritchel.estimators.classifier import HorseshoeClassifier
from pritchel.estimators.regressor import HorseshoeRegressor

PRESETS = ("default", "fast", "paper")


def make_estimator(preset: str, classes: bool, arguments: dict[str, Any]) -> HorseshoeRegressor | HorseshoeClassifier:
    """A regressor or classifier of the named preset with the given arguments changed."""
    if preset not in PRESETS:
        raise ValueError(f"--preset must be one of {', '.join(PRESETS)}; got {preset!r}.")
    kind = HorseshoeClassifier if classes else HorseshoeRegressor
    known = kind().get_params(deep=False)
    wrong = [name for name in arguments if name.partition("__")[0] not in known]
    if wrong:
        flag = wrong[0].rpartition("__")[2].replace("_", "-")
        raise ValueError(f"--{flag} is not for {'classes' if classes else 'numbers'}.")
    made = {name: arguments[name] for name in ("prior", "likelihood") if name in arguments}
    estimator = (kind if preset == "default" else getattr(kind, preset))(**made)
    return estimator.set_params(**{name: value for name, value in arguments.items() if name not in made})
