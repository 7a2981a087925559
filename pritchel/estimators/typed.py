"""Three of scikit-learn's helpers, with signatures that say what they take and give."""

import numbers
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from pritchel import checks

Kind = TypeVar("Kind", bound=BaseEstimator)
Seed = int | np.random.RandomState | None


def unfitted(estimator: Kind) -> Kind:
    """A new estimator with the same arguments."""
    return cast(Kind, clone(estimator))


def seed_of(random_state: Seed) -> int:
    """The seed of a question: a whole number is its own, a generator gives its next, None a new one."""
    if isinstance(random_state, numbers.Integral):
        checks.check_integer("random_state", random_state, at_least=0)
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def float_array(values: Any, *, name: str = "", ensure_2d: bool = True) -> np.ndarray:
    """Finite numbers as an array; what is refused is refused in scikit-learn's words, with the name."""
    dtype: Any = np.float64
    return np.asarray(check_array(values, dtype=dtype, ensure_2d=ensure_2d, input_name=name))
