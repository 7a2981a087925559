"""The priors over the weights into a unit: one file a prior. A new file here is found by itself."""

import importlib
import pkgutil

from pritchel.model.priors.base import PRIORS, Moments, Prior, PriorSettings, PriorStart, Scales, prior

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["PRIORS", "Moments", "Prior", "PriorSettings", "PriorStart", "Scales", "prior"]
