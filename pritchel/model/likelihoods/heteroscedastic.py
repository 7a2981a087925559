"""Gaussian noise whose variance may depend on the inputs: the network has a second output for it."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float

from pritchel.data.grid import rounding_variance
from pritchel.lazy import jax, jnp
from pritchel.model.likelihoods.base import LikelihoodStart, likelihood
from pritchel.model.likelihoods.continuous import (
    NormalComponents,
    PrecisionLikelihood,
    PrecisionSettings,
    StudentComponents,
    student_inflation,
)
from pritchel.numerics import LOG_2PI
from pritchel.shapes import AnyArray, Outputs, Scalar, Targets

UNIT = 0.1  # log variance that an output of one stands for: by default it is nearly constant
NOISE_SCALE = 0.1  # by the function's, of an output that is for the noise: rows must ask for it
LARGEST = 500.0  # log variance that predictions go to: draws of the prior know no limit, numbers do
NOISE_FOLLOWS = 0.0, 0.1  # parts of the training between which the noise comes to follow the mean
MEAN_FOLLOWS = 0.5, 0.6  # and the mean the noise


def share_between(ends: tuple[float, float], progress: Scalar | float) -> Scalar:
    """0 before a stretch of the training, 1 after it, and within as much of it as is over."""
    start, end = ends
    return jnp.clip((progress - start) / (end - start), 0.0, 1.0)


def with_less_noise(outputs: Outputs, var: Outputs, num_targets: int, share: Scalar | float) -> tuple[Outputs, Outputs]:
    """Moments of outputs, all but the function, which comes first, times a share."""
    factor = jnp.where(np.arange(outputs.shape[-1]) < num_targets, 1.0, share).astype(outputs.dtype)
    return factor * outputs, factor**2 * var


def squared_distance(distance: Any, rounding: Any) -> Any:
    """Expected, where targets may be off by what they were rounded to."""
    return distance**2 if rounding is None else distance**2 + rounding.astype(distance.dtype)


class HeteroscedasticLikelihood(PrecisionLikelihood):
    r"""$y \sim N(f, e^{s}/\gamma)$ with two outputs a target, $f$ first and then the $s$ in tenths of a nat.

    $\gamma$ is Gaussian noise's own precision. Every output has a scale of its own under the prior's half-Cauchy, so
    that a noise without a pattern costs nothing: its scale shrinks, $s$ goes to zero, and Gaussian noise is left.

    The mean is found first, since a variance that learns along with it runs away from it: in the first half of the
    training the mean is that of constant noise. The noise is learned meanwhile about the mean as it stands, without a
    say in it: so units that only the noise has a use for stay on.

    On a coarse grid such noise could cling to single values and gain without end: $(y - f)^2$ is then that of a y which
    lies anywhere near its value, its expectation being larger by the variance of that.
    """

    rounding: Float[AnyArray, " targets"] | None  # that variance; None where there is no grid

    @property
    def predictive_dof(self) -> float:
        """Twice the posterior shape."""
        return 2 * float(self.shape)

    @property
    def noise_dof(self) -> float | None:
        """None: it is Gaussian."""
        return None

    def num_outputs(self, num_targets: int) -> int:
        """Two a target."""
        return 2 * num_targets

    def output_scales(self, num_targets: int) -> np.ndarray:
        """Each output has its own; those of the noise shrink sooner."""
        return np.repeat([1.0, NOISE_SCALE], num_targets)

    def training_log_density(self, params, targets, mean, var, progress):
        """At first under constant noise, and by how much more a pattern of it says of the mean as it stands."""
        num, together = targets.shape[-1], share_between(MEAN_FOLLOWS, progress)

        def density(params: Any, mean: Any, var: Any, share: Any) -> Any:
            return self.expected_log_density(params, targets, *with_less_noise(mean, var, num, share))

        is_function = np.arange(mean.shape[-1]) < num
        held = at, held_mean, held_var = jax.lax.stop_gradient((params, mean, var))
        about_mean, about_var = jnp.where(is_function, held_mean, mean), jnp.where(is_function, held_var, var)
        gain = density(at, about_mean, about_var, 1.0) - density(*held, 0.0)
        weight = share_between(NOISE_FOLLOWS, progress) * (1 - together)
        return density(params, mean, var, together) + weight * gain

    def expected_log_density(
        self, params: Float[AnyArray, " params"], targets: Targets, mean: Outputs, var: Outputs
    ) -> Float[AnyArray, " examples"]:
        r"""$\frac12(E\ln\gamma - \ln 2\pi - E[s] - E[\gamma]\,E[(y-f)^2]\,E[e^{-s}])$, outputs independent: exact."""
        log_precision, sq_error, log_factor = self._expected_parts(params, targets, mean, var)
        return 0.5 * (log_precision - LOG_2PI - sq_error * jnp.exp(log_factor)).sum(-1)

    def _expected_parts(self, params: Any, targets: Any, mean: Any, var: Any) -> tuple[Any, Any, Any]:
        r"""$E[\ln(\gamma e^{-s})]$, $E[(y - f)^2]$ and $\ln E[\gamma e^{-s}]$."""
        num = targets.shape[1]
        sq_error = self._sq_error(targets, mean) + jnp.maximum(var[:, :num], 0.0)  # float errors may leave it below
        log_var, log_var_var = UNIT * mean[:, num:], UNIT**2 * var[:, num:]
        log_factor = params[:num] - log_var + 0.5 * log_var_var
        return self.expected_log_precision(params[:num]) - log_var, sq_error, log_factor

    def log_density(self, params, targets, outputs):
        r"""$\ln N(y \mid f, e^s/\gamma)$."""
        log_precision, square = self._square(params, targets, outputs)
        return 0.5 * (log_precision - LOG_2PI - square).sum(-1)

    def _square(self, params: Any, targets: Any, outputs: Any) -> tuple[Any, Any]:
        r"""$\ln(\gamma e^{-s})$, and $\gamma e^{-s}(y - f)^2$."""
        num = targets.shape[1]
        log_precision = params[:num] - UNIT * outputs[:, num:]
        return log_precision, jnp.exp(log_precision) * self._sq_error(targets, outputs)

    def _sq_error(self, targets: Any, outputs: Any) -> Any:
        return squared_distance(targets - outputs[:, : targets.shape[1]], self.rounding)

    def moments(self, outputs, values, ops):
        """The first outputs; the variance that the second ones make of the noise's own."""
        num = outputs.shape[-1] // 2
        inflation = student_inflation(values["dof"]) if "dof" in values else 1.0
        return outputs[..., :num], values["scale"] ** 2 * inflation * ops.exp(UNIT * outputs[..., num:])

    def components(self, outputs, values, location, scale):
        """Each row with its own spread."""
        num = outputs.shape[-1] // 2
        center = location + scale * outputs[..., :num]
        log_var = np.clip(UNIT * outputs[..., num:], -LARGEST, LARGEST)
        spread = scale * values["scale"] * np.exp(0.5 * log_var)
        return StudentComponents(center, spread, values["dof"]) if "dof" in values else NormalComponents(center, spread)


@likelihood("heteroscedastic")
@dataclasses.dataclass(frozen=True)
class Heteroscedastic(PrecisionSettings):
    """Gaussian noise whose variance may depend on the inputs, as a second output of the network.

    Parameters
    ----------
    noise_prior : tuple of two floats
        Shape and rate of the gamma prior on the noise precision where the second output is zero, targets standardized.

    Examples
    --------
    >>> from pritchel import Heteroscedastic, HorseshoeRegressor
    >>> HorseshoeRegressor(likelihood=Heteroscedastic()).likelihood  # or likelihood="heteroscedastic"
    Heteroscedastic()
    """

    kind = HeteroscedasticLikelihood

    def build(self, start: LikelihoodStart) -> HeteroscedasticLikelihood:
        """The likelihood for a table."""
        return HeteroscedasticLikelihood(*self.precision_fields(start), rounding=rounding_variance(start.targets))
