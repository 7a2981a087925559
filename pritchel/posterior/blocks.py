"""The weight draws behind answers, some at a time: made from a seed when needed, and kept while they are few."""

import functools
import threading
from typing import Any

import numpy as np

from pritchel.guide.member import Member
from pritchel.posterior.draws import DrawBlock, draw_block, shuffled_rows, stored_block, stored_rows
from pritchel.tree import map_leaves

MAX_CACHED_BYTES = 2**28
_making = threading.Lock()  # a block of draws is made once


class Blocks:
    """Blocks of each member's draws; what is kept of them is no part of the pickled state."""

    def __init__(self, members: list[Member], seed: int, num_draws: int):
        self.members, self.seed, self.num_draws = members, seed, num_draws
        self._cache: dict[Any, DrawBlock] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": {}}

    @functools.cached_property
    def is_kept(self) -> bool:
        """Whether the draws behind every answer are few enough to stay in memory."""
        num_floats = sum(member.guide.num_weights for member in self.members) * -(-self.num_draws // len(self.members))
        return 8 * num_floats <= MAX_CACHED_BYTES

    def block(self, member: int, block: int, stream: tuple[int, ...], precision: Any = np.float64) -> DrawBlock:
        """A block of a member's draws: those behind every answer, or, with a `stream`, others."""
        if stream or not self.is_kept:
            return _rounded(self._make(member, block, stream), precision)
        with _making:
            key = member, block, np.dtype(precision)
            if key not in self._cache:
                self._cache[key] = _rounded(self._make(member, block, stream), precision)
            return self._cache[key]

    def _make(self, index: int, block: int, stream: tuple[int, ...]) -> DrawBlock:
        member = self.members[index]
        if member.draws is None:
            return draw_block(member, (self.seed, index, block, *stream))
        num_stored = len(member.draws.output)
        if stream:
            return stored_block(member, shuffled_rows(num_stored, (self.seed, index, *stream), block))
        num_used = len(range(index, self.num_draws, len(self.members)))
        return stored_block(member, stored_rows(num_stored, num_used, block))


def _rounded(block: DrawBlock, precision: Any) -> DrawBlock:
    """The same with weights of another precision."""
    return block._replace(weights=map_leaves(lambda leaf: leaf.astype(precision, copy=False), block.weights))
