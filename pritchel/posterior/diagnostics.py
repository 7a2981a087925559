"""Is the fit any good, and which units carry it: collapse, full layers, unit scales, weight norms."""

import warnings
from collections.abc import Sequence

import numpy as np

from pritchel.guide.member import Member
from pritchel.guide.prune_rule import log_scale_draws, log_scale_moments
from pritchel.model.joint import stacked_weights
from pritchel.model.network import Activation
from pritchel.numerics import gauss_hermite

COLLAPSE_RATIO = 0.98
TELLING = 0.1  # nats a row by which a density is ahead of a constant one where the mean is not
FULL, FEW_UNITS = 0.85, 50  # of the units offered, in use; who offers fewer than so many has chosen to
STEPS_TO_EMPTY = 2000  # before that many the prior has not switched off what it will
STILL_RISING, LEAST_STEPS = 0.05, 20  # nats a row over the last tenth of the steps, of which there must be so many


class CollapseWarning(UserWarning):
    """The fitted network predicts its training rows no better than a constant does."""


class FitWarning(UserWarning):
    """The fit ended in a way worth knowing: interrupted, or with steps skipped."""


def warn_if_collapsed(
    targets: np.ndarray,
    predictions: np.ndarray,
    weights: np.ndarray,
    log_density: np.ndarray | None = None,
    is_unseen: bool = False,
) -> bool:
    """Warn, and say what to try, where predictions of standardized targets are no better than their mean.

    Not where the predictive density, if given, says more of them than a Gaussian does that is the same for all rows.
    """
    share = weights / weights.sum()
    constant = share @ (targets - share @ targets) ** 2
    fitted = share @ (targets - predictions) ** 2
    is_bad = ~(fitted <= COLLAPSE_RATIO**2 * constant) & (constant > 0)  # also where it is no number
    if log_density is not None:
        of_constant = -0.5 * (1 + np.log(2 * np.pi * np.maximum(constant, np.finfo(float).tiny)))
        is_bad &= ~(share @ log_density >= of_constant + TELLING)
    is_collapsed = bool(np.any(is_bad))
    if is_collapsed:
        warnings.warn(
            "The fit is no better than the constant predictor: its RMSE on "
            f"{'rows left out of the fit' if is_unseen else 'its own rows'} is "
            f"{np.sqrt(fitted.sum() / constant.sum()):.3g} of the target's standard deviation, so units kept or pruned "
            "mean nothing here. That is the right answer where the inputs carry no signal; if they do, try a larger "
            "layer_scale of the prior, more num_steps, a longer kl_warmup or another random_state.",
            CollapseWarning,
            stacklevel=5,  # the caller of fit
        )
    return is_collapsed


def full_layers(kept: np.ndarray, offered: Sequence[int], num_steps: int, activation: Activation = "relu") -> list[int]:
    """Hidden layers that are nearly full after so many steps, given what members keep: (members, layers).

    More units, with more steps, then predict better: a made-up table that 400 units have drawn, 15,000 rows, has a
    log-likelihood of 1.05 with 100 in its first layer (97 kept), 1.08 with twice the steps, 1.13 with twice both. Where
    there is room, and for the same steps, they do not: kin8nm keeps 75 of 100 and has 1.33 with them, 1.29 with 200.

    Smooth units of a last layer that has others below are no evidence: a fit keeps copies of them, over which the noise
    of weights averages out, and that of protein's table fills whatever it is offered.
    """
    mean = np.mean(kept, 0)
    if num_steps < STEPS_TO_EMPTY:
        return []
    full = [index for index, units in enumerate(offered) if units >= FEW_UNITS and mean[index] >= FULL * units]
    may_be_copies = activation != "relu" and len(offered) > 1
    return [index for index in full if not may_be_copies or index < len(offered) - 1]


def width_remark(
    kept: np.ndarray, offered: Sequence[int], num_steps: int, activation: Activation = "relu"
) -> str | None:
    """What to do about layers that are nearly full, given what members keep: (members, layers). None: none is."""
    layers = full_layers(kept, offered, num_steps, activation)
    if not layers:
        return None
    mean = np.mean(kept, 0)
    told = " and ".join(f"{mean[index]:.0f} of {offered[index]} in layer {index + 1}" for index in layers)
    more = tuple(2 * units if index in layers else int(units) for index, units in enumerate(offered))
    return (
        f"Nearly all units offered are in use ({told}), so it is the offer that sets the width. More may "
        f"help, with more steps to train them: try hidden={more} with training__num_steps={2 * num_steps}, and keep it "
        "if the log-likelihood of rows held out is better."
    )


