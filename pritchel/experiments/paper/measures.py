"""What shrinkage comes to: how much of the output the smallest units carry, and how many are of any size."""

from typing import Any

import numpy as np

from pritchel.guide.member import Member
from pritchel.model.network import activate
from pritchel.posterior.diagnostics import unit_scales, weight_norms
from pritchel.posterior.draws import weight_block

NUM_SMALLEST = 50  # as many as the paper's pictures show
NORM_FLOOR = 1e-3  # a norm or scale below the paper's pruning threshold is zero to any use
SHARE_FLOOR = 1e-4  # likewise a share of the output's variance
RELATIVE_FLOOR = 0.01  # of the largest: a hundredth cannot be told from zero in a picture
MAX_ROWS = 200


def output_parts(member: Member, inputs: np.ndarray, seed: int) -> np.ndarray:
    """What each unit adds to the first output under draws of the weights, (draws, rows, units): one hidden layer."""
    weights = weight_block(member, (seed,))
    matrix = weights.hidden[0]
    values = activate(member.model.activation, inputs @ matrix[:, :-1] + matrix[:, -1:])
    return values * weights.output[:, None, :-1, 0]


def variance_share(parts: np.ndarray, units: np.ndarray) -> float:
    """Variance, over draws and rows, of what some units add together, by that of what all add; 0 where none add."""
    whole = float(parts.sum(-1).var())
    return float(parts[..., units].sum(-1).var()) / whole if whole > 0 else 0.0


def num_of_size(values: np.ndarray) -> int:
    """How many are above a hundredth of the largest."""
    return int((values > RELATIVE_FLOOR * values.max()).sum())


def unit_measures(member: Member, inputs: np.ndarray, seed: int = 0) -> dict[str, Any]:
    """The measures of a fitted network of one hidden layer at standardized inputs, as JSON values."""
    norms, scales = weight_norms(member)[0], unit_scales(member)[0]
    smallest = np.argsort(norms)[:NUM_SMALLEST]
    parts = output_parts(member, inputs[:MAX_ROWS], seed)
    return {
        "smallest_share": float(f"{variance_share(parts, smallest):.3g}"),
        "smallest_norm": float(f"{norms[smallest].mean():.3g}"),
        "largest_norm": float(f"{norms.max():.3g}"),
        "smallest_scale": float(f"{np.sort(scales)[:NUM_SMALLEST].mean():.3g}"),
        "largest_scale": float(f"{scales.max():.3g}"),
        "norms_of_size": num_of_size(norms),
        "scales_of_size": num_of_size(scales),
        "parts_of_size": num_of_size(parts.std((0, 1))),
    }
