"""Rows as a fit reads them: what it asks of a table or a stream, and shuffled passes over a table in memory."""

import json
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from pritchel.serial import stored

if TYPE_CHECKING:
    from pritchel.data.dataset import Dataset


@runtime_checkable
class Passes(Protocol):
    """Shuffled passes over rows that run on into each other."""

    def take(self, count: int, is_wanted: np.ndarray | None = None) -> "Dataset":
        """The next rows; with a mask those of them that are wanted."""
        ...

    @property
    def state(self) -> Any:
        """Where the passes stand, as a value that can be stored."""
        ...


@runtime_checkable
class Rows(Protocol):
    """Standardized rows that a fit is given some of at every step: a `Dataset` in memory, or a `Stream`."""

    @property
    def num_rows(self) -> int:
        """How many there are."""
        ...

    @property
    def num_features(self) -> int:
        """Inputs of each."""
        ...

    @property
    def num_targets(self) -> int:
        """Targets of each."""
        ...

    @property
    def table(self) -> "Dataset | None":
        """All of them, where they are in memory."""
        ...

    @property
    def sample(self) -> "Dataset":
        """All of them, or so many as tell what they are like; the weights are then those of all."""
        ...

    def whole(self) -> "Dataset":
        """All of them, for so few that they are used at every step."""
        ...

    def passes(self, seed: np.random.SeedSequence, state: Any = None) -> Passes:
        """Shuffled passes from the start, or from where others stood."""
        ...

    def set_aside(self, fraction: float, seed: int) -> "tuple[Rows, Dataset]":
        """The rows without a part of them, and that part."""
        ...

    def mark(self) -> Any:
        """Values that tell these rows from others."""
        ...


@stored
class TablePosition(NamedTuple):
    """Where the passes over a table stand: the generator, and the rows of the pass that are still to come."""

    rng: str
    order: np.ndarray


class TablePasses:
    """Shuffled passes over a table in memory: every row once in each."""

    def __init__(self, data: "Dataset", seed: np.random.SeedSequence, state: TablePosition | None = None):
        self.data, self.rng = data, np.random.default_rng(seed)
        self.order = np.empty(0, np.intp)
        if state is not None:
            self.rng.bit_generator.state = json.loads(state.rng)
            self.order = state.order

    @property
    def state(self) -> TablePosition:
        """Where they stand."""
        return TablePosition(json.dumps(self.rng.bit_generator.state), self.order)

    def take(self, count: int, is_wanted: np.ndarray | None = None) -> "Dataset":
        """The next rows; with a mask those of them that are wanted."""
        while len(self.order) < count:
            self.order = np.concatenate([self.order, self.rng.permutation(len(self.data.inputs))])
        rows, self.order = self.order[:count], self.order[count:]
        return self.data.take(rows if is_wanted is None else rows[is_wanted])