def rising_remark(elbo: np.ndarray, num_rows: float) -> str | None:
    """What to do about a bound, (members, steps), that was still rising when the steps ended; None: none was."""
    tenth = elbo.shape[1] // 10
    if tenth < LEAST_STEPS:
        return None
    last, before = elbo[:, -tenth:], elbo[:, -2 * tenth : -tenth]
    rise = (np.nanmean(last, 1) - np.nanmean(before, 1)) / num_rows
    error = np.sqrt((np.nanvar(last, 1) + np.nanvar(before, 1)) / tenth) / num_rows
    is_rising = (rise > STILL_RISING) & (rise > 4 * error)
    if not is_rising.any():
        return None
    return (
        f"The bound was still rising when the steps ended, by {rise[is_rising].max():.2g} nats a row over the last "
        f"tenth of them: try training__num_steps={2 * elbo.shape[1]}."
    )


def unit_scales(member: Member) -> list[np.ndarray]:
    r"""Posterior medians of $\tau_{kl}\upsilon_l$, one array a hidden layer: what the pruning rule looks at."""
    if member.draws is not None:
        return [np.exp(np.median(values, 0)) for values in log_scale_draws(member)]
    return [np.exp(mean) for mean, _ in log_scale_moments(member.guide)]


def weight_norms(member: Member, num_nodes: int = 12) -> list[np.ndarray]:
    r"""$\|E[w_{kl}]\|_2$ a unit, one array a hidden layer: the paper's measure of shrinkage.

    Of a sampled member the mean is over its draws; of a guide,
    $E[w] = E[s\,(\mu + \text{slope}\,(\nu - m_\nu))]$ with the scale $s$ a function of independent Gaussians ($\nu$,
    $\ln\upsilon$ and the prior's latents, such as $\ln c^2$), taken by Gauss-Hermite quadrature over each.
    """
    if member.draws is not None:
        means = (matrix.mean(0) for matrix in stacked_weights(member.model, member.draws).hidden)
        return [np.linalg.norm(mean, axis=0) for mean in means]
    model, guide, norms = member.model, member.guide, []
    for index, layer in enumerate(guide.layers):
        base = np.asarray(layer.base_mean, np.float64)
        own = layer.log_unit_scale_moments()
        if own is None:
            norms.append(np.linalg.norm(base, axis=0))
            continue
        latents = guide.latents_of(index)
        nodes, weights = _node_grid(num_nodes, 2 + len(latents))  # its own scale, its layer's, each latent
        deviation = np.sqrt(np.asarray(own[1], np.float64))[:, None] * nodes[0]
        log_scale = np.asarray(own[0], np.float64)[:, None] + deviation
        if guide.scales.layer is not None:
            mean, var = (float(np.asarray(part)[index]) for part in (guide.scales.layer.mean, guide.scales.layer.var))
            log_scale = log_scale + mean + np.sqrt(var) * nodes[1]
        values = {}
        for (name, normal), node in zip(latents.items(), nodes[2:], strict=True):
            mean, var = (np.asarray(part, np.float64)[:, None] for part in (normal.mean, normal.var))
            values[name] = mean + np.sqrt(var) * node
        scale = np.exp(np.asarray(model.prior.log_weight_scale(log_scale, values)))
        slope = np.asarray(layer.scale_slope(), np.float64)
        norms.append(np.linalg.norm(base * (scale @ weights) + np.outer(slope, (scale * deviation) @ weights), axis=0))
    return norms


def _node_grid(num_nodes: int, num_axes: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (axes, points) and weights (points,) of a product of Gauss-Hermite rules."""
    nodes, weights = gauss_hermite(num_nodes)
    grid = np.stack(np.meshgrid(*[nodes] * num_axes, indexing="ij")).reshape(num_axes, -1)
    products = np.stack(np.meshgrid(*[weights] * num_axes, indexing="ij")).reshape(num_axes, -1)
    return grid, products.prod(0)
