"""Expected log densities of the scales, and how the slab shrinks them."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln

from pritchel.lazy import jnp
from pritchel.numerics import gauss_hermite, log_normal_moment, space_of
from pritchel.shapes import AnyArray, Scalar

LOG_2_OVER_PI = float(np.log(2 / np.pi))
_NODES, _NODE_WEIGHTS = gauss_hermite(32)

ScaleTerm = Callable[[AnyArray, AnyArray, AnyArray], AnyArray]


def half_cauchy_auxiliary(
    mean: Float[AnyArray, "*shape"], var: Float[AnyArray, "*shape"], log_prior_scale: Float[AnyArray, "..."]
) -> Float[AnyArray, "*shape"]:
    r"""Lower bound on $E[\ln p(\nu)]$ for $\nu = \ln\tau$, $\tau \sim C^+(0, b)$, $q(\nu) = N(m, s^2)$.

    The paper writes the half-Cauchy with an inverse-gamma auxiliary and alternates gradient and fixed-point
    steps (Algorithm 1, Eq. A.4). With the auxiliary held at its fixed point the two collapse to
    $\ln(2/\pi) - m - \ln b - \ln(e^{-2m + 2s^2} + b^{-2})$, whose gradient is that alternation without lag.
    """
    return LOG_2_OVER_PI - mean - log_prior_scale - jnp.logaddexp(-2 * mean + 2 * var, -2 * log_prior_scale)


def half_cauchy_exact(
    mean: Float[AnyArray, "*shape"], var: Float[AnyArray, "*shape"], log_prior_scale: Float[AnyArray, "..."]
) -> Float[AnyArray, "*shape"]:
    r"""$E[\ln p(\nu)] = \ln(2/\pi) - E[\ln(b e^{-\nu} + e^{\nu} / b)]$ by quadrature: no auxiliary, no gap."""
    offset = jnp.expand_dims(mean - log_prior_scale, -1) + jnp.sqrt(jnp.expand_dims(var, -1)) * jnp.asarray(
        _NODES, mean.dtype
    )
    return LOG_2_OVER_PI - jnp.logaddexp(offset, -offset) @ jnp.asarray(_NODE_WEIGHTS, mean.dtype)


def half_cauchy_log_density(
    value: Float[AnyArray, "*shape"], log_prior_scale: Float[AnyArray, "..."]
) -> Float[AnyArray, "*shape"]:
    r"""$\ln p(\nu) = \ln(2/\pi) - \ln(b e^{-\nu} + e^{\nu} / b)$ for $\nu = \ln\tau$, $\tau \sim C^+(0, b)$.

    Numpy in, numpy out; JAX in, JAX out.
    """
    offset = value - log_prior_scale
    return LOG_2_OVER_PI - space_of(offset).logaddexp(offset, -offset)


HALF_CAUCHY: dict[str, ScaleTerm] = {"auxiliary": half_cauchy_auxiliary, "exact": half_cauchy_exact}


def inverse_gamma_log_density(
    mean: Float[AnyArray, "*shape"],
    var: Float[AnyArray, "*shape"],
    shape: Scalar,
    rate: Scalar,
    log_normalizer: Scalar,
) -> Float[AnyArray, "*shape"]:
    r"""$E[\ln p(\ln c^2)] = c_a \ln c_b - \ln\Gamma(c_a) - c_a m - c_b e^{-m + s^2/2}$ for $q(\ln c^2) = N(m, s^2)$."""
    return log_normalizer - shape * mean - rate * log_normal_moment(mean, var, -1.0)


def inverse_gamma_log_normalizer(shape: float, rate: float) -> float:
    r"""$c_a \ln c_b - \ln\Gamma(c_a)$, taken on the host so that no special function is compiled."""
    return float(shape * np.log(rate) - gammaln(shape))


def log_shrunken_scale(
    log_scale: Float[AnyArray, "*#shape"], log_slab_sq: Float[AnyArray, "*#shape"]
) -> Float[AnyArray, "*#shape"]:
    r"""Log scale of the weights into a unit under the regularized horseshoe.

    $\ln(\tilde\tau_k\upsilon)$ with $\tilde\tau_k^2 = c^2\tau_k^2 / (c^2 + \tau_k^2\upsilon^2)$ -- Eq. 2.
    Small scales pass unchanged; large ones level off at the slab scale $c$. Numpy in, numpy out; JAX in, JAX out.
    """
    excess = 2 * log_scale - log_slab_sq
    return log_scale - 0.5 * excess.__array_namespace__().logaddexp(excess, 0.0)
