"""Rows that a fit, or some of its members, do not see: drawn from a seed, the same whatever the order of the table."""

from typing import NamedTuple

import numpy as np

from pritchel.data.dataset import Table, numbers_of_inputs, places_of_rows

IN_NONE = -1  # of the parts
MAX_UNSEEN = 10_000  # more would tell little more, and the fit would miss them


class Unseen(NamedTuple):
    """Rows that no member is fitted to, the name of what they are for, and the seed that chose them."""

    name: str
    rows: Table
    seed: int


def leave_out(table: Table, fraction: float, seed: int, has_classes: bool) -> tuple[Table, Table]:
    """The rows to fit to and the others, about a part `fraction`, spread evenly over the classes if there are any.

    Rows of equal inputs stay together. A row of every class stays in the fit. A ValueError where a table is too small
    for both.
    """
    number = numbers_of_inputs(table.inputs)
    count = number.max() + 1
    rng = np.random.default_rng(np.random.SeedSequence((seed, 6)))
    spare = rng.permutation(count)
    if has_classes:
        label = _commonest(number, table)
        spare = spare[np.argsort(label[spare], kind="stable")]
        spare = np.delete(spare, np.unique(label[spare], return_index=True)[1])
    num_unseen = min(round(fraction * count), MAX_UNSEEN, len(spare))
    if num_unseen < 1 or count - num_unseen < 2:
        raise ValueError(
            f"calibration leaves rows out of the fit: of {count} different inputs unseen_fraction={fraction:g} leaves "
            "out none, or too many for a fit. Give it more rows, or calibration=None."
        )
    every = len(spare) / num_unseen
    is_unseen = np.isin(number, spare[((np.arange(num_unseen) + rng.random()) * every).astype(int)])
    if has_classes:  # one that is nowhere the commonest may have gone altogether
        lost = np.setdiff1d(table.targets[is_unseen, 0], table.targets[~is_unseen, 0])
        is_unseen &= ~np.isin(number, number[np.isin(table.targets[:, 0], lost)])
    return table.take(~is_unseen), table.take(is_unseen)


def _commonest(number: np.ndarray, table: Table) -> np.ndarray:
    """The class that most rows of each number are of."""
    weight = np.zeros((number.max() + 1, int(table.targets[:, 0].max()) + 1))
    np.add.at(weight, (number, table.targets[:, 0].astype(int)), table.weights)
    return weight.argmax(1)


def deal(num_rows: int, num_parts: int, rng: np.random.Generator, classes: np.ndarray | None = None) -> np.ndarray:
    """The part of each row, from 0, drawn at random; each part has its share of every class, if there are any.

    The only row of a class is in none: whoever did not see the class could not be asked about it.
    """
    dealt = rng.permutation(num_rows)
    if classes is not None:
        _, index, counts = np.unique(classes, return_inverse=True, return_counts=True)
        dealt = dealt[np.argsort(index[dealt], kind="stable")]
        dealt = dealt[counts[index[dealt]] > 1]
    part = np.full(num_rows, IN_NONE)
    part[dealt] = np.arange(len(dealt)) % num_parts
    return part


class Crossing(NamedTuple):
    """Rows in parts: the member of number i, and of i plus the number of parts, is not fitted to part i."""

    rows: Table  # as they were given
    part: np.ndarray  # of each of those
    fitted_part: np.ndarray  # of each distinct row, as a fit has them
    num_parts: int

    @classmethod
    def of(cls, rows: Table, num_parts: int, seed: int, has_classes: bool) -> "Crossing":
        """The rows dealt out, those of equal inputs together. A ValueError where there are too few."""
        distinct, place = places_of_rows(*rows)
        number = numbers_of_inputs(distinct.inputs)
        num_rows = number.max() + 1
        if num_rows < num_parts or num_rows - -(-num_rows // num_parts) < 2:
            raise ValueError(
                f"cross_fit deals rows out in {num_parts} parts, and {num_rows} distinct rows are too few: each part "
                "needs one, and each member two to be fitted to. Give it more rows, or cross_fit=False."
            )
        rng = np.random.default_rng(np.random.SeedSequence((seed, 7)))
        part = deal(num_rows, num_parts, rng, _commonest(number, distinct) if has_classes else None)[number]
        return cls(rows, np.where(place < 0, IN_NONE, part[place]), part, num_parts)

    def is_fitted(self, number: int) -> np.ndarray:
        """Whether the member of a number is fitted to each of the distinct rows."""
        return self.fitted_part != number % self.num_parts
