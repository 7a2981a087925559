"""Rows that a fit, or some of its members, do not see: drawn from a seed, the same whatever the order of the table."""

from typing import NamedTuple

import numpy as np

from pritchel.data.dataset import Table, places_of_rows

IN_NONE = -1  # of the parts
MAX_UNSEEN = 10_000  # more would tell little more, and the fit would miss them


class Unseen(NamedTuple):
    """Rows that no member is fitted to, the name of what they are for, and the seed that chose them."""

    name: str
    rows: Table
    seed: int


def leave_out(table: Table, fraction: float, seed: int, has_classes: bool) -> tuple[Table, Table]:
    """The rows to fit to and the others, about a part `fraction`, spread evenly over the classes if there are any.

    A row of every class stays in the fit. A ValueError where a table is too small for both.
    """
    num_rows = len(table.inputs)
    rng = np.random.default_rng(np.random.SeedSequence((seed, 6)))
    spare = rng.permutation(num_rows)
    if has_classes:
        spare = spare[np.argsort(table.targets[spare, 0], kind="stable")]
        spare = np.delete(spare, np.unique(table.targets[spare, 0], return_index=True)[1])
    num_unseen = min(round(fraction * num_rows), MAX_UNSEEN, len(spare))
    if num_unseen < 1 or num_rows - num_unseen < 2:
        raise ValueError(
            f"calibration leaves rows out of the fit: of {num_rows} distinct rows unseen_fraction={fraction:g} leaves "
            "out none, or too many for a fit. Give it more rows, or calibration=None."
        )
    every = len(spare) / num_unseen
    is_unseen = np.zeros(num_rows, bool)
    is_unseen[spare[((np.arange(num_unseen) + rng.random()) * every).astype(int)]] = True
    return table.take(~is_unseen), table.take(is_unseen)


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
        """The rows dealt out, equal ones together. A ValueError where there are too few."""
        distinct, place = places_of_rows(*rows)
        num_rows = len(distinct.inputs)
        if num_rows < num_parts or num_rows - -(-num_rows // num_parts) < 2:
            raise ValueError(
                f"cross_fit deals rows out in {num_parts} parts, and {num_rows} distinct rows are too few: each part "
                "needs one, and each member two to be fitted to. Give it more rows, or cross_fit=False."
            )
        rng = np.random.default_rng(np.random.SeedSequence((seed, 7)))
        part = deal(num_rows, num_parts, rng, distinct.targets[:, 0] if has_classes else None)
        return cls(rows, np.where(place < 0, IN_NONE, part[place]), part, num_parts)

    def is_fitted(self, number: int) -> np.ndarray:
        """Whether the member of a number is fitted to each of the distinct rows."""
        return self.fitted_part != number % self.num_parts
