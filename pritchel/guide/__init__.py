"""The guide q(weights, scales): one file a family, each registering itself by name."""

from pritchel.guide import factorized, semi_structured, structured, tied, vmg
from pritchel.guide.base import FAMILIES, Family, LayerGuide, LayerStart, family

__all__ = [
    "FAMILIES",
    "Family",
    "LayerGuide",
    "LayerStart",
    "factorized",
    "family",
    "semi_structured",
    "structured",
    "tied",
    "vmg",
]
