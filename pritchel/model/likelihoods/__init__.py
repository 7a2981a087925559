"""What the network's output means: one file a likelihood. A new file here is found by itself."""

import importlib
import pkgutil

from pritchel.model.likelihoods.base import LIKELIHOODS, Likelihood, LikelihoodSettings, LikelihoodStart, likelihood

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["LIKELIHOODS", "Likelihood", "LikelihoodSettings", "LikelihoodStart", "likelihood"]
