"""Slow and obvious versions: full covariance matrices, explicit auxiliary variables."""

import numpy as np
from scipy import special


def dense_covariance(normal) -> np.ndarray:
    """Covariance of the row-major flattening of a LowRankNormal: kron(U, V)."""
    row_cov = np.diag(np.asarray(normal.row_diag)) + np.asarray(normal.row_factor) @ np.asarray(normal.row_factor).T
    return np.kron(row_cov, np.diag(np.asarray(normal.col_diag)))


def condition(mean: np.ndarray, cov: np.ndarray, known: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the unknown entries of a Gaussian given the known ones."""
    unknown = np.setdiff1d(np.arange(len(mean)), known)
    gain = cov[np.ix_(unknown, known)] @ np.linalg.inv(cov[np.ix_(known, known)])
    conditional_mean = mean[unknown] + gain @ (value - mean[known])
    return conditional_mean, cov[np.ix_(unknown, unknown)] - gain @ cov[np.ix_(known, unknown)]


def fixed_point_rate(mean: float, var: float, prior_scale: float) -> float:
    """Algorithm 1: the rate of q(lambda) = InvGamma(1, d), with E[1/tau^2] for Gaussian ln tau."""
    return np.exp(-2 * mean + 2 * var) + 1 / prior_scale**2


def auxiliary_bound(mean: float, var: float, prior_scale: float, rate: float) -> float:
    """All terms of the bound that hold tau and lambda, for q(ln tau) = N(mean, var), q(lambda) = InvGamma(1, rate).

    E ln p(ln tau | lambda) + E ln p(lambda) + H[q(lambda)], with tau^2 ~ InvGamma(1/2, 1/lambda) and
    lambda ~ InvGamma(1/2, 1/b^2); the entropy of q(ln tau) is left out.
    """
    expected_log = np.log(rate) - special.digamma(1.0)  # E ln lambda
    expected_inverse = 1 / rate  # E 1/lambda
    log_tau_term = (
        np.log(2.0)  # ln tau instead of tau^2: |d tau^2 / d ln tau| = 2 tau^2
        - special.gammaln(0.5)
        - 0.5 * expected_log
        - mean
        - expected_inverse * np.exp(-2 * mean + 2 * var)
    )
    prior_term = (
        0.5 * np.log(1 / prior_scale**2) - special.gammaln(0.5) - 1.5 * expected_log - expected_inverse / prior_scale**2
    )
    entropy = 1.0 + np.log(rate) + special.gammaln(1.0) - 2.0 * special.digamma(1.0)
    return log_tau_term + prior_term + entropy


def inclusion_bound(
    mean: float, var: float, inclusion: float, slab_scale: float, spike_scale: float, share: float
) -> float:
    """All terms that hold tau, lambda and z, for q(z = 1) = share beside the factors of `auxiliary_bound`.

    share (ln pi + slab) + (1 - share) (ln(1 - pi) + spike) + H[q(z)].
    """
    slab, spike = (
        auxiliary_bound(mean, var, scale, fixed_point_rate(mean, var, scale)) for scale in (slab_scale, spike_scale)
    )
    entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    return share * (np.log(inclusion) + slab) + (1 - share) * (np.log(1 - inclusion) + spike) + entropy
