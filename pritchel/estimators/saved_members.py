"""A member to and from JSON and arrays, its parts seen to fit together before anything is computed."""

import itertools
from typing import Any

import numpy as np

from pritchel.guide.member import Member
from pritchel.guide.network import NetworkGuide, draw_noise_shapes, draw_unknowns
from pritchel.model.joint import Unknowns, weights_of
from pritchel.model.network import Model
from pritchel.serial import Arrays, FileError, decode, encode
from pritchel.tree import fits_annotations, is_alike, leaves

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
    for leaf in leaves((model, guide, draws)):
        is_float = isinstance(leaf, np.ndarray) and leaf.dtype in (np.float32, np.float64)
        if not is_float or not np.isfinite(leaf).all():
            raise FileError("a parameter is not a finite float")
    if not fits_annotations((model, guide)):
        raise FileError("its arrays do not make a network")
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
    unknowns = _drawn(model, guide)
    if draws is not None:
        _check_draws(draws, unknowns)
    return member


def _drawn(model: Model, guide: NetworkGuide) -> Unknowns:
    """A draw of the network, its arrays seen to be of one: first what it is made of, so that nothing grows."""
    noise = draw_noise_shapes(guide)
    if _parts_match(guide) and sum(leaf.size for leaf in leaves(noise)) <= 2 * MAX_OFFERED_WEIGHTS:
        unknowns = draw_unknowns(guide, noise)
        weights = weights_of(model, unknowns)
        if [leaf.shape for leaf in (*weights.hidden, weights.output)] == _matrices(guide):
            return unknowns
    raise FileError("its arrays do not make a network")


def _matrices(guide: NetworkGuide) -> list[tuple[int, int]]:
    """Shapes of the weights of each layer."""
    return [(rows + 1, columns) for rows, columns in itertools.pairwise(guide.widths)]


def _parts_match(guide: NetworkGuide) -> bool:
    """Whether means are of the network's layers, and scales and latents of its layers, units and outputs."""
    num_features, *hidden, num_outputs = guide.widths
    moments = [layer.log_unit_scale_moments() for layer in guide.layers]
    layer, *of_outputs = (() if part is None else part.mean.shape for part in guide.scales)
    return (
        [part.shape for part in (*(layer.base_mean for layer in guide.layers), guide.output.mean)] == _matrices(guide)
        and all(own is None or own[0].shape == (units,) for own, units in zip(moments, hidden, strict=True))
        and layer in ((), (len(hidden),))
        and all(shape in ((), (num_outputs,)) for shape in of_outputs)
        and (guide.linear is None or guide.linear.mean.shape == (num_features, num_outputs))
        and all(part.mean.ndim == 1 for parts in guide.latents.values() for part in parts)
    )


def _check_draws(draws: Any, expected: Unknowns) -> None:
    """See that stacked draws are those of a network, one value of each unknown a draw; `expected` has its shapes."""
    if not isinstance(draws, Unknowns):
        raise FileError("its draws are not draws of a network")
    sizes = {leaf.shape[0] if leaf.ndim else 0 for leaf in leaves(draws)}
    fits = is_alike(expected, draws) and all(
        own.shape[1:] == wanted.shape for own, wanted in zip(leaves(draws), leaves(expected), strict=True)
    )
    if not fits or len(sizes) != 1 or 0 in sizes:
        raise FileError("its draws do not fit its network")
