"""Gaussian, log-normal and low-rank formulas that know nothing of networks."""

import functools
import os
import sys
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from pritchel.lazy import jax, jnp
from pritchel.shapes import AnyArray, Scalar

LOG_2PI = float(np.log(2 * np.pi))
NUM_TILTS = 3  # steps towards the tightest of Knowles and Minka's bounds


def as_parameter(values: np.ndarray) -> np.ndarray:
    """A numpy array of JAX's present float type: starting values made on the host compile nothing."""
    if "jax" in sys.modules:
        return np.asarray(values, jax.dtypes.canonicalize_dtype(np.float64))
    is_double = os.environ.get("JAX_ENABLE_X64", "").lower() in ("1", "true", "yes", "on", "t", "y")  # as it will ask
    return np.asarray(values, np.float64 if is_double else np.float32)


def space_of(values: AnyArray) -> Any:
    """The functions that go with an array: numpy's, or JAX's. By them a formula serves to fit and to predict."""
    return values.__array_namespace__()


def held_fixed(values: AnyArray | None) -> Any:
    """The same values, which no gradient passes through."""
    return values if values is None or isinstance(values, np.ndarray) else jax.lax.stop_gradient(values)


def standard_normal_log_density(expected_sq_sum: Scalar, num_entries: Scalar | int) -> Scalar:
    """Expected log density, under N(0, 1), of entries whose expected squares sum to `expected_sq_sum`."""
    return -0.5 * (num_entries * LOG_2PI + expected_sq_sum)


def log_normal_moment(
    mean: Float[AnyArray, "*shape"], var: Float[AnyArray, "*shape"], power: float
) -> Float[AnyArray, "*shape"]:
    r"""$E[e^{p z}] = \exp(p m + p^2 s^2 / 2)$ for $z \sim N(m, s^2)$."""
    return jnp.exp(power * mean + 0.5 * power**2 * var)


class Outer(NamedTuple):
    """A matrix that is an outer product, kept as its two factors."""

    rows: Float[AnyArray, " rows"]
    cols: Float[AnyArray, " cols"]

    def full(self) -> Float[AnyArray, "rows cols"]:
        """The matrix."""
        return jnp.tensordot(self.rows, self.cols, 0)


def rectified_normal(
    standard: Float[AnyArray, "*shape"],
) -> tuple[Float[AnyArray, "*shape"], Float[AnyArray, "*shape"], Float[AnyArray, "*shape"]]:
    r"""$E[\mathrm{relu}(b)]$, $\mathrm{Var}[\mathrm{relu}(b)]$ and $P(b > 0)$ for $b \sim N(z, 1)$.

    The mean is $z\Phi(z) + \phi(z)$; the variance is written so that nothing large cancels at either end.
    """
    return _rectified_normal()(standard)


@functools.cache
def _rectified_normal() -> Any:
    """The same with its derivatives, as JAX takes them."""
    moments = jax.custom_jvp(lambda standard: _rectified_normal_terms(standard)[:3])
    moments.defjvp(_rectified_normal_jvp)
    return moments


def _rectified_normal_terms(standard):
    cdf = 0.5 + 0.5 * jax.lax.erf(standard * float(np.sqrt(0.5)))
    density = jnp.exp(-0.5 * (standard**2 + LOG_2PI))
    var = cdf + standard**2 * cdf * (1 - cdf) + standard * density * (1 - 2 * cdf) - density**2
    return standard * cdf + density, var, cdf, density


def _rectified_normal_jvp(primals, tangents):
    r"""$\Phi$, $2\mu(1 - \Phi)$ and $\phi$: the one erf and the one exp serve the gradient too."""
    mean, var, cdf, density = _rectified_normal_terms(*primals)
    (standard_dot,) = tangents
    return (mean, var, cdf), (cdf * standard_dot, 2 * mean * (1 - cdf) * standard_dot, density * standard_dot)


