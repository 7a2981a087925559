"""A table ready for training: distinct weighted rows, standardized."""

from typing import Any, NamedTuple

import numpy as np

from pritchel.data.passes import TablePasses, TablePosition


class Dataset(NamedTuple):
    """Standardized rows in float32; each row counts `weights` times. In the words of `Rows`: a table in memory."""

    inputs: np.ndarray  # (rows, features)
    targets: np.ndarray  # (rows, outputs)
    weights: np.ndarray  # (rows,)

    def take(self, rows: np.ndarray | slice) -> "Dataset":
        """Some of the rows."""
        return Dataset(*(part[rows] for part in self))

    @property
    def num_rows(self) -> int:
        """How many there are."""
        return len(self.inputs)

    @property
    def num_features(self) -> int:
        """Inputs of each."""
        return self.inputs.shape[1]

    @property
    def num_targets(self) -> int:
        """Targets of each."""
        return self.targets.shape[1]

    @property
    def table(self) -> "Dataset":
        """All of them."""
        return self

    @property
    def sample(self) -> "Dataset":
        """All of them."""
        return self

    def whole(self) -> "Dataset":
        """All of them."""
        return self

    def passes(self, seed: np.random.SeedSequence, state: TablePosition | None = None) -> TablePasses:
        """Shuffled passes from the start, or from where others stood."""
        return TablePasses(self, seed, state)

    def set_aside(self, fraction: float, seed: int) -> tuple["Dataset", "Dataset"]:
        """The rows without a part of them, and that part, by the seed; rows of equal inputs stay together."""
        number = numbers_of_inputs(self.inputs)
        count = number.max() + 1
        order = np.random.default_rng(np.random.SeedSequence((seed, 2))).permutation(count)
        is_aside = np.isin(number, order[: int(np.ceil(fraction * count))])
        return self.take(~is_aside), self.take(is_aside)

    def mark(self) -> Any:
        """The rows themselves."""
        return tuple(self)


class Table(NamedTuple):
    """Distinct rows in float64 and their own units; each counts `weights` times."""

    inputs: np.ndarray  # (rows, features)
    targets: np.ndarray  # (rows, outputs)
    weights: np.ndarray  # (rows,)

    def take(self, rows: np.ndarray | slice) -> "Table":
        """Some of the rows."""
        return Table(*(part[rows] for part in self))


class Standardizer(NamedTuple):
    """Location and scale of inputs and targets, and the way there and back."""

    input_mean: np.ndarray
    input_scale: np.ndarray
    target_mean: np.ndarray
    target_scale: np.ndarray

    @classmethod
    def of(
        cls,
        inputs: np.ndarray,
        targets: np.ndarray,
        weights: np.ndarray,
        scale_targets: bool,
        input_limit: float | None,
    ) -> "Standardizer":
        """Weighted means and standard deviations; a constant column gets scale 1. Targets may be left as they are.

        No input will lie further out than the limit: a column of rare large values gets a scale above its deviation.
        """
        num_targets = targets.shape[1]
        as_they_are = (np.zeros(num_targets), np.ones(num_targets))
        of_targets = _location_scale(targets, weights) if scale_targets else as_they_are
        mean, scale = _location_scale(inputs, weights)
        if input_limit is not None:
            scale = np.maximum(scale, np.abs(inputs - mean).max(0) / input_limit)
        return cls(mean, scale, *of_targets)

    def scale_inputs(self, inputs: np.ndarray) -> np.ndarray:
        """Inputs in standard units."""
        return (inputs - self.input_mean) / self.input_scale

    def unscale_inputs(self, inputs: np.ndarray) -> np.ndarray:
        """Inputs in their own units, from standard ones."""
        return inputs.astype(np.float64) * self.input_scale + self.input_mean

    def unscale_targets(self, targets: np.ndarray) -> np.ndarray:
        """Targets in their own units, from standard ones."""
        return targets.astype(np.float64) * self.target_scale + self.target_mean

    def scale_targets(self, targets: np.ndarray) -> np.ndarray:
        """Targets in standard units."""
        return (targets - self.target_mean) / self.target_scale

    def unscale(self, rows: Dataset) -> Table:
        """Rows in their own units, from standard ones."""
        weights = rows.weights.astype(np.float64)
        return Table(self.unscale_inputs(rows.inputs), self.unscale_targets(rows.targets), weights)


def _location_scale(columns: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    share = weights / weights.sum()
    mean = share @ columns
    with np.errstate(over="ignore"):
        scale = np.sqrt(share @ (columns - mean) ** 2)
    if not np.isfinite(scale).all():  # squares of 1e300
        largest = np.maximum(np.abs(columns - mean).max(0), 1.0)
        scale = np.where(np.isfinite(scale), scale, largest * np.sqrt(share @ ((columns - mean) / largest) ** 2))
    return mean, usable_scale(mean, scale, columns.min(0) == columns.max(0))


def usable_scale(mean: np.ndarray, scale: np.ndarray, is_constant: np.ndarray) -> np.ndarray:
    """The scale, or 1 for constant columns: also those whose spread is within rounding of the mean, and no signal."""
    return np.where(is_constant | (scale <= 10 * np.finfo(np.float64).eps * np.abs(mean)), 1.0, scale)


def numbers_of_inputs(inputs: np.ndarray) -> np.ndarray:
    """0, 1, ... for each row, in order of appearance; the same for rows of equal inputs.

    Rows are set aside by these. By rows with their targets, the inputs that lost one target would keep the others, and
    a fit would learn the opposite of what was set aside.
    """
    _, first, number = np.unique(inputs, axis=0, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[number.ravel()]


def distinct_rows(inputs: np.ndarray, targets: np.ndarray, sample_weight: np.ndarray | None = None) -> Table:
    """The rows of a float64 table with equal ones merged, whatever their order; those of weight zero are gone.

    A row given twice and a row of weight two are then the same, bit for bit.
    """
    return places_of_rows(inputs, targets, sample_weight)[0]


def places_of_rows(
    inputs: np.ndarray, targets: np.ndarray, sample_weight: np.ndarray | None = None
) -> tuple[Table, np.ndarray]:
    """The distinct rows, and which of them each row is; -1 for those of weight zero."""
    weights = np.ones(len(inputs)) if sample_weight is None else sample_weight
    counts = weights > 0
    distinct, member = np.unique(np.column_stack([inputs, targets])[counts], axis=0, return_inverse=True)
    place = np.full(len(inputs), -1)
    place[counts] = member.ravel()
    weights = np.bincount(member.ravel(), weights[counts])
    return Table(distinct[:, : inputs.shape[1]], distinct[:, inputs.shape[1] :], weights), place


def prepare(
    inputs: np.ndarray,
    targets: np.ndarray,
    sample_weight: np.ndarray | None = None,
    *,
    standardizer: Standardizer | None = None,
    scale_targets: bool = True,
    input_limit: float | None = None,
) -> tuple[Dataset, Standardizer]:
    """Standardize the distinct rows of a float64 table, by themselves unless told how.

    Targets are left in their own units unless `scale_targets`; `input_limit` is that of `Standardizer.of`.
    """
    inputs, targets, weights = distinct_rows(inputs, targets, sample_weight)
    standardizer = standardizer or Standardizer.of(inputs, targets, weights, scale_targets, input_limit)
    scaled = (standardizer.scale_inputs(inputs), standardizer.scale_targets(targets), weights)
    return Dataset(*(part.astype(np.float32) for part in scaled)), standardizer
