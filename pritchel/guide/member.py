"""A fitted network as a value: its model, its guide, and which of the units it was offered are left."""

from typing import NamedTuple

import numpy as np

from pritchel.guide.network import NetworkGuide
from pritchel.model.network import Model


class Member(NamedTuple):
    """One fitted network: its guide, and which of the units it was offered the guide still has."""

    model: Model
    guide: NetworkGuide
    offered: tuple[int, ...]  # units a hidden layer before any pruning
    kept: tuple[np.ndarray, ...]  # indices into those

    @classmethod
    def unpruned(cls, model: Model, guide: NetworkGuide) -> "Member":
        """A member that has all its units."""
        offered = guide.widths[1:-1]
        return cls(model, guide, offered, tuple(np.arange(units) for units in offered))

    def reduced(self, guide: NetworkGuide, kept: tuple[np.ndarray, ...]) -> "Member":
        """The member with a guide that has only some of its present units."""
        return self._replace(
            guide=guide, kept=tuple(units[index] for units, index in zip(self.kept, kept, strict=True))
        )

    def per_offered_unit(self, values: list[np.ndarray]) -> list[np.ndarray]:
        """Values of the present units, one array a hidden layer, among zeros for those that have left."""
        return [
            np.bincount(units, value, offered)
            for units, value, offered in zip(self.kept, values, self.offered, strict=True)
        ]
