"""Trees of arrays: the same to numpy and to JAX, whichever of them comes first."""

import copy
import dataclasses
import pickle
import subprocess
import sys
import textwrap
from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
import pytest
from jaxtyping import Float

from pritchel import serial
from pritchel.guide.normal import Normal
from pritchel.guide.tied import UnitVarianceNormal
from pritchel.serial import decode, encode
from pritchel.shapes import AnyArray
from pritchel.tree import Tree, fits_annotations, is_alike, leaves, map_leaves, static


class Shape(Tree):
    @abstractmethod
    def area(self):
        """Of the shape."""


class Box(Shape):
    sides: Float[AnyArray, " axes"]
    scales: Float[AnyArray, " axes"] | None
    inner: object = None
    name: str = static(default="box")

    def area(self):
        return self.sides.prod()


class Pair(NamedTuple):
    first: object
    second: object


class Outside(eqx.Module):
    """As another package may have them."""

    unit: str = eqx.field(static=True)
    values: np.ndarray


def a_tree():
    dict_out_of_order = {"b": np.full(1, 4.0), "a": (np.full(1, 3.0), None)}
    inner = Pair(dict_out_of_order, [Outside("m", np.full(1, 5.0)), Normal(np.full(1, 6.0), np.full(1, 7.0))])
    return Box(np.array([1.0]), np.array([2.0]), inner, name="outer")


def test_a_tree_is_a_frozen_value():
    box = Box(np.array([2.0, 3.0]), None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        box.name = "other"
    wider = dataclasses.replace(box, sides=np.array([5.0, 3.0]))
    assert (box.area(), wider.area(), wider.name) == (6, 15, "box")
    for same in (copy.deepcopy(wider), pickle.loads(pickle.dumps(wider))):
        assert same.area() == 15
    with pytest.raises(TypeError, match="abstract"):
        Shape()


def test_leaves_come_in_the_order_of_jax():
    tree = a_tree()
    assert [float(leaf[0]) for leaf in leaves(tree)] == [1, 2, 3, 4, 5, 6, 7]
    for own, other in zip(leaves(tree), jax.tree.leaves(tree), strict=True):
        assert own is other


def test_mapping_is_that_of_jax():
    tree = a_tree()
    own, other = (way(lambda a, b: a + 2 * b, tree, tree) for way in (map_leaves, jax.tree.map))
    assert jax.tree.structure(own) == jax.tree.structure(other) == jax.tree.structure(tree)
    assert [float(leaf[0]) for leaf in leaves(own)] == [3, 6, 9, 12, 15, 18, 21]
    assert (own.name, own.inner.second[0].unit) == ("outer", "m")
    with pytest.raises((TypeError, ValueError)):
        map_leaves(lambda a, b: a, tree, dataclasses.replace(tree, inner=np.zeros(1)))


def test_trees_are_alike_that_differ_in_leaves_only():
    tree = a_tree()
    assert is_alike(tree, map_leaves(np.zeros_like, tree))
    assert not is_alike(tree, dataclasses.replace(tree, scales=None))
    assert not is_alike({"a": 1}, {"b": 1})
    assert not is_alike(Pair(1, 2), (1, 2))


def test_jax_compiles_and_differentiates_a_tree_and_names_its_leaves():
    box = Box(np.array([2.0, 3.0]), None)
    grads = jax.jit(jax.grad(lambda box: box.area()))(box)
    np.testing.assert_allclose(grads.sides, [3, 2])
    assert isinstance(grads, Box)
    ((path, _),) = jax.tree_util.tree_flatten_with_path(box)[0]
    assert jax.tree_util.keystr(path) == ".sides"


@pytest.mark.parametrize(
    ("sides", "scales", "fits"),
    [((2,), (2,), True), ((2,), None, True), ((2,), (3,), False), ((2, 1), (2, 1), False), ((), (2,), False)],
)
def test_arrays_are_of_the_shapes_that_fields_name(sides, scales, fits):
    box = Box(np.zeros(sides), None if scales is None else np.zeros(scales))
    assert fits_annotations({"deep": (box,)}) is fits


def test_shapes_are_checked_in_tests():
    """By the import hook, which the annotations of `shapes` keep alive without naming JAX's arrays."""
    for wrong in (lambda: Normal(np.zeros(3), np.zeros(4)), lambda: UnitVarianceNormal(np.zeros(3))):
        with pytest.raises(Exception, match="type"):
            wrong()


def test_a_module_of_equinox_is_stored_as_a_tree(monkeypatch):
    monkeypatch.setattr(serial, "_TRUSTED", {"pritchel", "tests"})
    arrays = {}
    packed = encode(Outside("m", np.arange(3.0)), arrays, "own")
    again = decode(packed, arrays)
    assert again.unit == "m"
    np.testing.assert_array_equal(again.values, np.arange(3.0))


def test_a_tree_made_before_jax_is_one_to_whoever_imports_it():
    code = """
    import importlib.util, sys
    import numpy as np
    from pritchel.guide.normal import Normal
    normal = Normal.start(np.zeros(3), 1.0)
    assert importlib.util.find_spec("jax") and "jax" not in sys.modules  # as packages do that look for it
    import jax
    assert [leaf.shape for leaf in jax.tree.leaves(normal)] == [(3,), (3,)]
    from pritchel.guide.tied import UnitVarianceNormal
    assert len(jax.tree.leaves(UnitVarianceNormal(np.zeros((2, 2))))) == 1
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=120)
