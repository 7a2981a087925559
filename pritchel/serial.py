"""Typed values to JSON beside safetensors and back, and the versions of what is installed.

Only classes of this package are made, and of packages that have registered a family, prior or likelihood in this
process or through the entry-point group `pritchel`. A file names classes; it never has anything imported.
"""

import dataclasses
import importlib.metadata
import json
import platform
import sys
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from safetensors.numpy import load, save

from pritchel import __version__
from pritchel.lazy import jax
from pritchel.tree import tree_kinds
from pritchel.writing import write_bytes

MAX_TEXT_BYTES = 2**26
Arrays = dict[str, np.ndarray]
Kind = TypeVar("Kind")
PACKAGES = ("jax", "numpy", "scikit-learn")


class FileError(ValueError):
    """A file that cannot be used, with the reason."""


_TRUSTED = {"pritchel"}  # top-level packages whose classes a file may name
_VALUES: dict[str, type] = {}


def trust(module: str) -> None:
    """Let files name the classes of the package that a module belongs to: it has registered something here."""
    _TRUSTED.add(module.split(".")[0])


def stored(kind: type[Kind]) -> type[Kind]:
    """Let a NamedTuple class be written with its name and its fields' names; for classes of this package."""
    _VALUES[kind.__name__] = kind
    return kind


def encode(value: Any, arrays: Arrays, name: str) -> Any:
    """JSON for a value; the arrays in it go to `arrays`, under names that begin with `name`."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray) or ("jax" in sys.modules and isinstance(value, jax.Array)):
        arrays[name] = np.array(value, order="C")
        return {"array": name}
    if _VALUES.get(type(value).__name__) is type(value):
        fields = {field: encode(part, arrays, f"{name}.{field}") for field, part in value._asdict().items()}
        return {"value": type(value).__name__, "fields": fields}
    if isinstance(value, (tuple, list)):
        return [encode(part, arrays, f"{name}.{index}") for index, part in enumerate(value)]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"items": {key: encode(part, arrays, f"{name}.{key}") for key, part in value.items()}}
    if isinstance(value, tree_kinds()) and _is_trusted(type(value)):
        fields = {field: encode(getattr(value, field), arrays, f"{name}.{field}") for field in _fields(type(value))}
        return {"module": _class_name(type(value)), "fields": fields}
    raise TypeError(
        f"{name} cannot be written: it is a {_class_name(type(value))}, of a package that has registered no family, "
        "prior or likelihood."
    )


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
    if isinstance(value, dict) and value.keys() == {"items"} and isinstance(value["items"], dict):
        return {key: decode(part, arrays) for key, part in value["items"].items()}
    if isinstance(value, dict) and isinstance(value.get("fields"), dict) and len(value) == 2:
        name = value.get("module", value.get("value"))
        kind = _known_class(name) if "module" in value else _VALUES.get(str(name))
        if kind is None:
            raise FileError(
                f"it holds a {name!r}, which this version does not know; if another package has it, import that first"
            )
        own = kind._fields if "value" in value else _fields(kind)
        if value["fields"].keys() != set(own):
            raise FileError(f"the parts of a {name} are not those that this version knows")
        return kind(**{field: decode(part, arrays) for field, part in value["fields"].items()})
    raise FileError("it holds something that is neither a number, a text, an array nor a known class")


def _fields(kind: type) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]


def _is_trusted(kind: type) -> bool:
    return kind.__module__.split(".")[0] in _TRUSTED


def _class_name(kind: type) -> str:
    """Of this package the class's name alone; of others with its module."""
    is_own = kind.__module__.split(".")[0] == "pritchel"
    return kind.__name__ if is_own else f"{kind.__module__}:{kind.__name__}"


def _known_class(name: Any) -> type | None:
    """A trusted class that is defined in this process, or by a package whose entry point says that it extends us."""
    found = _trusted_classes().get(name)
    if found is None and isinstance(name, str) and ":" in name:
        for entry in importlib.metadata.entry_points(group="pritchel"):
            if entry.value.split(":")[0].split(".")[0] == name.split(".")[0].split(":")[0]:
                entry.load()
        found = _trusted_classes().get(name)
    return found


def _trusted_classes() -> dict[str, type]:
    found, waiting = {}, [own for kind in tree_kinds() for own in kind.__subclasses__()]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if _is_trusted(kind) and (_class_name(kind) not in found or _is_current(kind)):
            found[_class_name(kind)] = kind
    return found


def _is_current(kind: type) -> bool:
    """Whether its module still means this class by its name: a reloaded module leaves older ones behind."""
    return getattr(sys.modules.get(kind.__module__), kind.__name__, None) is kind


def pack_arrays(arrays: Arrays, metadata: Any = None) -> bytes:
    """The bytes of a safetensors file with arrays, and JSON beside them."""
    text = None if metadata is None else {"json": json.dumps(metadata)}
    return save({name: np.asarray(array, order="C") for name, array in arrays.items()}, text)


def parse_arrays(data: bytes, name: str) -> tuple[Arrays, Any]:
    """The arrays in the bytes of a file and the JSON beside them (None: there is none)."""
    try:
        arrays = load(data)
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        text = header.get("__metadata__", {}).get("json")
    except (Exception, MemoryError) as error:  # the package's own errors are of many kinds
        raise FileError(f"{name} cannot be read ({error})") from None
    return arrays, None if text is None else read_json(text)


def write_arrays(path: Path, arrays: Arrays, metadata: Any = None) -> None:
    """Write arrays, and JSON beside them, to a file that is there whole or not at all."""
    write_bytes(path, pack_arrays(arrays, metadata))


def read_arrays(path: Path) -> tuple[Arrays, Any]:
    """The arrays of a file and the JSON beside them (None: there is none)."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileError(f"{path.name} cannot be read ({error.strerror or error})") from None
    return parse_arrays(data, path.name)


def read_json(text: str) -> Any:
    """Strict JSON: no NaN, no bottomless nesting."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise FileError(f"the JSON is not valid ({error})") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


def without_infinities(value: Any) -> Any:
    """JSON values with null for numbers that are not finite, which JSON cannot say."""
    if isinstance(value, dict):
        return {name: without_infinities(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_infinities(part) for part in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def with_nans(notes: dict[str, Any]) -> dict[str, Any]:
    """Notes whose scores and checks have NaN where null was written."""
    listed = {name: notes[name] for name in ("scores", "checks") if name in notes}
    return {**notes, **{name: [_with_nans(entry) for entry in entries] for name, entries in listed.items()}}


def _with_nans(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_nans(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_with_nans(part) for part in value]
    return float("nan") if value is None else value


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that matter to a result."""
    own = {"python": platform.python_version(), "pritchel": __version__}
    return own | {name: _installed(name) for name in PACKAGES}


@cache
def _installed(package: str) -> str:
    """Read once: it takes milliseconds, and a run may write a thousand models."""
    return importlib.metadata.version(package)
