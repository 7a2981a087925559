"""A table as chains take it, in blocks of rows; a sum over them whose gradient is taken block by block.

What lies between the inputs and the density is far larger than the inputs. A block is small enough for that to stay in
a core's own cache, from the pass forwards to the one backwards.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from pritchel.data.dataset import Dataset
from pritchel.lazy import jax, jnp
from pritchel.shapes import AnyArray, Scalar

MAX_ROWS = 2048  # of a block
ROW_STEP = 64  # blocks are filled up to multiples of this with rows of no weight, so that folds share a program


class Columns(NamedTuple):
    """Rows of a table, those of a block along the last axis of the inputs; a row of weight zero is padding."""

    inputs: Float[AnyArray, "blocks features rows"]  # products are quicker along the rows
    targets: Float[AnyArray, "blocks rows targets"]
    weights: Float[AnyArray, "blocks rows"]

    @classmethod
    def of(cls, data: Dataset) -> "Columns":
        """All rows of a table, in their order, in equal blocks."""
        num_rows = len(data.inputs)
        num_blocks = -(-num_rows // MAX_ROWS)
        length = ROW_STEP * -(-num_rows // (num_blocks * ROW_STEP))
        pad = [(0, num_blocks * length - num_rows), (0, 0)]
        inputs = np.pad(data.inputs, pad).reshape(num_blocks, length, -1)
        targets = np.pad(data.targets, pad, mode="edge")  # a target that the likelihood knows how to take
        table = cls(
            np.ascontiguousarray(inputs.transpose(0, 2, 1)), targets.reshape(num_blocks, length, -1), inputs[..., 0]
        )
        return table.weighted(data.weights)

    @property
    def num_rows(self) -> int:
        """With those of no weight."""
        return self.weights.size

    def weighted(self, weights: Float[AnyArray, " rows"]) -> "Columns":
        """The same rows with other weights."""
        filled = np.pad(weights, (0, self.num_rows - len(weights)))
        return self._replace(weights=filled.reshape(self.weights.shape))


def sum_over_blocks(function: Callable[[Any, Columns], Scalar], parameters: Any, table: Columns) -> Scalar:
    """The sum of a function over the blocks, each given as `Columns` without the leading axis; derived once at most.

    Of the parameters alone: nothing else that the function uses is seen by a derivative.
    """
    if len(table.weights) == 1:
        return function(parameters, jax.tree.map(lambda part: part[0], table))

    def with_gradient(parameters: Any) -> tuple[Any, Any]:
        def add(sums: Any, block: Columns) -> tuple[Any, None]:
            return jax.tree.map(jnp.add, sums, jax.value_and_grad(function)(parameters, block)), None

        return jax.lax.scan(add, (jnp.zeros(()), jax.tree.map(jnp.zeros_like, parameters)), table)[0]

    total = jax.custom_vjp(lambda parameters: with_gradient(parameters)[0])
    total.defvjp(with_gradient, lambda gradient, factor: (jax.tree.map(lambda part: factor * part, gradient),))
    return total(parameters)
