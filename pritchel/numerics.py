"""Gaussian, log-normal and low-rank formulas that know nothing of networks."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from pritchel.shapes import AnyArray, Scalar

LOG_2PI = float(np.log(2 * np.pi))


def standard_normal_log_density(expected_sq_sum: Scalar, num_entries: int) -> Scalar:
    """Expected log density, under N(0, 1), of entries whose expected squares sum to `expected_sq_sum`."""
    return -0.5 * (num_entries * LOG_2PI + expected_sq_sum)


def log_normal_moment(
    mean: Float[AnyArray, "*shape"], var: Float[AnyArray, "*shape"], power: float
) -> Float[AnyArray, "*shape"]:
    r"""$E[e^{p z}] = \exp(p m + p^2 s^2 / 2)$ for $z \sim N(m, s^2)$."""
    return jnp.exp(power * mean + 0.5 * power**2 * var)


def rectified_normal_moments(
    mean: Float[AnyArray, "*shape"], var: Float[AnyArray, "*shape"]
) -> tuple[Float[AnyArray, "*shape"], Float[AnyArray, "*shape"]]:
    r"""$E[\mathrm{relu}(b)]$ and $E[\mathrm{relu}(b)^2]$ for $b \sim N(m, s^2)$.

    $m\Phi(m/s) + s\phi(m/s)$ and $(m^2 + s^2)\Phi(m/s) + m s\phi(m/s)$.
    """
    sd = jnp.sqrt(var)
    standard = mean / sd
    cdf = 0.5 * (1 + jax.lax.erf(standard * float(np.sqrt(0.5))))
    scaled_pdf = sd * jnp.exp(-0.5 * (standard**2 + LOG_2PI))
    first = mean * cdf + scaled_pdf
    return first, mean * first + var * cdf


def gauss_hermite(num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights whose weighted sums are expectations under N(0, 1)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(num_nodes)
    return nodes, weights / weights.sum()


def log_det_diag_plus_low_rank(diag: Float[AnyArray, " rows"], factor: Float[AnyArray, "rows rank"]) -> Scalar:
    r"""$\ln|\mathrm{diag}(d) + HH^\top| = \sum_i \ln d_i + \ln|I_r + H^\top \mathrm{diag}(d)^{-1} H|$."""
    inner = jnp.eye(factor.shape[1], dtype=factor.dtype) + (factor.T / diag) @ factor
    if factor.shape[1] == 1:  # the paper's case: no factorization to compile
        return jnp.log(diag).sum() + jnp.log(inner[0, 0])
    return jnp.log(diag).sum() + 2 * jnp.log(jnp.diagonal(jnp.linalg.cholesky(inner))).sum()
