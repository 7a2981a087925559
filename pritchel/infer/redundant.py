r"""Units whose part the others can take over: out of the last hidden layer before chains begin.

The noise of independent weights averages out over units that say the same, so a variational fit keeps copies that
the posterior has no use for. The output layer is linear: given the units below, its log posterior is quadratic in
the base weights, with a Hessian H of the likelihood's curvature and the prior's. For a unit to leave, its weight
$w_k$ becoming zero and all others the best that they then can be, costs $w_k^2 / 2 [H^{-1}]_{kk}$ nats (LeCun, Denker
and Solla 1990; Hassibi and Stork 1993). The cheapest goes first, as long as there is one that costs little.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from pritchel.data.dataset import Dataset
from pritchel.guide.member import Member
from pritchel.guide.network import draw_noise_shapes, draw_weights, keep_units
from pritchel.guide.normal import Normal
from pritchel.lazy import jax, jnp
from pritchel.model.network import forward, last_units
from pritchel.programs import compiled
from pritchel.tree import map_leaves

MOST_NATS = 1.0  # that a unit's leaving may cost, of the log density of all rows; its scale alone has cost more
MOST_ROWS = 10_000  # that are looked at; of more every second, third, ...
NARROW = 1e-6


def without_redundant(member: Member, data: Dataset) -> Member:
    """The member without such units; the means of the output weights have taken over what they said."""
    guide, num_units = member.guide, member.guide.widths[-2]
    if num_units < 2 or not guide.has_unit_scales() or not isinstance(guide.output, Normal):
        return member
    step = -(-data.num_rows // MOST_ROWS)
    rows = data.take(slice(None, None, step))
    noise = map_leaves(lambda leaf: np.zeros(leaf.shape, np.float32), draw_noise_shapes(guide))
    weights = map_leaves(np.asarray, draw_weights(member.model, guide, noise))  # at the guide's mean
    design = np.column_stack([last_units(weights, rows.inputs, member.model.activation), np.ones(rows.num_rows)])
    outputs = forward(weights, rows.inputs, member.model.activation)
    with jax.enable_x64(False):
        curvature = np.asarray(_curvature(member.model.likelihood, guide.likelihood, rows.targets, outputs))
    curvature = np.maximum(curvature, 0) * rows.weights[:, None] * step
    scale = np.exp(np.broadcast_to(guide.scales.output.mean, curvature.shape[1]).astype(float))
    grams = [design.T @ (own[:, None] * design) for own in curvature.T]
    hessians = np.stack([own**2 * gram + np.eye(num_units + 1) for own, gram in zip(scale, grams, strict=True)])
    left, mean = take_out(np.asarray(guide.output.mean, float), hessians, MOST_NATS)
    kept = (*map(np.arange, guide.widths[1:-2]), left)
    guide = replace(guide, output=replace(guide.output, mean=mean.astype(np.float32)))
    return member.reduced(map_leaves(np.asarray, keep_units(guide, kept)), kept)


def take_out(mean: np.ndarray, hessians: np.ndarray, most_nats: float) -> tuple[np.ndarray, np.ndarray]:
    """The units that are left, one at least, and weights (units and bias, outputs) with theirs found anew.

    `hessians` (outputs, units and bias, units and bias) are of minus the log density about the weights given.
    """
    mean, covariances = mean.copy(), np.linalg.inv(hessians)
    left = np.arange(len(mean) - 1)
    while len(left) > 1:
        costs = 0.5 * (mean[left].T ** 2 / covariances[:, left, left]).sum(0)
        if costs.min() > most_nats:
            break
        unit = left[costs.argmin()]
        column = covariances[:, :, unit] / covariances[:, unit, unit, None]
        mean -= column.T * mean[unit]
        covariances -= column[:, :, None] * covariances[:, unit, None, :]
        left = left[left != unit]
        mean[unit] = 0.0
    return left, mean


@compiled()
def _curvature(likelihood: Any, params: Any, targets: Any, outputs: Any) -> Any:
    """Minus the second derivative of ln p(y | f) in each output: what its expectation loses by a variance of f."""

    def expected(var: Any) -> Any:
        return likelihood.expected_log_density(params, targets, outputs, var).sum()

    return -2 * jax.grad(expected)(jnp.full(outputs.shape, NARROW))
