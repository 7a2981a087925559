r"""Where a sampler moves: a vector for everything unknown of a network, in coordinates that suit Hamiltonian dynamics.

Base weights and scales meet the data only as products, so a posterior over them has long, curved ridges; weights
themselves have funnels instead, at whose narrow end a unit dies. The coordinates here are weights where a unit is on
and base weights where it is off: $q = \beta\,(s / s_0 + a)$ with $s$ the weight's scale and $s_0$ that of the start.
Networks of different widths are filled up to common ones, so that one compiled program serves them all: what fills has
its prior and reaches nothing.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pritchel.guide.member import Member
from pritchel.guide.network import draw_noise_shapes, draw_unknowns
from pritchel.infer.row_blocks import Columns, sum_over_blocks
from pritchel.infer.step import unravel
from pritchel.lazy import jax
from pritchel.model.joint import Unknowns, is_per_unit, log_prior, log_weight_scales, weights_of
from pritchel.model.network import Model, Weights, forward_across
from pritchel.shapes import AnyArray, Scalar
from pritchel.tree import Tree, map_leaves

LOG_OFF = -1.0  # ln a; of -4 to -1 this got furthest where the fit had memorized noise, and cost nothing elsewhere
WIDTH_STEP = 8  # filled-up widths are multiples of this, so that tables alike share a program
NUM_DRAWS = 100  # behind the deviations that the metric starts from
LEAST_SD = 1e-3


class Coordinates(Tree):
    """The way between a vector and everything unknown of a filled-up network: numpy in, numpy out; JAX in, JAX out."""

    model: Model
    start: Unknowns  # of the filled-up network; its layer scales stay where the prior holds them
    is_alive: tuple[AnyArray, ...]  # a hidden layer: 1 for a unit, 0 for what fills

    def unknowns(self, position: AnyArray) -> tuple[Unknowns, Scalar]:
        """Everything unknown at a position, and the log of the change of volume."""
        namespace = position.__array_namespace__()
        values = self._held(unravel(self._free(self.start), position))
        stretch = self._log_stretch(values)
        base = _map_matrices(lambda part, log: part if log is None else part * namespace.exp(-log), values, stretch)
        volume = namespace.zeros(())
        for part, log in zip(_matrices(values), _matrices(stretch), strict=True):
            if part is not None and log is not None:
                volume = volume - namespace.broadcast_to(log, part.shape).sum()
        return base, namespace.asarray(volume)

    def position_of(self, unknowns: Unknowns) -> AnyArray:
        """The position at which everything unknown has the given values."""
        namespace, stretch = unknowns.output.__array_namespace__(), self._log_stretch(unknowns)
        moved = _map_matrices(lambda part, log: part if log is None else part * namespace.exp(log), unknowns, stretch)
        return namespace.concatenate([leaf.ravel() for leaf in jax.tree.leaves(self._free(moved))])

    def log_density(self, position: AnyArray, table: Columns) -> Scalar:
        """ln p(y, everything unknown) as a density over positions, for rows that count `weights` times."""
        unknowns, volume = self.unknowns(position)
        made = weights_of(self.model, unknowns)
        hidden = tuple(matrix * alive for matrix, alive in zip(made.hidden, self.is_alive, strict=True))

        def log_likelihood(values: tuple[Weights, AnyArray], block: Columns) -> Scalar:
            weights, params = values
            outputs = forward_across(weights, block.inputs, self.model.activation).T
            return (block.weights * self.model.likelihood.log_density(params, block.targets, outputs)).sum()

        values = made._replace(hidden=hidden), unknowns.likelihood
        return sum_over_blocks(log_likelihood, values, table) + log_prior(self.model, unknowns) + volume

    def _log_stretch(self, unknowns: Unknowns) -> Weights:
        """By what a weight's coordinate is its base weight's multiple; what fills stays with base weights."""
        now, at_start = (_matrices(log_weight_scales(self.model, values)) for values in (unknowns, self.start))
        space = unknowns.output.__array_namespace__()
        moved = [None if log is None else _log_stretch(log - at, space) for log, at in zip(now, at_start, strict=True)]
        hidden = [
            None if log is None else alive * log
            for log, alive in zip(moved[: len(self.is_alive)], self.is_alive, strict=True)
        ]
        return Weights(tuple(hidden), moved[-2], moved[-1])

    def _free(self, unknowns: Unknowns) -> Unknowns:
        held: Any = dict.fromkeys(self.model.prior.held)
        return unknowns._replace(scales=unknowns.scales._replace(**held))

    def _held(self, unknowns: Unknowns) -> Unknowns:
        held: Any = {name: getattr(self.start.scales, name) for name in self.model.prior.held}
        return unknowns._replace(scales=unknowns.scales._replace(**held))


def _log_stretch(log_ratio: Any, namespace: Any) -> Any:
    """ln(s / s_0 + a), and 0 at the start."""
    log_ratio = namespace.asarray(log_ratio)  # of one scale: numpy's scalars are no arrays before 2.2
    return namespace.logaddexp(log_ratio, namespace.full_like(log_ratio, LOG_OFF)) - float(np.logaddexp(0.0, LOG_OFF))


def _matrices(parts: Any) -> list[Any]:
    return [*parts.hidden, parts.output, parts.linear]


def _map_matrices(change: Any, unknowns: Unknowns, factors: Weights) -> Unknowns:
    *hidden, output, linear = map(change, _matrices(unknowns), _matrices(factors))
    return unknowns._replace(hidden=tuple(hidden), output=output, linear=linear)


def filled_widths(members: Sequence[Member]) -> tuple[int, ...]:
    """Units a hidden layer that hold those of every member, rounded up."""
    widest = np.max([member.guide.widths[1:-1] for member in members], axis=0)
    return tuple(int(WIDTH_STEP * max(1, -(-width // WIDTH_STEP))) for width in widest)


def fill(unknowns: Unknowns, widths: tuple[int, ...]) -> Unknowns:
    """Numpy values of a network of the given hidden widths: those there are, then zeros; any leading axes stay."""
    inputs: tuple[int, ...] = ()
    hidden = []
    for part, units in zip(unknowns.hidden, widths, strict=True):
        hidden.append(_filled(part, inputs, (units,)))
        inputs = (units,)
    latents = {
        name: tuple(map(_filled_units, parts, widths)) if is_per_unit(parts) else parts
        for name, parts in unknowns.latents.items()
    }
    return unknowns._replace(
        hidden=tuple(hidden),
        log_unit_scales=tuple(map(_filled_units, unknowns.log_unit_scales, widths)),
        latents=latents,
        output=_filled(unknowns.output, inputs, ()),
    )


def _filled_units(part: Any, units: int) -> np.ndarray:
    return np.pad(part, [(0, 0)] * (part.ndim - 1) + [(0, units - part.shape[-1])])


def _filled(matrix: Any, inputs: tuple[int, ...], units: tuple[int, ...]) -> np.ndarray:
    """A weight matrix with so many inputs and units (none given: as it has); its bias stays the last row."""
    rows, columns = inputs[0] + 1 if inputs else matrix.shape[-2], units[0] if units else matrix.shape[-1]
    filled = np.zeros((*matrix.shape[:-2], rows, columns), matrix.dtype)
    filled[..., : matrix.shape[-2] - 1, : matrix.shape[-1]] = matrix[..., :-1, :]
    filled[..., -1, : matrix.shape[-1]] = matrix[..., -1, :]
    return filled


class Start(NamedTuple):
    """Where a chain starts, and the deviations of its coordinates under the guide."""

    coordinates: Coordinates
    position: np.ndarray
    deviations: np.ndarray


def start_chain(member: Member, widths: tuple[int, ...], num_rows: float) -> Start:
    """A start at the guide's mean, for a network filled up to the given hidden widths."""
    shapes = draw_noise_shapes(member.guide)
    rng = np.random.default_rng(0)  # behind a scale only: the chain's own noise does not come from here
    noise = map_leaves(lambda leaf: rng.standard_normal((NUM_DRAWS, *leaf.shape), dtype=np.float32), shapes)
    noise = map_leaves(lambda leaf: np.concatenate([np.zeros_like(leaf[:1]), leaf]), noise)  # the mean first
    guide = map_leaves(np.asarray, member.guide)
    of_draws = (map_leaves(lambda leaf: leaf[draw], noise) for draw in range(1 + NUM_DRAWS))  # noqa: B023 - at once
    draws = [fill(as_float32(draw_unknowns(guide, own)), widths) for own in of_draws]
    is_alive = tuple(
        (np.arange(width) < units).astype(np.float32)
        for width, units in zip(widths, member.guide.widths[1:-1], strict=True)
    )
    coordinates = Coordinates(as_float32(member.model), draws[0], is_alive)
    positions = [coordinates.position_of(own) for own in draws]
    position, spread = np.asarray(positions[0]), np.std(positions[1:], axis=0)
    spread = np.where(spread > 0, spread, 1.0)  # what fills, and what the guide is sure of
    learned = member.model.likelihood.deviations(np.ravel(draws[0].likelihood), num_rows)
    spread[len(spread) - len(learned) :] = learned  # they come last, and are points of the guide
    return Start(coordinates, position, np.maximum(spread, LEAST_SD))


def as_float32(tree: Any) -> Any:
    """The tree with its arrays in single precision."""
    return map_leaves(lambda leaf: np.asarray(leaf, np.float32), tree)
