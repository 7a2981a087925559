"""The networks of many draws at the same rows, as fast as numpy computes them."""

import numpy as np

from pritchel.model.network import Activation, Weights


def stacked_forward(weights: Weights, inputs: np.ndarray, activation: Activation) -> np.ndarray:
    """What `forward` gives for draws stacked on a leading axis: (draws, rows, outputs).

    Rows lie along the last axis of all that is computed on the way, which suits products with many rows and few units,
    and each layer is changed in place.
    """
    columns, (num_rows, num_features) = inputs.T, inputs.shape
    values = _with_ones((), num_features, num_rows, inputs.dtype)
    values[:-1] = columns
    for matrix in weights.hidden:
        below, (num_draws, _, units) = values, matrix.shape
        values = _with_ones((num_draws,), units, num_rows, np.result_type(matrix, below))
        own = np.matmul(matrix.mT, below, out=values[:, :-1])
        _activate_in_place(activation, own)
    outputs = weights.output.mT @ values
    if weights.linear is not None:
        outputs += weights.linear.mT @ columns
    return outputs.mT


def _activate_in_place(activation: Activation, values: np.ndarray) -> None:
    """What `activate` gives, with as little room beside the values as it takes."""
    if activation == "swish":
        turned = np.tanh(values)
        turned += 1
        values *= 0.5
        values *= turned
    elif activation == "relu":
        np.maximum(values, 0, out=values)
    else:
        np.tanh(values, out=values)


def _with_ones(draws: tuple[int, ...], units: int, num_rows: int, dtype: np.dtype) -> np.ndarray:
    """Room for a layer's units, and ones below them for the next one's bias, which is the last row of its matrix."""
    room = np.empty((*draws, units + 1, num_rows), dtype)
    room[..., -1, :] = 1
    return room
