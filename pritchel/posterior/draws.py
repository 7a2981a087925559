"""Draws of whole networks from a fitted guide."""

import jax
import numpy as np

from pritchel.guide.member import Member
from pritchel.guide.network import DrawNoise, draw_weights, noise_shape, pseudo_noise_shapes
from pritchel.model.network import Weights

BLOCK_DRAWS = 25


_draw_block = jax.jit(jax.vmap(draw_weights, in_axes=(None, None, 0)))


def weight_block(member: Member, seed: tuple[int, ...]) -> Weights:
    """`BLOCK_DRAWS` draws of all weights, stacked, as float64 numpy arrays.

    Noise is drawn for every unit ever offered and then selected, so a pruned network keeps the draws of the units it
    kept, and its predictions differ from the full network's by no more than what was cut.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    noise = _noise(member, rng)
    weights = jax.device_get(_draw_block(member.model, member.guide, noise))
    return jax.tree.map(lambda leaf: leaf.astype(np.float64), weights)


def draw_noise_shapes(member: Member) -> DrawNoise:
    """Shapes of the noise of one draw of the units that the member has."""
    guide, widths = member.guide, member.guide.widths
    return DrawNoise(
        tuple(
            noise_shape(fan_in + 1 + layer.num_shared_noise_rows, units)
            for layer, fan_in, units in zip(guide.layers, widths[:-2], widths[1:-1], strict=True)
        ),
        noise_shape(len(guide.layers)),
        tuple(noise_shape(*slab.mean.shape) for slab in guide.log_slab_sq),
        noise_shape(widths[-2] + 1 + guide.output.num_shared_noise_rows, widths[-1]),
        noise_shape(),
        None if guide.linear is None else noise_shape(widths[0], widths[-1]),
        noise_shape(),
        pseudo_noise_shapes(guide),
    )


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


def _noise(member: Member, rng: np.random.Generator) -> DrawNoise:
    def normals(*shape: int) -> np.ndarray:
        return rng.standard_normal((BLOCK_DRAWS, *shape), dtype=np.float32)

    num_features, num_outputs = member.guide.widths[0], member.guide.widths[-1]
    offered_in = (num_features, *member.offered)
    kept_in = (np.arange(num_features), *member.kept)
    layers = []
    for index, (layer, units) in enumerate(zip(member.guide.layers, member.kept, strict=True)):
        rows = offered_in[index] + 1 + layer.num_shared_noise_rows
        kept_rows = np.concatenate([kept_in[index], np.arange(offered_in[index], rows)])
        layers.append(normals(rows, offered_in[index + 1])[:, kept_rows][:, :, units])
    is_per_unit = any(slab.mean.shape != (1,) for slab in member.guide.log_slab_sq)
    slabs = tuple(
        normals(member.offered[index])[:, member.kept[index]] if is_per_unit else normals(1)
        for index in range(len(member.guide.log_slab_sq))
    )
    rows = offered_in[-1] + 1 + member.guide.output.num_shared_noise_rows
    output_rows = np.append(kept_in[-1], np.arange(offered_in[-1], rows))
    output = normals(rows, num_outputs)[:, output_rows]
    linear = None if member.guide.linear is None else normals(num_features, num_outputs)
    scales = normals(len(layers)), slabs, output, normals(), linear, normals()
    pseudo = jax.tree.map(lambda leaf: normals(*leaf.shape), pseudo_noise_shapes(member.guide))
    return DrawNoise(tuple(layers), *scales, pseudo)
