"""Gaussian noise of one unknown precision a target."""

import dataclasses

from jaxtyping import Float

from pritchel.lazy import jnp
from pritchel.model.likelihoods.base import LikelihoodStart, likelihood
from pritchel.model.likelihoods.continuous import PrecisionLikelihood, PrecisionSettings
from pritchel.numerics import LOG_2PI
from pritchel.shapes import AnyArray, Outputs, Targets


class GaussianLikelihood(PrecisionLikelihood):
    r"""$y \sim N(f, \gamma^{-1})$; with $\gamma$ integrated out, a draw's predictive is a Student-t."""

    @property
    def predictive_dof(self) -> float:
        """Twice the posterior shape."""
        return 2 * float(self.shape)

    @property
    def noise_dof(self) -> None:
        """None: it is Gaussian."""
        return None

    def expected_log_density(
        self, params: Float[AnyArray, " targets"], targets: Targets, mean: Outputs, var: Outputs
    ) -> Float[AnyArray, " examples"]:
        r"""$E[\ln N(y \mid f, \gamma^{-1})]$ per example for $f$ with the given mean and variance: exact."""
        expected_sq_error = (targets - mean) ** 2 + var
        expected_log_precision = self.expected_log_precision(params)
        return 0.5 * (expected_log_precision - LOG_2PI - jnp.exp(params) * expected_sq_error).sum(-1)

    def log_density(self, params, targets, outputs):
        r"""$\ln N(y \mid f, \gamma^{-1})$."""
        return 0.5 * (params - LOG_2PI - jnp.exp(params) * (targets - outputs) ** 2).sum(-1)


@likelihood("gaussian")
@dataclasses.dataclass(frozen=True)
class Gaussian(PrecisionSettings):
    """Gaussian noise of one unknown precision a target: the default of regression.

    Parameters
    ----------
    noise_prior : tuple of two floats
        Shape and rate of the gamma prior on the noise precision, targets standardized.

    Examples
    --------
    >>> from pritchel import Gaussian, HorseshoeRegressor
    >>> HorseshoeRegressor(likelihood=Gaussian(noise_prior=(6.0, 6.0))).get_params()["likelihood__noise_prior"]
    (6.0, 6.0)
    """

    kind = GaussianLikelihood

    def build(self, start: LikelihoodStart) -> GaussianLikelihood:
        """The likelihood for a table."""
        return GaussianLikelihood(*self.precision_fields(start))
