"""What the network's output means: p(y | f) and the variational factor of its own parameters."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.special import digamma, gammaln

from pritchel.numerics import LOG_2PI, as_parameter
from pritchel.shapes import AnyArray, Outputs, Scalar


class GaussianLikelihood(eqx.Module):
    r"""$y \sim N(f, \gamma^{-1})$, $\gamma \sim \mathrm{Gamma}(a_0, b_0)$, $q(\gamma) = \mathrm{Gamma}(a, b)$.

    Whatever the network, the ELBO is largest at $a = a_0 + n/2$, so the shape is set once and only
    $g = E[\gamma] = a/b$ is learned (as its log, the `params` below). Special functions of $a$ are taken on the host.
    """

    prior_shape: Scalar
    prior_rate: Scalar
    shape: Scalar
    log_shape: Scalar
    digamma_shape: Scalar
    kl_constant: Scalar

    @classmethod
    def create(cls, noise_prior: tuple[float, float], num_rows: float) -> "GaussianLikelihood":
        """The likelihood for a table of `num_rows` rows (the sum of the sample weights)."""
        shape_0, rate_0 = noise_prior
        shape = shape_0 + 0.5 * num_rows
        constant = (shape - shape_0) * digamma(shape) - gammaln(shape) + gammaln(shape_0)
        constant -= shape_0 * np.log(rate_0) + shape
        values = (shape_0, rate_0, shape, np.log(shape), digamma(shape), constant)
        return cls(*(np.asarray(float(value)) for value in values))

    def start(self, num_outputs: int) -> Float[AnyArray, " outputs"]:
        """Starting parameters: unit precision on standardized targets."""
        return as_parameter(np.zeros(num_outputs))

    def expected_log_density(
        self,
        params: Float[AnyArray, " outputs"],
        targets: Outputs,
        mean: Outputs,
        var: Outputs,
    ) -> Float[AnyArray, " examples"]:
        r"""$E[\ln N(y \mid f, \gamma^{-1})]$ per example for $f$ with the given mean and variance: exact."""
        expected_log_precision = self.digamma_shape - self.log_shape + params
        expected_sq_error = (targets - mean) ** 2 + var
        return 0.5 * (expected_log_precision - LOG_2PI - jnp.exp(params) * expected_sq_error).sum(-1)

    def kl(self, params: Float[AnyArray, " outputs"]) -> Scalar:
        r"""$KL(\mathrm{Gamma}(a, b) \| \mathrm{Gamma}(a_0, b_0))$ summed over targets, with $b = a/g$."""
        per_output = self.kl_constant + self.prior_shape * (self.log_shape - params) + self.prior_rate * jnp.exp(params)
        return per_output.sum()
