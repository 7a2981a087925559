"""Rows that a fit does not see: drawn from a seed, the same whatever the order of the table."""

from typing import NamedTuple

import numpy as np

from pritchel.data.dataset import Table

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
