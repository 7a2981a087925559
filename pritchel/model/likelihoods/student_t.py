"""Student-t noise: a few outliers do not bend the fit."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.special import gammaln

from pritchel.model.likelihoods.base import Likelihood, LikelihoodStart, likelihood
from pritchel.model.likelihoods.continuous import StudentComponents
from pritchel.model.likelihoods.gaussian import gamma_precision, gamma_precision_kl
from pritchel.numerics import LOG_2PI, as_parameter
from pritchel.shapes import AnyArray, Outputs, Scalar, Targets


@likelihood("student_t")
class StudentTLikelihood(Likelihood):
    r"""$y \sim t_\nu(f, \gamma^{-1/2})$: Gaussian noise of precision $\gamma\lambda$, where each row has its own
    $\lambda \sim \mathrm{Gamma}(\nu/2, \nu/2)$.

    The rows' $q(\lambda)$ is put at its best, $\mathrm{Gamma}(\frac{\nu+1}2, \frac{\nu + E[\gamma(y-f)^2]}2)$, which
    leaves a bound in closed form; given those, $q(\gamma)$ is a gamma of known shape as for Gaussian noise.
    """

    dof: Scalar
    log_normalizer: Scalar
    prior_shape: Scalar
    prior_rate: Scalar
    shape: Scalar
    log_shape: Scalar
    digamma_shape: Scalar
    kl_constant: Scalar

    @classmethod
    def create(cls, start: LikelihoodStart) -> "StudentTLikelihood":
        """The likelihood for given degrees of freedom."""
        half = 0.5 * start.dof
        normalizer = gammaln(half + 0.5) - gammaln(half) + half * np.log(half)
        return cls(np.asarray(float(start.dof)), np.asarray(float(normalizer)), *gamma_precision(start))

    def start(self, num_targets: int) -> Float[AnyArray, " targets"]:
        """Starting parameters: log precision 0 on standardized targets."""
        return as_parameter(np.zeros(num_targets))

    def expected_log_density(
        self, params: Float[AnyArray, " targets"], targets: Targets, mean: Outputs, var: Outputs
    ) -> Float[AnyArray, " examples"]:
        r"""$\ln\frac{\Gamma(\frac{\nu+1}2)}{\Gamma(\frac\nu2)} + \frac\nu2\ln\frac\nu2 + \frac12(E\ln\gamma - \ln 2\pi)
        - \frac{\nu+1}2\ln\frac{\nu + E[\gamma]E[(y-f)^2]}2$: a bound, tight for a sure f and precision."""
        expected_log_precision = self.digamma_shape - self.log_shape + params
        expected_sq_error = (targets - mean) ** 2 + var
        spread = 0.5 * (self.dof + jnp.exp(params) * expected_sq_error)
        per_target = self.log_normalizer + 0.5 * (expected_log_precision - LOG_2PI)
        return (per_target - 0.5 * (self.dof + 1) * jnp.log(spread)).sum(-1)

    def kl(self, params: Float[AnyArray, " targets"]) -> Scalar:
        """KL of the precisions, as for Gaussian noise."""
        return gamma_precision_kl(self, params)

    def noise_values(self, params):
        """Scale at the mean precision, and the degrees of freedom."""
        return {"scale": np.exp(-0.5 * params), "dof": np.full(len(params), float(self.dof))}

    def prior_noise_values(self, rng, num_draws, num_targets):
        """Scales from the gamma prior of the precision."""
        precision = rng.gamma(float(self.prior_shape), 1 / float(self.prior_rate), (num_draws, 1, num_targets))
        return {"scale": 1 / np.sqrt(precision), "dof": np.full(precision.shape, float(self.dof))}

    def moments(self, outputs, values, ops):
        """The output itself; the Student-t's variance."""
        dof = values["dof"]
        inflation = np.where(dof > 2, dof / np.maximum(dof - 2, 1e-9), np.inf)
        return outputs, 0.0 * outputs + values["scale"] ** 2 * inflation

    def components(self, outputs, values, location, scale):
        """Student-t."""
        return StudentComponents(location + scale * outputs, scale * values["scale"], values["dof"])
