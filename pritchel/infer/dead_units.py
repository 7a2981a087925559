"""Dead units leave during training: which, when, and what is left of the optimizer's state."""

import itertools
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from pritchel.guide.network import NetworkGuide, take_units
from pritchel.guide.prune_rule import PROBABILITY, prune_probabilities
from pritchel.model.priors import Prior
from pritchel.processes import of_first
from pritchel.serial import stored

MIN_WIDTH = 16
MAX_COST_SHARE = 0.6  # a smaller network must cost at most this part of the present one
SECONDS_PER_COST = 1.3e-10  # of one row in one step, measured on one core
COMPILE_SECONDS = 3.0

DropDead = Literal["auto"] | bool


class Cut(NamedTuple):
    """Which units to go on with, into those at present, and how many each then stands for; one array a hidden layer."""

    units: tuple[np.ndarray, ...]
    counts: tuple[np.ndarray, ...]

    def apply(self, guide: NetworkGuide) -> NetworkGuide:
        """The smaller guide."""
        return self._with_counts(guide, (np.ones(guide.widths[0]), *self.counts), 1.0)

    def apply_to_updates(self, updates: NetworkGuide) -> NetworkGuide:
        """The same entries of something shaped like the guide, such as a moment of its gradient; none for counts."""
        return self._with_counts(updates, (np.zeros(updates.widths[0]), *map(np.zeros_like, self.counts)), 0.0)

    def _with_counts(self, guide: NetworkGuide, counts: tuple[np.ndarray, ...], own: float) -> NetworkGuide:
        """The units chosen; counts are of the inputs, then of each hidden layer's units."""
        smaller = take_units(guide, self.units)
        layers = tuple(
            layer.count(*between, own)
            for layer, between in zip(smaller.layers, itertools.pairwise(counts), strict=True)
        )
        return replace(smaller, layers=layers)


@stored
class UnitsState(NamedTuple):
    """What the next look depends on; one array a hidden layer."""

    kept: tuple[np.ndarray, ...]  # the units present, of those at the start
    counts: tuple[np.ndarray, ...]  # how many each stands for
    was_dead: tuple[np.ndarray, ...]  # which the rule declared dead at the last look

    @classmethod
    def start(cls, guide: NetworkGuide) -> "UnitsState":
        """All units alive."""
        hidden = guide.widths[1:-1]
        return cls(
            tuple(np.arange(units) for units in hidden),
            tuple(np.ones(units) for units in hidden),
            tuple(np.zeros(units, bool) for units in hidden),
        )


class DeadUnits:
    """Watches the pruning rule and says which units to go on with.

    With "auto" only where the steps to come gain more by it than the smaller program takes to compile, by a rule of
    thumb rather than a clock, so that a fit repeats. A unit counts as dead once the rule has said so at two looks
    running. Layers shrink to powers of two only, filled up with the least dead, so that fits of one table, and of its
    folds, share a handful of compiled widths. The dead that stay stand for those that go: where a family ties units
    together, by norms or by a covariance that they share, all dead units keep their say in it.
    """

    def __init__(self, prior: Prior, state: UnitsState, drop: DropDead = "auto", num_rows_to_come: float = 0.0):
        """`num_rows_to_come`: rows in a batch times steps times the fits that share what is compiled."""
        self.state, self._prior = state, prior
        self._min_gain = np.inf if drop is False else 0.0 if drop is True else COMPILE_SECONDS
        self._seconds_per_cost = SECONDS_PER_COST * num_rows_to_come

    def look(self, guide: NetworkGuide, share_to_come: float) -> Cut | None:
        """What to cut with the given share of the steps to come; None: nothing."""
        if not guide.has_unit_scales() or share_to_come == 0 or np.isinf(self._min_gain):
            return None
        probabilities = [of_first(own) for own in prune_probabilities(self._prior, guide)]
        is_dead = tuple(probability > PROBABILITY for probability in probabilities)
        gone = [now & before for now, before in zip(is_dead, self.state.was_dead, strict=True)]
        self.state = self.state._replace(was_dead=is_dead)
        sizes = [min(len(dead), _next_size(int((~dead).sum()) + 1)) for dead in gone]
        cost, new_cost = _cost(guide.widths[:-1]), _cost((guide.widths[0], *sizes))
        gain = (cost - new_cost) * self._seconds_per_cost * share_to_come
        if new_cost > MAX_COST_SHARE * cost or gain < self._min_gain:
            return None
        units, counts = [], []
        for dead, probability, size, count in zip(gone, probabilities, sizes, self.state.counts, strict=True):
            order = np.lexsort((probability, dead))
            chosen = np.sort(order[:size])
            share = count[order[size:]].sum() / max(dead[chosen].sum(), 1)
            units.append(chosen)
            counts.append(count[chosen] + np.where(dead[chosen], share, 0.0))
        self.state = UnitsState(
            tuple(old[index] for old, index in zip(self.state.kept, units, strict=True)),
            tuple(counts),
            tuple(dead[index] for dead, index in zip(is_dead, units, strict=True)),
        )
        return Cut(tuple(units), tuple(counts))


def _next_size(units: int) -> int:
    return max(MIN_WIDTH, 1 << max(units - 1, 0).bit_length())


def _cost(widths: tuple[int, ...]) -> int:
    """Work of a step, up to a factor: products of neighbouring widths, and what each unit costs by itself."""
    return sum(units * (fan_in + 32) for fan_in, units in itertools.pairwise(widths))
