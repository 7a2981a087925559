"""What several answers come back in."""

from typing import Any, NamedTuple

import numpy as np

from pritchel.data.dataset import Table


class Uncertainty(NamedTuple):
    """Standard deviations: of a new observation, of its noise, and of what the posterior does not know about f."""

    total: np.ndarray
    aleatoric: np.ndarray
    epistemic: np.ndarray


class Comparison(NamedTuple):
    """Predictions beside known targets: (rows, targets) each."""

    mean: np.ndarray
    sd: np.ndarray
    log_density: np.ndarray
    cdf: np.ndarray  # P(y <= target)
    below: np.ndarray  # P(y < target); the same but for counts
    epistemic: np.ndarray  # the part of `sd` that the posterior does not know of f


class Fresh(NamedTuple):
    """Rows, and a `Posterior` of members that were not fitted to them."""

    posterior: Any
    rows: Table
