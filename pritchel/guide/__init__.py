"""The guide q(weights, scales): one file a family. A new file here is found by itself."""

import importlib
import pkgutil

from pritchel.guide.base import FAMILIES, Family, LayerGuide, LayerStart, family

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["FAMILIES", "Family", "LayerGuide", "LayerStart", "family"]
