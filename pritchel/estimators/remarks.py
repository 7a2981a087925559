"""What is worth a warning in a table before it is fitted."""

from collections.abc import Iterator

import numpy as np

from pritchel import checks
from pritchel.data.grid import has_many_zeros, heavy_value
from pritchel.model.likelihoods import Likelihood
from pritchel.model.likelihoods.heteroscedastic import HeteroscedasticLikelihood


def table_remarks(inputs: np.ndarray, targets: np.ndarray, kind: type[Likelihood]) -> Iterator[str]:
    """Columns that floats are too coarse for, values far from all others, and targets that adaptive noise clings to."""
    for name, table in (("X", inputs), ("y", targets)):
        for index in checks.columns_without_digits(table):
            yield f"{name}, column {index}: {checks.FEW_DIGITS}"
    for index, column in enumerate(inputs.T):
        for value, count in checks.far_values(column):
            yield f"X, column {index}: {value:g} in {count:g} row(s) is {checks.FAR}"
    if issubclass(kind, HeteroscedasticLikelihood):
        for index, column in enumerate(targets.T):
            yield from _remarks_on_target(column, f"y, column {index}" if targets.shape[1] > 1 else "y")


def _remarks_on_target(values: np.ndarray, name: str) -> Iterator[str]:
    """Noise that depends on the inputs can be ever smaller where one value is predicted, and the mean pays for it."""
    if (heavy := heavy_value(values)) is None:
        return
    value, share = heavy
    way_out = "'gaussian' for the mean, 'mixture' for the shape"
    if value == 0 and has_many_zeros(values):
        way_out = "'zero_inflated' for counts"
    yield (
        f"{name} is exactly {value:g} in {100 * share:.0f} % of the rows. No density has room for that, and noise that "
        f"depends on the inputs clings to such a value at the cost of the mean: use likelihood={way_out}."
    )
