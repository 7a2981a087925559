"""A fitted network as a value: its model, its guide, its draws, and which of the units it was offered are left."""

from typing import NamedTuple

import numpy as np

from pritchel.guide.network import NetworkGuide
from pritchel.model.joint import Unknowns, take_units
from pritchel.model.network import Model


class Member(NamedTuple):
    """One fitted network: its guide, which of the units it was offered are left, and draws if it was sampled.

    A sampled member is its draws: answers come from them alone, and the guide is where its chain began.
    """

    model: Model
    guide: NetworkGuide
    offered: tuple[int, ...]  # units a hidden layer before any pruning
    kept: tuple[np.ndarray, ...]  # indices into those
    draws: Unknowns | None = None  # of the posterior, stacked; None: the member is its guide

    @classmethod
    def unpruned(cls, model: Model, guide: NetworkGuide) -> "Member":
        """A member that has all its units."""
        offered = guide.widths[1:-1]
        return cls(model, guide, offered, tuple(np.arange(units) for units in offered))

    def reduced(self, guide: NetworkGuide, kept: tuple[np.ndarray, ...]) -> "Member":
        """The member with a guide that has only some of its present units."""
        return self._replace(
            guide=guide,
            kept=tuple(units[index] for units, index in zip(self.kept, kept, strict=True)),
            draws=None if self.draws is None else take_units(self.draws, kept),
        )

    def per_offered_unit(self, values: list[np.ndarray]) -> list[np.ndarray]:
        """Values of the present units, one array a hidden layer, among zeros for those that have left."""
        return [
            np.bincount(units, value, offered)
            for units, value, offered in zip(self.kept, values, self.offered, strict=True)
        ]
