"""Modules and arrays to and from JSON beside safetensors. Only this package's own classes are made; none is run."""

import dataclasses
import importlib.metadata
import json
import os
import platform
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

MAX_TEXT_BYTES = 2**26
Arrays = dict[str, np.ndarray]
PACKAGES = ("pritchel", "jax", "numpy", "scikit-learn")


class FileError(ValueError):
    """A file that cannot be used, with the reason."""


def encode(value: Any, arrays: Arrays, name: str) -> Any:
    """JSON for a value; the arrays in it go to `arrays`, under names that begin with `name`."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.ndarray, jax.Array)):
        arrays[name] = np.array(value, order="C")
        return {"array": name}
    if isinstance(value, (tuple, list)):
        return [encode(part, arrays, f"{name}.{index}") for index, part in enumerate(value)]
    if isinstance(value, eqx.Module):
        fields = {field: encode(getattr(value, field), arrays, f"{name}.{field}") for field in _fields(type(value))}
        return {"module": type(value).__name__, "fields": fields}
    raise TypeError(f"{name} cannot be written: it is a {type(value).__name__}.")


def decode(value: Any, arrays: Arrays) -> Any:
    """What `encode` wrote; lists come back as tuples."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, list):
        return tuple(decode(part, arrays) for part in value)
    if isinstance(value, dict) and value.keys() == {"array"}:
        if value["array"] not in arrays:
            raise FileError(f"the array {value['array']!r} is missing")
        return arrays[value["array"]]
    if isinstance(value, dict) and value.keys() == {"module", "fields"} and isinstance(value["fields"], dict):
        kind = _modules().get(value["module"])
        if kind is None:
            raise FileError(f"it holds a {value['module']!r}, which this version does not know")
        if value["fields"].keys() != set(_fields(kind)):
            raise FileError(f"the parts of a {value['module']} are not those that this version knows")
        return kind(**{field: decode(part, arrays) for field, part in value["fields"].items()})
    raise FileError("it holds something that is neither a number, a text, an array nor a known module")


def _fields(kind: type[eqx.Module]) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]


def _modules() -> dict[str, type[eqx.Module]]:
    """Every class of the model and the guide, by name."""
    import pritchel.guide
    import pritchel.guide.network
    import pritchel.model.network  # noqa: F401 - all of them must be defined to be found

    found, waiting = {}, list(eqx.Module.__subclasses__())
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if kind.__module__.startswith("pritchel."):
            found[kind.__name__] = kind
    return found


def write_arrays(path: Path, arrays: Arrays, metadata: Any = None) -> None:
    """Write arrays, and JSON beside them, to a file that is there whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    text = None if metadata is None else {"json": json.dumps(metadata)}
    save_file({name: np.asarray(array, order="C") for name, array in arrays.items()}, temporary, text)
    temporary.chmod(0o644)
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    os.replace(temporary, path)


def read_arrays(path: Path) -> tuple[Arrays, Any]:
    """The arrays of a file and the JSON beside them (None: there is none)."""
    try:
        with safe_open(path, "numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
            text = (file.metadata() or {}).get("json")
    except (SafetensorError, OSError, TypeError, ValueError, KeyError, AttributeError, MemoryError) as error:
        raise FileError(f"{path.name} cannot be read ({error})") from None
    return arrays, None if text is None else read_json(text)


def read_json(text: str) -> Any:
    """Strict JSON: no NaN, no bottomless nesting."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise FileError(f"the JSON is not valid ({error})") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that matter to a result."""
    return {"python": platform.python_version()} | {name: importlib.metadata.version(name) for name in PACKAGES}
