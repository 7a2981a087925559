"""Is the fit any good, and which units carry it: collapse, unit scales, weight norms."""

import warnings
from typing import Any

import numpy as np

from pritchel.guide.network import NetworkGuide
from pritchel.model.network import Model
from pritchel.numerics import gauss_hermite

COLLAPSE_RATIO = 0.98


class CollapseWarning(UserWarning):
    """The fitted network predicts its training rows no better than a constant does."""


class FitWarning(UserWarning):
    """The fit ended in a way worth knowing: interrupted, or with steps skipped."""


def warn_if_collapsed(targets: np.ndarray, predictions: np.ndarray, weights: np.ndarray) -> bool:
    """Warn, and say what to try, where predictions of standardized targets are no better than their mean."""
    share = weights / weights.sum()
    constant = share @ (targets - share @ targets) ** 2
    fitted = share @ (targets - predictions) ** 2
    is_collapsed = bool(np.any((fitted > COLLAPSE_RATIO**2 * constant) & (constant > 0)))
    if is_collapsed:
        warnings.warn(
            "The fit is no better than the constant predictor: its training RMSE is "
            f"{np.sqrt(fitted.sum() / constant.sum()):.2f} of the target's standard deviation, so units kept or pruned "
            "mean nothing here. Unless the inputs really carry no signal, try kl_warmup=0.5 or more, more num_steps, "
            "a larger layer_scale_prior, another random_state, or num_members=3.",
            CollapseWarning,
            stacklevel=5,  # the caller of fit
        )
    return is_collapsed


def unit_scales(guide: NetworkGuide) -> list[np.ndarray]:
    r"""Posterior medians of $\tau_{kl}\upsilon_l$, one array a hidden layer: what the pruning rule looks at."""
    scales = []
    for index, layer in enumerate(guide.layers):
        moments = layer.log_unit_scale_moments()
        if moments is None or guide.log_layer_scales is None:
            scales.append(np.ones(layer.base_mean.shape[1]))
        else:
            scales.append(np.exp(np.asarray(moments[0], np.float64) + float(guide.log_layer_scales.mean[index])))
    return scales


def weight_norms(model: Model, guide: NetworkGuide, num_nodes: int = 12) -> list[np.ndarray]:
    r"""$\|E[w_{kl}]\|_2$ a unit, one array a hidden layer: the paper's measure of shrinkage.

    $E[w] = E[s\,(\mu + \text{slope}\,(\nu - m_\nu))]$ with the scale $s$ a function of three independent Gaussians
    ($\nu$, $\ln\upsilon$, $\ln c^2$), taken by Gauss-Hermite quadrature over each.
    """
    nodes, node_weights = gauss_hermite(num_nodes)
    norms = []
    for index, layer in enumerate(guide.layers):
        base = np.asarray(layer.base_mean, np.float64)
        moments = layer.log_unit_scale_moments()
        if moments is None or guide.log_layer_scales is None:
            norms.append(np.linalg.norm(base, axis=0))
            continue
        mean, var = (np.asarray(part, np.float64)[:, None, None, None] for part in moments)
        shared = guide.log_layer_scales
        deviation = np.sqrt(var) * nodes[:, None, None]
        log_scale = mean + deviation + float(shared.mean[index]) + np.sqrt(float(shared.var[index])) * nodes[:, None]
        slab_index = guide.slab_index(index)
        if slab_index is None:
            scale = np.exp(log_scale) * np.ones_like(nodes)
        else:
            slab = guide.log_slab_sq[slab_index]
            slab_mean, slab_var = (np.asarray(part, np.float64)[:, None, None, None] for part in (slab.mean, slab.var))
            scale = np.exp(np.asarray(model.prior.log_weight_scale(log_scale, slab_mean + np.sqrt(slab_var) * nodes)))
        weight = node_weights[:, None, None] * node_weights[:, None] * node_weights
        expected_scale = (scale * weight).sum((1, 2, 3))
        expected_product = (scale * deviation * weight).sum((1, 2, 3))
        slope = np.asarray(layer.scale_slope(), np.float64)
        norms.append(np.linalg.norm(base * expected_scale + np.outer(slope, expected_product), axis=0))
    return norms


def input_norms(posterior: Any) -> np.ndarray:
    """How much use is made of each input: root mean square, over draws, of the norm of the weights that leave it.

    Weights into the first hidden layer and the linear path, inputs in standard units; nearly zero: not used.
    """
    squares = []
    for _, weights in posterior.weight_draws():
        total = (weights.hidden[0][:, :-1] ** 2).sum(-1)
        if weights.linear is not None:
            total = total + (weights.linear**2).sum(-1)
        squares.append(total)
    return np.sqrt(np.concatenate(squares).mean(0))
