"""The guide q(weights, scales): one file a family, each registering itself by name."""

from pritchel.guide import factorized, semi_structured, structured, tied, vmg
from pritchel.guide.base import FAMILIES, LayerGuide, LayerStart, family

__all__ = [
    "FAMILIES",
    "LayerGuide",
    "LayerStart",
    "factorized",
    "family",
    "semi_structured",
    "structured",
    "tied",
    "vmg",
]
