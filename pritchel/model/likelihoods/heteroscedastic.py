"""Gaussian noise whose variance depends on the inputs: the network has a second output for it."""

import dataclasses

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from pritchel.model.likelihoods.base import Likelihood, LikelihoodSettings, LikelihoodStart, likelihood
from pritchel.model.likelihoods.continuous import NormalComponents
from pritchel.numerics import LOG_2PI, log_normal_moment
from pritchel.shapes import AnyArray, Outputs, Targets


class HeteroscedasticLikelihood(Likelihood):
    r"""$y \sim N(f, e^{s})$ with two outputs a target, $f$ first and then the log variances $s$."""

    def num_outputs(self, num_targets: int) -> int:
        """Two a target."""
        return 2 * num_targets

    def expected_log_density(
        self, params: Float[AnyArray, " none"], targets: Targets, mean: Outputs, var: Outputs
    ) -> Float[AnyArray, " examples"]:
        r"""$-\frac12(\ln 2\pi + E[s] + E[(y-f)^2]\,E[e^{-s}])$ for independent $f$ and $s$: exact."""
        num = targets.shape[1]
        expected_sq_error = (targets - mean[:, :num]) ** 2 + var[:, :num]
        precision = log_normal_moment(mean[:, num:], var[:, num:], -1.0)
        return -0.5 * (LOG_2PI + mean[:, num:] + expected_sq_error * precision).sum(-1)

    def moments(self, outputs, values, ops):
        """The first outputs, and the exponentials of the others."""
        num = outputs.shape[-1] // 2
        return outputs[..., :num], ops.exp(outputs[..., num:])

    def components(self, outputs, values, location, scale):
        """Gaussian, each row with its own spread."""
        num = outputs.shape[-1] // 2
        return NormalComponents(location + scale * outputs[..., :num], scale * np.exp(0.5 * outputs[..., num:]))

    def log_density(self, params, targets, outputs):
        r"""$\ln N(y \mid f, e^s)$."""
        num = targets.shape[1]
        mean, log_var = outputs[:, :num], outputs[:, num:]
        return -0.5 * (LOG_2PI + log_var + (targets - mean) ** 2 * jnp.exp(-log_var)).sum(-1)


@likelihood("heteroscedastic")
@dataclasses.dataclass(frozen=True)
class Heteroscedastic(LikelihoodSettings):
    """Gaussian noise whose variance depends on the inputs, as a second output of the network.

    Examples
    --------
    >>> from pritchel import Heteroscedastic, HorseshoeRegressor
    >>> HorseshoeRegressor(likelihood=Heteroscedastic()).likelihood  # or likelihood="heteroscedastic"
    Heteroscedastic()
    """

    kind = HeteroscedasticLikelihood

    def build(self, start: LikelihoodStart) -> HeteroscedasticLikelihood:
        """It has no parameters of its own."""
        return HeteroscedasticLikelihood()
