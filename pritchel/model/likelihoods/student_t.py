"""Student-t noise: a few outliers do not bend the fit."""

import dataclasses

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln

from pritchel import checks
from pritchel.lazy import jnp
from pritchel.model.likelihoods.base import LikelihoodStart, likelihood
from pritchel.model.likelihoods.continuous import PrecisionLikelihood, PrecisionSettings
from pritchel.numerics import LOG_2PI
from pritchel.shapes import AnyArray, Outputs, Scalar, Targets


class StudentTLikelihood(PrecisionLikelihood):
    r"""$y \sim t_\nu(f, \gamma^{-1/2})$: Gaussian noise of precision $\gamma\lambda$, where each row has its own
    $\lambda \sim \mathrm{Gamma}(\nu/2, \nu/2)$.

    The rows' $q(\lambda)$ is put at its best, $\mathrm{Gamma}(\frac{\nu+1}2, \frac{\nu + E[\gamma(y-f)^2]}2)$, which
    leaves a bound in closed form; given those, $q(\gamma)$ is a gamma of known shape as for Gaussian noise.
    """

    dof: Scalar
    log_normalizer: Scalar

    @property
    def predictive_dof(self) -> float:
        """The noise's own."""
        return float(self.dof)

    @property
    def noise_dof(self) -> float:
        """The given ones."""
        return float(self.dof)

    def expected_log_density(
        self, params: Float[AnyArray, " targets"], targets: Targets, mean: Outputs, var: Outputs
    ) -> Float[AnyArray, " examples"]:
        r"""$\ln\frac{\Gamma(\frac{\nu+1}2)}{\Gamma(\frac\nu2)} + \frac\nu2\ln\frac\nu2 + \frac12(E\ln\gamma - \ln 2\pi)
        - \frac{\nu+1}2\ln\frac{\nu + E[\gamma]E[(y-f)^2]}2$: a bound, tight for a sure f and precision."""
        expected_sq_error = (targets - mean) ** 2 + var
        spread = 0.5 * (self.dof + jnp.exp(params) * expected_sq_error)
        per_target = self.log_normalizer + 0.5 * (self.expected_log_precision(params) - LOG_2PI)
        return (per_target - 0.5 * (self.dof + 1) * jnp.log(spread)).sum(-1)

    def log_density(self, params, targets, outputs):
        r"""$\ln t_\nu(y \mid f, \gamma^{-1/2})$."""
        spread = 0.5 * (self.dof + jnp.exp(params) * (targets - outputs) ** 2)
        per_target = self.log_normalizer + 0.5 * (params - LOG_2PI)
        return (per_target - 0.5 * (self.dof + 1) * jnp.log(spread)).sum(-1)


@likelihood("student_t")
@dataclasses.dataclass(frozen=True)
class StudentT(PrecisionSettings):
    """Student-t noise: a few outliers do not bend the fit.

    Parameters
    ----------
    noise_prior : tuple of two floats
        Shape and rate of the gamma prior on the precision, targets standardized.
    dof : float
        Degrees of freedom, above 1; fewer means heavier tails.

    Examples
    --------
    >>> from pritchel import HorseshoeRegressor, StudentT
    >>> HorseshoeRegressor(likelihood=StudentT(dof=3)).get_params()["likelihood__dof"]
    3
    """

    kind = StudentTLikelihood
    dof: float = 4.0

    def check(self) -> None:
        """The degrees of freedom leave a mean."""
        super().check()
        checks.check_number("dof", self.dof, above=1)

    def build(self, start: LikelihoodStart) -> StudentTLikelihood:
        """The likelihood for given degrees of freedom."""
        half = 0.5 * self.dof
        normalizer = gammaln(half + 0.5) - gammaln(half) + half * np.log(half)
        dof, log_normalizer = np.asarray(float(self.dof)), np.asarray(float(normalizer))
        return StudentTLikelihood(*self.precision_fields(start), dof=dof, log_normalizer=log_normalizer)
