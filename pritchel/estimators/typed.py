"""Two of scikit-learn's helpers, with signatures that say what they take and give."""

from typing import Any, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_array

Kind = TypeVar("Kind", bound=BaseEstimator)


def unfitted(estimator: Kind) -> Kind:
    """A new estimator with the same arguments."""
    return cast(Kind, clone(estimator))


def float_array(values: Any, *, name: str = "", ensure_2d: bool = True) -> np.ndarray:
    """Finite numbers as an array; what is refused is refused in scikit-learn's words, with the name."""
    dtype: Any = np.float64
    return np.asarray(check_array(values, dtype=dtype, ensure_2d=ensure_2d, input_name=name))
