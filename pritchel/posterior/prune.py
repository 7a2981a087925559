"""Pruning: the smaller network that the rule leaves, and a report of it."""

from typing import NamedTuple

import numpy as np

from pritchel.guide.member import Member
from pritchel.guide.network import keep_units
from pritchel.guide.prune_rule import PruneRule, surviving_units_of
from pritchel.tree import map_leaves


class PruneReport(NamedTuple):
    """Units a hidden layer before and after pruning."""

    offered: tuple[int, ...]
    kept: tuple[int, ...]
    threshold: float | None  # None: units went by their inclusion
    probability: float

    def __str__(self) -> str:
        layers = ", ".join(f"{kept} of {offered}" for kept, offered in zip(self.kept, self.offered, strict=True))
        return f"units kept: {layers} (pruned where {PruneRule(self.threshold, self.probability)})"


class PruneReports(tuple[PruneReport, ...]):
    """One report a member."""

    __slots__ = ()

    def __str__(self) -> str:
        if len(self) == 1:
            return str(self[0])
        return "\n".join(f"member {index + 1}: {report}" for index, report in enumerate(self))


def prune(member: Member, threshold: float | None = None, probability: float | None = None) -> Member:
    """The member without the units the rule declares dead: their columns here, their rows in the next layer."""
    survivors = surviving_units_of(member, threshold, probability)
    return member.reduced(map_leaves(np.asarray, keep_units(member.guide, survivors)), survivors)
