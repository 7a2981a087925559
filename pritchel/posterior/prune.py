"""Pruning: the paper's rule, the smaller network it leaves, and what is needed to fine-tune that."""

from typing import NamedTuple

import jax
import numpy as np
from scipy.stats import norm

from pritchel.guide.network import NetworkGuide, keep_units
from pritchel.posterior.draws import Member

DELTA, P0 = 1e-3, 0.9


class PruneReport(NamedTuple):
    """Units a hidden layer before and after pruning."""

    offered: tuple[int, ...]
    kept: tuple[int, ...]
    delta: float
    p0: float

    def __str__(self) -> str:
        layers = ", ".join(f"{kept} of {offered}" for kept, offered in zip(self.kept, self.offered, strict=True))
        return f"units kept: {layers} (pruned where P(scale < {self.delta:g}) > {self.p0:g})"


class PruneReports(tuple[PruneReport, ...]):
    """One report a member."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(f"member {index + 1}: {report}" for index, report in enumerate(self))


def prune_probabilities(guide: NetworkGuide, delta: float = DELTA) -> list[np.ndarray]:
    r"""$P(\tau_{kl}\upsilon_l < \delta)$ a unit, one array a hidden layer: the product is log-normal under q."""
    shared = guide.log_layer_scales
    if shared is None:
        raise ValueError("prior='gaussian' has no unit scales to prune by; use 'regularized_horseshoe' or 'horseshoe'.")
    probabilities = []
    for layer, shared_mean, shared_var in zip(guide.layers, shared.mean, shared.var, strict=True):
        mean, var = (np.asarray(part, np.float64) for part in layer.log_unit_scale_moments() or ())
        sd = np.sqrt(var + float(shared_var))
        probabilities.append(norm.cdf((np.log(delta) - mean - float(shared_mean)) / sd))
    return probabilities


def surviving_units(guide: NetworkGuide, delta: float = DELTA, p0: float = P0) -> tuple[np.ndarray, ...]:
    """Indices of the units the rule keeps: those with P(scale < delta) <= p0."""
    return tuple(np.flatnonzero(probability <= p0) for probability in prune_probabilities(guide, delta))


def prune(member: Member, delta: float = DELTA, p0: float = P0) -> Member:
    """The member without the units the rule declares dead: their columns here, their rows in the next layer."""
    survivors = surviving_units(member.guide, delta, p0)
    return member.reduced(jax.tree.map(np.asarray, keep_units(member.guide, survivors)), survivors)
