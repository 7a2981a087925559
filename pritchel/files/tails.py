r"""Student-t distribution functions by arithmetic, logarithm and root alone, for places that have no others.

A Student-t value t has the normal score $g(t) = \mathrm{sign}(t)\sqrt{\nu s}\,P(s)$, $s = \ln(1 + t^2/\nu)$, where P
is nearly one and smooth (Wallace 1959): here a polynomial, fitted for each draw's degrees of freedom.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from pritchel.model.likelihoods.continuous import student_inflation

DEGREE = 5  # quantiles are then off by less than a thousandth of a standard deviation
FARTHEST = 1e-7  # tail probability that the polynomial is fitted up to; beyond, scores stay
MOST_DOF = 1e6  # more are Gaussian
FEWEST_DOF = 2.0  # have no standard deviation
NUM_NODES = 200


class Tails(NamedTuple):
    """Of each draw and target, (draws, 1, targets): what its distribution function needs besides mean and sd."""

    dof: np.ndarray
    limit: np.ndarray  # of s, where the polynomial ends
    scale: np.ndarray  # in standard deviations
    reach: np.ndarray  # of its farthest value, in scales
    powers: np.ndarray  # coefficients of P in s / limit: (powers, draws, 1, targets)


def student_tails(dof: np.ndarray | None) -> Tails | None:
    """For degrees of freedom (draws, 1, targets); None where there are none, or where they leave no deviation."""
    if dof is None or not np.all(dof > FEWEST_DOF):
        return None
    dof = np.minimum(dof, MOST_DOF)
    distinct, place = np.unique(dof, return_inverse=True)
    fitted = [_fitted(own) for own in distinct]
    reach, limit, powers = (np.asarray(part)[place.reshape(dof.shape)] for part in zip(*fitted, strict=True))
    return Tails(dof, limit, 1 / np.sqrt(student_inflation(dof)), reach, np.moveaxis(powers, -1, 0))


def _fitted(dof: float) -> tuple[float, float, np.ndarray]:
    """The farthest value, its s, and the coefficients of P up to there."""
    farthest = -special.stdtrit(dof, FARTHEST)
    limit = np.log1p(farthest**2 / dof)
    part = 0.5 - 0.5 * np.cos(np.pi * (np.arange(NUM_NODES) + 0.5) / NUM_NODES)
    values = np.sqrt(dof * np.expm1(limit * part))
    scores = -special.ndtri(special.stdtr(dof, -values))
    powers = part[:, None] ** np.arange(DEGREE + 1)
    return farthest, limit, np.linalg.lstsq(powers, scores / np.sqrt(dof * limit * part), rcond=None)[0]
