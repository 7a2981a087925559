"""Checks of what users pass in: every message says what was wanted, what came, and what to do."""

import numbers
import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

MAX_LABELS = 12  # in a message
LARGEST = 1e100  # its square, and the reciprocal of that, are floats
FEWEST_ROWS, MOST_ROWS = 1e-6, 1e12  # that weights may stand for: squared gradients must be short floats
FEW_DIGITS = "floats have but a few steps between its values, so large are they. Subtract an offset from them first."
FAR = "far from all its other values, which then look alike. If it stands for a missing value, fill it or drop the row."
MIN_DISTINCT = 6  # values of a column of which one can be far from the others
ROUNDING_STEPS, FEW_STEPS = 8, 4096  # between neighbouring floats: within rounding; too few to tell values apart


def check_choice(name: str, value: Any, choices: Collection[object]) -> None:
    """The value is one of the named choices."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")


def check_number(name: str, value: Any, *, above: float = -np.inf, at_least: float = -np.inf, at_most: float = np.inf):
    """The value is a finite real number within bounds."""
    bounds = [f"above {above:g}"] * (above > -np.inf) + [f"at least {at_least:g}"] * (at_least > -np.inf)
    bounds += [f"at most {at_most:g}"] * (at_most < np.inf)
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not is_number or not (value > above and at_least <= value <= at_most and np.isfinite(value)):
        raise ValueError(f"{name} must be a number {' and '.join(bounds)}; got {value!r}.")


def check_share(name: str, value: Any) -> float:
    """A share is strictly between 0 and 1."""
    if not isinstance(value, (float, int)) or not 0 < value < 1:
        raise ValueError(f"{name} must be a number strictly between 0 and 1, as in 0.9; got {value!r}.")
    return float(value)


def check_integer(name: str, value: Any, *, at_least: int) -> None:
    """The value is a whole number that is large enough."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < at_least:
        raise ValueError(f"{name} must be a whole number of at least {at_least}; got {value!r}.")


def check_flag(name: str, value: Any) -> None:
    """The value is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False; got {value!r}.")


def check_pair(name: str, value: Any, meaning: str) -> tuple[float, float]:
    """Two positive numbers."""
    is_pair = isinstance(value, (tuple, list, np.ndarray)) and len(value) == 2
    if not is_pair:
        raise ValueError(f"{name} must be a pair of positive numbers, {meaning}; got {value!r}.")
    for part in value:
        check_number(f"each entry of {name}", part, above=0)
    return float(value[0]), float(value[1])


def check_widths(value: Any, auto: tuple[int, ...]) -> tuple[int, ...]:
    """Hidden units a layer: one or more positive integers, or what "auto" stands for."""
    if isinstance(value, str) and value == "auto":
        return auto
    widths = (value,) if isinstance(value, numbers.Integral) else value
    is_list = isinstance(widths, (tuple, list, np.ndarray)) and len(widths) > 0
    if not is_list or any(
        isinstance(width, bool) or not isinstance(width, numbers.Integral) or width < 1 for width in widths
    ):
        raise ValueError(
            "hidden must be 'auto' or positive integers, one a hidden layer, as in (50,) or (100, 100); "
            f"got {value!r}. Drop empty layers or give them units."
        )
    return tuple(int(width) for width in widths)


def check_scales(name: str, value: Any, num_layers: int) -> float | tuple[float, ...]:
    """One positive number, or one a hidden layer."""
    if isinstance(value, (tuple, list, np.ndarray)):
        if len(value) != num_layers:
            raise ValueError(
                f"{name} must be one number or one for each of the {num_layers} hidden layers; got {len(value)}."
            )
        for part in value:
            check_number(f"each entry of {name}", part, above=0)
        return tuple(float(part) for part in value)
    check_number(name, value, above=0)
    return float(value)


def check_numeric_targets(y: Any) -> None:
    """Targets are numbers, or texts that spell them; refuses others by their row."""
    values = np.asarray(y)
    if values.dtype.kind in "mM":
        raise ValueError("y holds dates or times. Turn them into numbers first, such as days since a start.")
    for row, cell in enumerate(values.ravel() if values.dtype.kind in "OUS" and values.ndim else ()):
        try:
            float(cell)
        except (TypeError, ValueError):
            where = row // (values.size // len(values))
            told = f"y must hold numbers; row {where} is {str(cell)!r}. For classes use HorseshoeClassifier."
            raise ValueError(told) from None


def check_columns(targets: np.ndarray, num_rows: int, num_targets: int) -> np.ndarray:
    """Targets to compare predictions with, (rows, targets); there are as many as predictions."""
    targets = targets[:, None] if targets.ndim == 1 else targets
    if targets.shape != (num_rows, num_targets):
        raise ValueError(
            f"y must have {num_rows} rows and {num_targets} target(s), as X and the fit have; got {targets.shape}."
        )
    return targets


def check_labels(y: Any) -> None:
    """Labels are of one kind, so that they have an order."""
    values = np.asarray(y)
    is_mixed = values.dtype == object and values.ndim > 0
    kinds = sorted({type(label).__name__ for label in values.ravel()}) if is_mixed else []
    if len(kinds) > 1:
        raise ValueError(f"y mixes labels of several kinds ({', '.join(kinds)}). Turn them into one, such as texts.")


def index_of_labels(labels: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The place of each label among those that a fit has seen, which are in order; refuses others by name."""
    index = np.minimum(np.searchsorted(known, labels), len(known) - 1)
    if np.any(is_new := known[index] != labels):
        wrong, names = labels[is_new].tolist()[0], known.tolist()
        shown = f"{names}" if len(names) <= MAX_LABELS else f"{len(names):,} others, such as {names[:MAX_LABELS]}"
        raise ValueError(f"y holds {wrong!r}, a class that the fit has not seen; it knows {shown}.")
    return index.astype(np.float64)


