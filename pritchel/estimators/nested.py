"""Parameters that reach into settings objects: `prior__layer_scale`, `training__num_steps`, in grids and pipelines."""

from typing import Any, Self

from sklearn.base import BaseEstimator

from pritchel.guide import Family
from pritchel.infer.options import Sampling, Training
from pritchel.model.likelihoods import LIKELIHOODS
from pritchel.model.priors import PRIORS
from pritchel.posterior.calibration import Calibration
from pritchel.settings import Settings, of_kind

BY_NAME: dict[str, Any] = {"family": Family, "calibration": Calibration}  # a text stands for their name
OWN_DEFAULTS: dict[str, type[Settings]] = {"training": Training, "sampling": Sampling}


def settings_of(argument: str, value: Any) -> Settings | None:
    """The settings that an argument's value is or stands for; None: it is none."""
    if isinstance(value, Settings):
        return value
    if value is None and argument in OWN_DEFAULTS:
        return OWN_DEFAULTS[argument]()
    if not isinstance(value, str):
        return None
    if argument in BY_NAME:
        return BY_NAME[argument](value)
    registry = {"prior": PRIORS, "likelihood": LIKELIHOODS}.get(argument, {})
    return of_kind(registry, value, argument) if value in registry else None


class NestedSettings(BaseEstimator):
    """An estimator whose settings objects can be read and changed by nested names.

    Settings are values: a change puts a new object in the old one's place, so estimators never share one by accident.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Constructor arguments and, with `deep`, the settings inside them as `argument__setting`."""
        params = super().get_params(deep=False)
        if deep:
            for argument, value in list(params.items()):
                inside = settings_of(argument, value)
                if inside is not None:
                    params |= {f"{argument}__{name}": part for name, part in inside.values().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Change arguments, or settings inside them by `argument__setting`."""
        known, nested = self._get_param_names(), {}
        for name, value in params.items():
            argument, _, setting = name.partition("__")
            if argument not in known:
                raise ValueError(f"{type(self).__name__} has no argument {argument!r}; it has {', '.join(known)}.")
            if setting:
                nested.setdefault(argument, {})[setting] = value
            else:
                setattr(self, argument, value)
        for argument, changes in nested.items():
            inside = settings_of(argument, getattr(self, argument))
            if inside is None:
                raise ValueError(f"{argument}={getattr(self, argument)!r} has no settings to change ({changes}).")
            setattr(self, argument, inside.changed(**changes))
        return self
