"""Draws of whole networks from a fitted guide."""

import itertools
from collections.abc import Sequence

import jax
import numpy as np

from pritchel.compile_cache import keep_few_programs, require_own_process
from pritchel.guide.member import Member
from pritchel.guide.network import DrawNoise, draw_noise_shapes, draw_weights
from pritchel.model.network import Weights

BLOCK_DRAWS = 25
MAX_DRAWS, MAX_DRAWN_WEIGHTS = 10_000, 1_000_000_000  # a pass over the draws takes up to half a minute
MIN_DRAWS = 200  # of however large a network


_draw_block = jax.jit(jax.vmap(draw_weights, in_axes=(None, None, 0)))


def weight_block(member: Member, seed: tuple[int, ...]) -> Weights:
    """`BLOCK_DRAWS` draws of all weights, stacked, as float64 numpy arrays.

    Noise is drawn for every unit ever offered and then selected, so a pruned network keeps the draws of the units it
    kept, and its predictions differ from the full network's by no more than what was cut.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    noise: DrawNoise = jax.tree.map(
        lambda leaf: rng.standard_normal((BLOCK_DRAWS, *leaf.shape), dtype=np.float32),
        draw_noise_shapes(member.guide, member.offered),
    )
    noise = noise.take(member.kept)
    require_own_process()
    keep_few_programs(_draw_block, member.model, member.guide, noise)
    weights = jax.device_get(_draw_block(member.model, member.guide, noise))
    return jax.tree.map(lambda leaf: leaf.astype(np.float64), weights)


def max_draws(sizes: Sequence[int]) -> int:
    """How many draws of a network of such layers, inputs and outputs among them, predictions can be made from."""
    num_weights = sum((rows + 1) * columns for rows, columns in itertools.pairwise(sizes))
    return int(np.clip(MAX_DRAWN_WEIGHTS // num_weights, MIN_DRAWS, MAX_DRAWS))


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

    return jax.tree.map(lambda *matrices: join(list(matrices)), *parts)