def check_magnitude(name: str, values: np.ndarray, labels: Sequence[str] | None = None) -> None:
    """No column of a table, (rows, columns), holds values whose squares floats cannot hold."""
    for index, column in enumerate(values.T):
        label = repr(str(labels[index])) if labels is not None else index
        sizes = np.abs(column)
        if sizes.max(initial=0.0) > LARGEST:
            where = int(sizes.argmax())
            raise ValueError(
                f"{name} holds {column[where]:g} in row {where}, column {label}: too large to compute with. Mend it, "
                "or give the column in other units."
            )
        if 0 < sizes.max(initial=0.0) < 1 / LARGEST:
            raise ValueError(
                f"{name} holds nothing larger than {sizes.max():g} in column {label}: too small to compute with. Give "
                "it in other units."
            )


def check_weights(weights: np.ndarray) -> None:
    """Weights leave rows to fit to, and can be computed with."""
    if np.count_nonzero(weights) < 2:
        raise ValueError("sample_weight must leave at least two rows with a positive weight.")
    check_total_weight("sample_weight", weights)


def check_total_weight(name: str, weights: np.ndarray) -> None:
    """Weights do not stand for more rows, or a smaller part of one, than a fit can compute with."""
    largest = float(weights.max())
    total = largest * len(weights)  # at most; the sum itself may overflow
    if not FEWEST_ROWS <= total <= MOST_ROWS:
        raise ValueError(
            f"{name} is up to {largest:g}, too {'large' if total > 1 else 'small'} to compute with: a row of "
            "weight two counts as two rows. Divide it by its mean."
        )


def columns_without_digits(values: np.ndarray) -> list[int]:
    """Columns of a table whose spread is so small beside their size that floats have but a few steps for it."""
    if len(values) == 0:
        return []
    low, high = values.min(0), values.max(0)
    steps = (high - low) / np.spacing(np.maximum(np.abs(low), np.abs(high)))
    return np.flatnonzero((steps > ROUNDING_STEPS) & (steps < FEW_STEPS)).tolist()


def far_values(found: np.ndarray) -> list[list[float]]:
    """The smallest and the largest value with their counts, where one is far from all others, as 9999 for missing is.

    Far: ten times the range of the others away from them; for a row of nines, once.
    """
    distinct, counts = np.unique(found, return_counts=True)
    if len(distinct) < MIN_DISTINCT:
        return []
    far = []
    for value, near, end, count in (
        (distinct[0], distinct[1], distinct[-1], counts[0]),
        (distinct[-1], distinct[-2], distinct[0], counts[-1]),
    ):
        is_nines = re.fullmatch(r"-?99+", f"{value:.15g}") is not None
        if abs(value - near) > abs(near - end) * (1 if is_nines else 10):
            far.append([float(value), int(count)])
    return far


def explain_bad_table(error: Exception, table: Any, name: str) -> str:
    """The error's own words, followed by where in the table the trouble is and how to mend it."""
    text = str(error)
    columns = [str(column) for column in getattr(table, "columns", [])]
    try:
        values = np.asarray(table)
    except (TypeError, ValueError):
        return text
    if values.dtype == object or values.dtype.kind in "US":
        for row, column in np.ndindex(values.shape if values.ndim == 2 else (0, 0)):
            try:
                float(values[row, column])
            except (TypeError, ValueError):
                label = repr(columns[column]) if columns else column
                return (
                    f"{text} {name} must hold numbers; row {row}, column {label} is {values[row, column]!r}. "
                    "Encode such columns first, for example with sklearn.preprocessing.OneHotEncoder in a pipeline."
                )
        return text
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        where = np.argwhere(~np.isfinite(values))
        place = f"row {where[0][0]}"
        if values.ndim == 2:
            place += f", column {columns[where[0][1]]!r}" if columns else f", column {where[0][1]}"
        return (
            f"{text}\nFirst at {place} of {name}; {len(where)} such value(s) in all. Drop those rows, or fill them, "
            "for example with sklearn.impute.SimpleImputer in a pipeline."
        )
    return text
