"""Draws of whole networks from a fitted guide."""

import jax
import numpy as np

from pritchel.guide.member import Member
from pritchel.guide.network import DrawNoise, draw_noise_shapes, draw_weights
from pritchel.model.network import Weights

BLOCK_DRAWS = 25


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
    weights = jax.device_get(_draw_block(member.model, member.guide, noise))
    return jax.tree.map(lambda leaf: leaf.astype(np.float64), weights)


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
