"""A member to and from JSON and arrays, its parts seen to fit together before anything is computed."""

import itertools
from typing import Any

import jax
import numpy as np

from pritchel.guide.member import Member
from pritchel.guide.network import DrawNoise, NetworkGuide, draw_noise_shapes, draw_unknowns
from pritchel.model.joint import Unknowns, weights_of
from pritchel.model.network import Model, Weights
from pritchel.serial import Arrays, FileError, decode, encode

MAX_OFFERED_WEIGHTS = 16_000_000


def pack_member(member: Member, arrays: Arrays, name: str) -> dict[str, Any]:
    """The member as JSON, its arrays under names that begin with `name`."""
    return {part: encode(value, arrays, f"{name}.{part}") for part, value in member._asdict().items()}


def unpack_member(part: dict[str, Any], arrays: Arrays) -> Member:
    """A member whose arrays have been seen to fit together."""
    member = Member(*(decode(part[name], arrays) for name in Member._fields))
    model, guide, offered, kept, draws = member
    if not isinstance(model, Model) or not isinstance(guide, NetworkGuide):
        raise FileError("a member is not a model and a guide")
    for leaf in jax.tree.leaves((model, guide, draws)):
        is_float = isinstance(leaf, np.ndarray) and leaf.dtype in (np.float32, np.float64)
        if not is_float or not np.isfinite(leaf).all():
            raise FileError("a parameter is not a finite float")
    units = guide.widths[1:-1]
    if len(offered) != len(units) or len(kept) != len(units):
        raise FileError("its layers do not match its units")
    for count, index, num_kept in zip(offered, kept, units, strict=True):
        is_index = isinstance(index, np.ndarray) and index.dtype.kind == "i" and index.shape == (num_kept,)
        if not isinstance(count, int) or not is_index or np.any(index < 0) or np.any(index >= count):
            raise FileError("its list of units is out of range")
    sizes = (guide.widths[0], *offered, guide.widths[-1])
    if sum((rows + 1) * columns for rows, columns in itertools.pairwise(sizes)) > MAX_OFFERED_WEIGHTS:
        raise FileError(f"it was offered more than {MAX_OFFERED_WEIGHTS:,} weights")
    unknowns, weights = jax.eval_shape(_draw, model, guide, draw_noise_shapes(guide))
    expected = [(rows + 1, columns) for rows, columns in itertools.pairwise(guide.widths)]
    found = [leaf.shape for leaf in (*weights.hidden, weights.output)]
    is_linear_right = weights.linear is None or weights.linear.shape == (guide.widths[0], guide.widths[-1])
    if found != expected or not is_linear_right:
        raise FileError("its arrays do not make a network")
    if draws is not None:
        _check_draws(draws, unknowns)
    return member


def _draw(model: Model, guide: NetworkGuide, noise: DrawNoise) -> tuple[Unknowns, Weights]:
    unknowns = draw_unknowns(guide, noise)
    return unknowns, weights_of(model, unknowns)


def _check_draws(draws: Any, expected: Unknowns) -> None:
    """See that stacked draws are those of a network, one value of each unknown a draw; `expected` has its shapes."""
    if not isinstance(draws, Unknowns):
        raise FileError("its draws are not draws of a network")
    sizes = {leaf.shape[0] if leaf.ndim else 0 for leaf in jax.tree.leaves(draws)}
    is_alike = jax.tree.structure(expected) == jax.tree.structure(draws) and all(
        own.shape[1:] == wanted.shape
        for own, wanted in zip(jax.tree.leaves(draws), jax.tree.leaves(expected), strict=True)
    )
    if not is_alike or len(sizes) != 1 or 0 in sizes:
        raise FileError("its draws do not fit its network")
