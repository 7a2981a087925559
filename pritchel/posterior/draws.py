"""Draws of whole networks: from a fitted guide, or those that a sampler has left."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pritchel.guide.member import Member
from pritchel.guide.network import DrawNoise, draw_noise_shapes, draw_unknowns, draw_weights, num_weights
from pritchel.model.joint import stacked_weights
from pritchel.model.network import Weights
from pritchel.tree import map_leaves

BLOCK_DRAWS = 25
MAX_DRAWS, MAX_DRAWN_WEIGHTS = 10_000, 1_000_000_000  # a pass over the draws takes up to half a minute
MIN_DRAWS = 200  # of however large a network


class DrawBlock(NamedTuple):
    """Draws of all weights, stacked, and what else their predictive distributions need: (draws, 1, targets) each."""

    weights: Weights
    noise: dict[str, np.ndarray]

    def first(self, count: int) -> "DrawBlock":
        """Some of them; or all."""
        return self if count == len(self.weights.output) else map_leaves(lambda leaf: leaf[:count], self)


def draw_block(member: Member, seed: tuple[int, ...]) -> DrawBlock:
    """`BLOCK_DRAWS` draws from a member's guide, as float64 numpy arrays."""
    params = np.asarray(member.guide.likelihood, np.float64)
    noise = {
        name: np.broadcast_to(value, (BLOCK_DRAWS, 1, *np.shape(value)))
        for name, value in member.model.likelihood.noise_values(params).items()
    }
    return DrawBlock(weight_block(member, seed), noise)


def weight_block(member: Member, seed: tuple[int, ...]) -> Weights:
    """The weights of those draws.

    Noise is drawn for every unit ever offered and then selected, so a pruned network keeps the draws of the units it
    kept, and its predictions differ from the full network's by no more than what was cut.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    noise: DrawNoise = map_leaves(
        lambda leaf: rng.standard_normal((BLOCK_DRAWS, *leaf.shape), dtype=np.float32),
        draw_noise_shapes(member.guide, member.offered),
    )
    noise = noise.take(member.kept)
    return map_leaves(lambda leaf: np.asarray(leaf, np.float64), _draw_stacked(member, noise))


def _draw_stacked(member: Member, noise: DrawNoise) -> Weights:
    """All draws in one pass; one after another where each has pseudo data of its own."""
    if not noise.pseudo:
        return stacked_weights(member.model, draw_unknowns(member.guide, noise))
    of_draw = (map_leaves(lambda leaf: leaf[draw], noise) for draw in range(BLOCK_DRAWS))  # noqa: B023 - at once
    drawn = [draw_weights(member.model, member.guide, own) for own in of_draw]
    return map_leaves(lambda *matrices: np.stack(matrices), *drawn)


def stored_block(member: Member, rows: np.ndarray | slice) -> DrawBlock:
    """Some of a sampled member's own draws, as float64 numpy arrays."""
    some: Any = map_leaves(lambda leaf: np.asarray(leaf[rows], np.float64), member.draws)
    return DrawBlock(stacked_weights(member.model, some), member.model.likelihood.known_noise_values(some.likelihood))


def stored_rows(num_stored: int, num_used: int, block: int) -> np.ndarray:
    """Which of a member's draws stand behind its answers, a block of them: evenly spaced, each again where too few."""
    spaced = np.arange(num_used) * num_stored // max(num_used, 1) if num_used <= num_stored else np.arange(num_used)
    return (spaced % num_stored)[block * BLOCK_DRAWS : (block + 1) * BLOCK_DRAWS]


def shuffled_rows(num_stored: int, seed: tuple[int, ...], block: int) -> np.ndarray:
    """The same for a stream of its own: in random order, and anew once all have had their turn."""
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    rounds = -(-(block + 1) * BLOCK_DRAWS // num_stored)
    order = np.concatenate([rng.permutation(num_stored) for _ in range(rounds)])
    return order[block * BLOCK_DRAWS : (block + 1) * BLOCK_DRAWS]


def max_draws(sizes: Sequence[int]) -> int:
    """How many draws of a network of such layers, inputs and outputs among them, predictions can be made from."""
    return int(np.clip(MAX_DRAWN_WEIGHTS // num_weights(sizes), MIN_DRAWS, MAX_DRAWS))


def take_turns(parts: list[Weights], num_draws: int) -> Weights:
    """The draws of several members in one stack, each in its turn; narrower layers are filled up with zeros."""

    def join(matrices: list[np.ndarray]) -> np.ndarray:
        rows, units = (max(matrix.shape[axis] for matrix in matrices) for axis in (1, 2))
        joined = np.zeros((num_draws, rows, units))
        for index, matrix in enumerate(matrices):
            turns = joined[index :: len(matrices)]
            turns[:, : matrix.shape[1] - 1, : matrix.shape[2]] = matrix[:, :-1]
            turns[:, -1, : matrix.shape[2]] = matrix[:, -1]  # the bias stays last
        return joined

    return map_leaves(lambda *matrices: join(list(matrices)), *parts)
