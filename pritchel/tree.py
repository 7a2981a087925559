"""Immutable trees of arrays: what models and guides are, to numpy and to JAX alike.

A tree is a frozen dataclass. JAX compiles and differentiates it as the arrays in its fields; it learns of a class when
that is made or, of classes that were there before it, at the end of its own import.
"""

import dataclasses
import sys
from abc import ABC
from collections.abc import Callable, Iterator
from importlib.abc import MetaPathFinder
from typing import Any, dataclass_transform, get_args

import numpy as np


def static(**options: Any) -> Any:
    """A field that is no array: text, a flag. It is part of what is compiled, and JAX leaves it as it is."""
    return dataclasses.field(metadata={"static": True}, **options)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(static, dataclasses.field))
class Tree(ABC):  # noqa: B024 - what is abstract is up to those that extend it
    """The base of what holds arrays. A subclass needs no decorator: annotations are its fields, methods what it does.

    `dataclasses.replace` makes a changed copy. Fields are arrays, trees, tuples or dicts of these, or None; what is
    none of that is `static()`.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        dataclasses.dataclass(frozen=True, eq=False)(cls)
        _waiting.append(cls)
        if "jax" in sys.modules:
            _register_waiting()


def tree_kinds() -> tuple[type, ...]:
    """The classes that trees extend: `Tree`, and equinox's where another package has brought it."""
    equinox = sys.modules.get("equinox")
    return (Tree,) if equinox is None else (Tree, equinox.Module)


def leaves(tree: Any) -> list[Any]:
    """Every array in a tree, in JAX's order."""
    node = _node_of(tree)
    return [tree] if node is None else [leaf for part in node[0] for leaf in leaves(part)]


def map_leaves(
    function: Callable[..., Any], tree: Any, *others: Any, is_leaf: Callable[[Any], bool] = lambda part: False
) -> Any:
    """The tree with what a function makes of each leaf, and of those in its place in other trees of the same shape."""
    node = None if is_leaf(tree) else _node_of(tree)
    if node is None:
        return function(tree, *others)
    parts, join = node
    beside = [_parts(other) for other in others]
    return join([map_leaves(function, *some, is_leaf=is_leaf) for some in zip(parts, *beside, strict=True)])


def is_alike(tree: Any, other: Any) -> bool:
    """Whether two trees differ in nothing but their leaves."""
    one, two = _node_of(tree), _node_of(other)
    if one is None or two is None:
        return one is two
    has_same_names = type(tree) is type(other) and (not isinstance(tree, dict) or tree.keys() == other.keys())
    return has_same_names and len(one[0]) == len(two[0]) and all(map(is_alike, one[0], two[0]))


def fits_annotations(tree: Any) -> bool:
    """Whether every array has the shape that its field says, a name standing for one length within a tree."""
    lengths: dict[str, Any] = {}
    if isinstance(tree, tree_kinds()):
        for field in dataclasses.fields(tree):
            kinds: Any = get_args(field.type) or (field.type,)
            value = getattr(tree, field.name)
            names = [kind.dim_str.split() for kind in kinds if hasattr(kind, "dim_str")]
            if names and value is not None and not _binds(names[0], np.shape(value), lengths):
                return False
    return all(map(fits_annotations, (_node_of(tree) or [()])[0]))


def _binds(names: list[str], shape: tuple[int, ...], lengths: dict[str, Any]) -> bool:
    """Whether a shape is as named, names that are new standing for its lengths from now on."""
    if len(names) == 1 and names[0].startswith("*"):
        return lengths.setdefault(names[0], shape) == shape
    if not all(name.isidentifier() or name.isdigit() for name in names):
        return True  # a package of its own may say more than is known here
    return len(names) == len(shape) and all(
        name == str(length) or (not name.isdigit() and lengths.setdefault(name, length) == length)
        for name, length in zip(names, shape, strict=True)
    )


def _node_of(value: Any) -> tuple[list[Any], Callable[[list[Any]], Any]] | None:
    """The parts of a node, in JAX's order, and what makes such a node of other parts; None: it is a leaf."""
    kind = type(value)
    if value is None:
        return [], lambda parts: None
    if kind is dict:
        names = sorted(value)
        return [value[name] for name in names], lambda parts: dict(zip(names, parts, strict=True))
    if kind in (tuple, list):
        return list(value), kind
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return list(value), lambda parts: kind(*parts)
    if isinstance(value, tree_kinds()):
        arrays, fixed = _field_names(kind)
        kept = {name: getattr(value, name) for name in fixed}
        return [getattr(value, name) for name in arrays], lambda parts: _made(kind, arrays, parts, kept)
    return None


def _parts(value: Any) -> list[Any]:
    if (node := _node_of(value)) is None:
        raise TypeError(f"Trees of one shape were wanted; where one has parts, another has a {type(value).__name__}.")
    return node[0]


def _field_names(kind: Any) -> tuple[list[str], list[str]]:
    """Of those that hold arrays, and of the static ones."""
    fields = dataclasses.fields(kind)
    is_static = {field.name: bool(field.metadata.get("static")) for field in fields}
    return [name for name, own in is_static.items() if not own], [name for name, own in is_static.items() if own]


def _made(kind: type, names: list[str], parts: Any, kept: dict[str, Any]) -> Any:
    """A tree of the given parts, whatever they are: JAX puts more than arrays in their places."""
    made = object.__new__(kind)
    for name, part in (*zip(names, parts, strict=True), *kept.items()):
        object.__setattr__(made, name, part)
    return made


_waiting: list[type] = []  # classes that JAX does not know yet


def _register_waiting() -> None:
    while _waiting:
        try:
            kind = _waiting.pop()
        except IndexError:  # another thread was faster
            return
        _register(kind)


def _register(kind: type) -> None:
    from jax import tree_util

    names, fixed = _field_names(kind)
    keys = [tree_util.GetAttrKey(name) for name in names]

    def flatten(tree: Any) -> tuple[list[Any], tuple[Any, ...]]:
        return [getattr(tree, name) for name in names], tuple(getattr(tree, name) for name in fixed)

    def flatten_with_keys(tree: Any) -> tuple[Iterator[Any], tuple[Any, ...]]:
        parts, kept = flatten(tree)
        return zip(keys, parts, strict=True), kept

    def unflatten(kept: tuple[Any, ...], parts: Any) -> Any:
        return _made(kind, names, parts, dict(zip(fixed, kept, strict=True)))

    tree_util.register_pytree_with_keys(kind, flatten_with_keys, unflatten, flatten)


class _WhenJaxIsImported(MetaPathFinder):
    """Has JAX's import, whoever asks for it, end with what waits being registered: no tree is ever a leaf to it."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "jax":
            return None
        others = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
        spec: Any = next(filter(None, others), None)
        if spec is not None:
            run = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (run(module), _register_waiting())
        return spec


if "jax" not in sys.modules:
    sys.meta_path.insert(0, _WhenJaxIsImported())