def log_student_normalizer(inverse_dof: Float[AnyArray, "*shape"]) -> Float[AnyArray, "*shape"]:
    r"""$\ln\Gamma(\frac{\nu+1}2) - \ln\Gamma(\frac\nu2) - \frac12\ln\frac\nu2$ for $1/\nu \in [0, \frac12]$, 0 at 0.

    By the recurrence of the gamma function to $\nu + 4$ and Stirling's series there, so that nothing cancels however
    near the noise is to Gaussian. Numpy in, numpy out; JAX in, JAX out.
    """
    log1p, moved, total = space_of(inverse_dof).log1p, inverse_dof, 0 * inverse_dof
    for _ in range(2):
        total = total + 0.5 * log1p(2 * moved) - log1p(moved)
        moved = moved / (1 + 2 * moved)
    square = moved**2
    return total - moved * (1 / 4 - square * (1 / 24 - square * (1 / 20 - square * (17 / 112))))


def expected_log_softmax(
    mean: Float[AnyArray, "*shape"], var: Float[AnyArray, "*shape"], axis: int
) -> Float[AnyArray, "*shape"]:
    r"""$E[z_k] - E[\ln\sum_j e^{z_j}]$ for independent $z_j \sim N(m_j, v_j)$, bounded from below.

    The bound is Knowles and Minka's, $\frac12\sum a_j^2 v_j + \ln\sum e^{m_j + (1 - 2a_j)v_j/2}$ for the normalizer,
    valid for any $a$; a few steps of $a \leftarrow \mathrm{softmax}(m + (1 - 2a)v/2)$ make it tight.
    """
    tilt = jax.nn.softmax(mean, axis=axis)
    for _ in range(NUM_TILTS):
        tilt = jax.nn.softmax(mean + 0.5 * (1 - 2 * tilt) * var, axis=axis)
    tilt = jax.lax.stop_gradient(tilt)
    tilted = jax.nn.logsumexp(mean + 0.5 * (1 - 2 * tilt) * var, axis=axis, keepdims=True)
    return mean - 0.5 * (tilt**2 * var).sum(axis, keepdims=True) - tilted


def gauss_hermite(num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights whose weighted sums are expectations under N(0, 1)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(num_nodes)
    return nodes, weights / weights.sum()


def log_det_diag_plus_low_rank(
    log_diag: Float[AnyArray, " rows"],
    factor: Float[AnyArray, "rows rank"],
    counts: Float[AnyArray, " rows"] | None = None,
) -> Scalar:
    r"""$\ln|\mathrm{diag}(d) + HH^\top| = \sum_i \ln d_i + \ln|I_r + H^\top \mathrm{diag}(d)^{-1} H|$, from $\ln d$.

    With `counts`, of the matrix in which row i occurs so many times over.
    """
    precision = jnp.exp(-log_diag)
    if counts is not None:
        log_diag, precision = counts * log_diag, counts * precision
    inner = jnp.eye(factor.shape[1], dtype=factor.dtype) + (factor.T * precision) @ factor
    if factor.shape[1] == 1:  # the paper's case: no factorization to compile
        return log_diag.sum() + jnp.log(inner[0, 0])
    return log_diag.sum() + 2 * jnp.log(jnp.diagonal(jnp.linalg.cholesky(inner))).sum()


def whiten(
    matrix: Float[AnyArray, "size size"], values: Float[AnyArray, "size columns"]
) -> Float[AnyArray, "size columns"]:
    r"""$L^{-1} B$ with $LL^\top$ the given positive definite matrix, by elimination: for matrices of a few rows.

    Plain arithmetic on purpose. LAPACK's calls, batched by `vmap`, can wait for ever for a thread on a machine of two
    cores; these few steps cannot. Numpy in, numpy out; JAX in, JAX out.
    """
    size, space = matrix.shape[0], space_of(matrix)
    left, index, rows = space.concatenate([matrix, values], axis=1), np.arange(size), []
    for step in range(size):
        scale = 1 / space.sqrt(left[step, step])
        rows.append(left[step] * scale)
        below = space.where(index > step, left[:, step] * scale, 0.0)
        left = left - space.tensordot(below, rows[-1], 0)
    return space.stack(rows)[:, size:]
