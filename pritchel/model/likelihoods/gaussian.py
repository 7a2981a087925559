"""Gaussian noise of one unknown precision a target."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.special import digamma, gammaln

from pritchel.model.likelihoods.base import Likelihood, LikelihoodStart, likelihood
from pritchel.model.likelihoods.continuous import StudentComponents
from pritchel.numerics import LOG_2PI, as_parameter
from pritchel.shapes import AnyArray, Outputs, Scalar, Targets


@likelihood("gaussian")
class GaussianLikelihood(Likelihood):
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
    def create(cls, start: LikelihoodStart) -> "GaussianLikelihood":
        """The likelihood for a table of `num_rows` rows (the sum of the sample weights)."""
        return cls(*gamma_precision(start))

    def start(self, num_targets: int) -> Float[AnyArray, " targets"]:
        """Starting parameters: unit precision on standardized targets."""
        return as_parameter(np.zeros(num_targets))

    def expected_log_density(
        self, params: Float[AnyArray, " targets"], targets: Targets, mean: Outputs, var: Outputs
    ) -> Float[AnyArray, " examples"]:
        r"""$E[\ln N(y \mid f, \gamma^{-1})]$ per example for $f$ with the given mean and variance: exact."""
        expected_log_precision = self.digamma_shape - self.log_shape + params
        expected_sq_error = (targets - mean) ** 2 + var
        return 0.5 * (expected_log_precision - LOG_2PI - jnp.exp(params) * expected_sq_error).sum(-1)

    def kl(self, params: Float[AnyArray, " targets"]) -> Scalar:
        r"""$KL(\mathrm{Gamma}(a, b) \| \mathrm{Gamma}(a_0, b_0))$ summed over targets, with $b = a/g$."""
        return gamma_precision_kl(self, params)

    def noise_values(self, params):
        """Scale and degrees of freedom: with the precision integrated out, a draw's predictive is a Student-t."""
        return {"scale": np.exp(-0.5 * params), "dof": np.full(len(params), 2 * float(self.shape))}

    def prior_noise_values(self, rng, num_draws, num_targets):
        """Scales from the gamma prior of the precision, known: the noise is then Gaussian."""
        precision = rng.gamma(float(self.prior_shape), 1 / float(self.prior_rate), (num_draws, 1, num_targets))
        return {"scale": 1 / np.sqrt(precision), "dof": np.full(precision.shape, 1e8)}

    def moments(self, outputs, values, ops):
        """The output itself; the Student-t's variance."""
        dof = values["dof"]
        inflation = np.where(dof > 2, dof / np.maximum(dof - 2, 1e-9), np.inf)
        return outputs, 0.0 * outputs + values["scale"] ** 2 * inflation

    def components(self, outputs, values, location, scale):
        """Student-t."""
        return StudentComponents(location + scale * outputs, scale * values["scale"], values["dof"])


def gamma_precision(start: LikelihoodStart) -> list[np.ndarray]:
    """The fixed numbers of a Gamma prior on a precision and of its posterior shape, in the order of the fields."""
    shape_0, rate_0 = start.noise_prior
    shape = shape_0 + 0.5 * start.num_rows
    constant = (shape - shape_0) * digamma(shape) - gammaln(shape) + gammaln(shape_0)
    constant -= shape_0 * np.log(rate_0) + shape
    values = (shape_0, rate_0, shape, np.log(shape), digamma(shape), constant)
    return [np.asarray(float(value)) for value in values]


def gamma_precision_kl(prior, params: Float[AnyArray, " targets"]) -> Scalar:
    """KL of the precisions, from a likelihood that has the fields of `gamma_precision`."""
    per_target = prior.kl_constant + prior.prior_shape * (prior.log_shape - params) + prior.prior_rate * jnp.exp(params)
    return per_target.sum()
