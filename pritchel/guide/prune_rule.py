"""The pruning rule: which units are switched off.

The paper's, of scales: a unit goes where P(scale < threshold) > probability. Where the prior has each unit in or out,
and no threshold is given, it goes where P(out) > probability.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from pritchel.guide.member import Member
from pritchel.guide.network import NetworkGuide
from pritchel.model.priors import Prior

THRESHOLD, PROBABILITY = 1e-3, 0.9  # the paper's delta and p_0
MORE_LIKELY_OUT = 0.5  # of priors with inclusion: the median probability model


class PruneRule(NamedTuple):
    """What is asked of a unit that is to go; no threshold: that it is out."""

    threshold: float | None
    probability: float

    def __str__(self) -> str:
        what = "unit is out" if self.threshold is None else f"scale < {self.threshold:g}"
        return f"P({what}) > {self.probability:g}"


def rule_for(prior: Prior, threshold: float | None = None, probability: float | None = None) -> PruneRule:
    """The rule as given; what is left open, as the prior has it."""
    if threshold is None and prior.has_inclusion:
        return PruneRule(None, MORE_LIKELY_OUT if probability is None else probability)
    return PruneRule(THRESHOLD if threshold is None else threshold, PROBABILITY if probability is None else probability)


def prune_probabilities(prior: Prior, guide: NetworkGuide, threshold: float | None = None) -> list[np.ndarray]:
    r"""$P(\tau_{kl}\upsilon_l < \delta)$ a unit, the product being log-normal under q, or P(out); one array a layer."""
    if not guide.has_unit_scales():
        raise ValueError(
            "prior='gaussian' has no unit scales to prune by; use 'regularized_horseshoe', 'horseshoe' or 'spike_slab'."
        )
    moments, rule = log_scale_moments(guide), rule_for(prior, threshold)
    if rule.threshold is None:
        return [1 - prior.inclusion_probability(mean, var) for mean, var in moments]
    return [ndtr((np.log(rule.threshold) - mean) / np.sqrt(var)) for mean, var in moments]


def log_scale_moments(guide: NetworkGuide) -> list[tuple[np.ndarray, np.ndarray]]:
    r"""Mean and variance of each unit's raw log scale $\ln\tau_{kl}\upsilon_l$, one pair a hidden layer.

    Where the prior has no unit scales every unit's scale is one, for sure.
    """
    moments = []
    for index, layer in enumerate(guide.layers):
        own = layer.log_unit_scale_moments()
        if own is None:
            moments.append((np.zeros(layer.base_mean.shape[1]), np.zeros(layer.base_mean.shape[1])))
            continue
        mean, var = (np.asarray(part, np.float64) for part in own)
        shared = guide.scales.layer
        if shared is not None:
            mean, var = mean + float(shared.mean[index]), var + float(np.asarray(shared.var)[index])
        moments.append((mean, var))
    return moments


def surviving_units(
    prior: Prior, guide: NetworkGuide, threshold: float | None = None, probability: float | None = None
) -> tuple[np.ndarray, ...]:
    """Indices of the units the rule keeps: those with P(off) <= probability."""
    rule = rule_for(prior, threshold, probability)
    return tuple(np.flatnonzero(off <= rule.probability) for off in prune_probabilities(prior, guide, threshold))


def log_scale_draws(member: Member) -> list[np.ndarray]:
    """A sampled member's draws of each unit's raw log scale: (draws, units) a hidden layer; zeros: there are none."""
    draws = member.draws
    if draws is None:
        raise ValueError("The member was not sampled.")
    if not draws.log_unit_scales:
        return [np.zeros((len(part), part.shape[-1])) for part in draws.hidden]
    shared = draws.scales.layer
    parts = [own if shared is None else own + shared[:, [layer]] for layer, own in enumerate(draws.log_unit_scales)]
    return [np.asarray(part) for part in parts]


def log_scale_moments_of(member: Member) -> list[tuple[np.ndarray, np.ndarray]]:
    """Mean and variance of each unit's raw log scale: of its draws where the member has any, else of its guide."""
    if member.draws is None:
        return log_scale_moments(member.guide)
    return [(values.mean(0), values.var(0)) for values in log_scale_draws(member)]


def surviving_units_of(
    member: Member, threshold: float | None = None, probability: float | None = None
) -> tuple[np.ndarray, ...]:
    """The same of a member: by its draws where it has any, else by its guide."""
    if member.draws is None or not member.guide.has_unit_scales():
        return surviving_units(member.model.prior, member.guide, threshold, probability)
    rule = rule_for(member.model.prior, threshold, probability)
    if rule.threshold is None:
        is_off = [1 - is_in for is_in in inclusion_probabilities(member)]
    else:
        is_off = [(values < np.log(rule.threshold)).mean(0) for values in log_scale_draws(member)]
    return tuple(np.flatnonzero(off <= rule.probability) for off in is_off)


def inclusion_probabilities(member: Member) -> list[np.ndarray]:
    """P(in) of each unit, one array a hidden layer: by the member's draws where it has any, else by its guide."""
    prior = member.model.prior
    if member.draws is None:
        return [prior.inclusion_probability(*moments) for moments in log_scale_moments(member.guide)]
    draws = log_scale_draws(member)
    return [prior.inclusion_probability(values, np.zeros_like(values)).mean(0) for values in draws]
