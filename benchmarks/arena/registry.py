"""All methods by name: what the files under methods/ list. A file put there is a contestant; nothing else changes."""

import importlib
from pathlib import Path

from prediction import Method


def _order(name: str) -> tuple[bool, str]:
    return name != "pritchel", name


def _methods() -> dict[str, Method]:
    names = {path.stem for path in (Path(__file__).parent / "methods").glob("*.py")} - {"__init__"}
    found = [
        method for name in sorted(names, key=_order) for method in importlib.import_module(f"methods.{name}").METHODS
    ]
    return {method.name: method for method in found}


METHODS = _methods()
