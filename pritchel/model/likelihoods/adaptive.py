"""Noise as the rows ask for it: constant and Gaussian, unless its spread depends on inputs or its tails are heavy.

Of a large table it may also have several humps: it is then a mixture.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from pritchel.data.grid import rounding_variance
from pritchel.lazy import jnp
from pritchel.model.likelihoods.base import Likelihood, LikelihoodStart, likelihood
from pritchel.model.likelihoods.continuous import PrecisionSettings
from pritchel.model.likelihoods.heteroscedastic import HeteroscedasticLikelihood
from pritchel.model.likelihoods.mixture import Mixture, MixtureLikelihood, check_num_humps
from pritchel.numerics import LOG_2PI, as_parameter, log_student_normalizer
from pritchel.shapes import AnyArray, Outputs, Scalar, Targets

HEAVIEST = 0.5  # 1 / degrees of freedom: above two of them there is a variance
TAIL_SCALE = 0.01  # of the half-Cauchy prior of 1 / degrees of freedom: fewer than ten with a probability of 0.05
TAIL_ANGLE = float(np.arctan(HEAVIEST / TAIL_SCALE))  # what is left of a quarter turn
START = 0.05  # twenty degrees of freedom
TINY = 1e-30  # a square has a logarithm
MANY_ROWS = 20_000  # with more of them several humps can be told from one, and cost nothing where there is one


class AdaptiveLikelihood(HeteroscedasticLikelihood):
    r"""$y \sim t_{1/w}(f, e^{s/2}\gamma^{-1/2})$: a spread that may depend on the inputs, tails of unknown weight $w$.

    $w \in (0, \frac12)$, one a target, has a half-Cauchy prior, cut off: it prefers Gaussian noise, $w = 0$, and minds
    heavy tails little where rows ask for them. `params` are $\ln\gamma$ of all targets, then $\mathrm{logit}(2w)$. q
    holds $w$ at a point.
    """

    def start(self, num_targets: int) -> Float[AnyArray, " params"]:
        """Unit precision, and nearly Gaussian tails."""
        tail = np.log(START / (HEAVIEST - START))
        return as_parameter(np.repeat([0.0, tail], num_targets))

    def deviations(self, params, num_rows):
        """That of a precision; tails are known far less well."""
        return np.where(np.arange(params.size) < params.size // 2, super().deviations(params, num_rows), 1.0)

    def expected_log_density(
        self, params: Float[AnyArray, " params"], targets: Targets, mean: Outputs, var: Outputs
    ) -> Float[AnyArray, " examples"]:
        r"""The log density with $E[\gamma e^{-s}(y-f)^2]$ for the square, and $E[\ln\gamma - s]$: a bound by Jensen.

        By the square's logarithm: where the $s$ are not known at all yet, it is too large for a number.
        """
        log_precision, sq_error, log_factor = self._expected_parts(params, targets, mean, var)
        log_square = jnp.log(sq_error + TINY) + log_factor
        return _log_student(params, log_precision, lambda tail: jnp.logaddexp(0.0, jnp.log(tail) + log_square))

    def log_density(self, params, targets, outputs):
        r"""$\ln t_{1/w}(y \mid f, e^{s/2}\gamma^{-1/2})$."""
        log_precision, square = self._square(params, targets, outputs)
        return _log_student(params, log_precision, lambda tail: jnp.log1p(tail * square))

    def kl(self, params: Float[AnyArray, " params"]) -> Scalar:
        """That of the precision, and minus the log density of the tails, a point."""
        num = params.size // 2
        return super().kl(params[:num]) - _log_tail_prior(params[num:])

    def log_prior(self, params: Float[AnyArray, " params"]) -> Scalar:
        """Of the log precision and of the tails' logit."""
        num = params.size // 2
        return super().log_prior(params[:num]) + _log_tail_prior(params[num:])

    def noise_values(self, params):
        """Scale at the mean precision, and degrees of freedom."""
        num = params.shape[-1] // 2
        return {"scale": np.exp(-0.5 * params[..., :num]), "dof": 1 / _tail(params[..., num:])}

    def known_noise_values(self, params):
        """The same: q has no more to say of either."""
        return {name: value[:, None] for name, value in self.noise_values(params).items()}

    def prior_noise_values(self, rng, num_draws, num_targets):
        """Precisions and tails from the prior."""
        precision = rng.gamma(float(self.prior_shape), 1 / float(self.prior_rate), (num_draws, num_targets))
        tail = TAIL_SCALE * np.tan(TAIL_ANGLE * rng.random((num_draws, num_targets)))
        return {"scale": precision[:, None] ** -0.5, "dof": 1 / tail[:, None]}


def _log_student(params: Any, log_precision: Any, log_rise: Callable[[Any], Any]) -> Any:
    """The log density, given the logarithm of one more than the square times the tails' weight, a function of that."""
    tail = _tail(params[params.size // 2 :])
    of_square = 0.5 * (1 + tail) / tail * log_rise(tail)
    return (log_student_normalizer(tail) + 0.5 * (log_precision - LOG_2PI) - of_square).sum(-1)


def _tail(logit: Any) -> Any:
    return HEAVIEST / (1 + logit.__array_namespace__().exp(-logit))


def _log_tail_prior(logit: Any) -> Any:
    of_tail = float(np.log(HEAVIEST / (TAIL_SCALE * TAIL_ANGLE))) - jnp.log1p((_tail(logit) / TAIL_SCALE) ** 2)
    return (of_tail - jnp.logaddexp(0.0, -logit) - jnp.logaddexp(0.0, logit)).sum()


@likelihood("auto")
@dataclasses.dataclass(frozen=True)
class AdaptiveNoise(PrecisionSettings):
    """Noise as the rows ask for it: constant and Gaussian, unless its spread depends on the inputs or tails are heavy.

    Of a table of over 20,000 rows it may have several humps: see `Mixture`, which it then is.

    Parameters
    ----------
    noise_prior : tuple of two floats
        Shape and rate of the gamma prior on the noise precision, targets standardized. Humps have that of `Mixture`.
    num_humps : int
        The most that there can be where there are rows enough; 1: the same noise for all sizes.

    Examples
    --------
    >>> from pritchel import AdaptiveNoise, HorseshoeRegressor
    >>> HorseshoeRegressor(likelihood=AdaptiveNoise(num_humps=1)).likelihood  # likelihood="auto": AdaptiveNoise()
    AdaptiveNoise(num_humps=1)
    """

    kind = AdaptiveLikelihood
    other_kinds = (MixtureLikelihood,)
    num_humps: int = 3

    def check(self) -> None:
        """The prior is one, and there is a hump."""
        super().check()
        check_num_humps(self.num_humps)

    def build(self, start: LikelihoodStart) -> Likelihood:
        """The likelihood for a table."""
        is_mixture = self.num_humps > 1 and start.num_rows > MANY_ROWS
        if start.before is not None:
            is_mixture = isinstance(start.before, MixtureLikelihood)
        if is_mixture:
            return Mixture(num_humps=self.num_humps).build(start)
        return AdaptiveLikelihood(*self.precision_fields(start), rounding=rounding_variance(start.targets))
