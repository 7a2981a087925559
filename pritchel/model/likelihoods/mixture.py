"""Noise of several humps: a mixture of Gaussians whose places, spreads and weights may depend on the inputs."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import special

from pritchel import checks
from pritchel.data.grid import rounding_variance
from pritchel.lazy import jax, jnp
from pritchel.model.likelihoods.base import Components, Likelihood, LikelihoodStart, likelihood
from pritchel.model.likelihoods.continuous import PrecisionSettings, log_precision_prior
from pritchel.model.likelihoods.heteroscedastic import UNIT, share_between, squared_distance, with_less_noise
from pritchel.numerics import LOG_2PI, as_parameter, expected_log_softmax
from pritchel.shapes import AnyArray, Outputs, Scalar, Targets

WIDEST = 5.0  # by so much, at most, inputs change a log variance: humps without weight must not run away
PATTERN_COMES = 0.1, 0.2  # parts of the training between which humps come to depend on the inputs
RARE = 0.05  # a hump of less weight than this is not counted


class Humps(NamedTuple):
    """The humps of each row: (..., humps, targets), the first of them at the function itself."""

    place: Any  # from the function
    log_var: Any  # from that of the hump's own precision
    logit: Any  # from the hump's own


class MixtureLikelihood(Likelihood):
    r"""$y \sim \sum_k \pi_k N(f + \delta_k + d_k, e^{s_k}/\gamma_k)$ with $\pi = \mathrm{softmax}(\beta + \eta)$.

    $f$ comes first among the outputs, then $s$ of all K humps, $d$ and $\eta$ of all but the first, whose $\delta$,
    $d$, $\beta$ and $\eta$ are zero; all but $f$ in tenths, each with a scale of its own under the prior's
    half-Cauchy; $|s| \leq 5$. $\gamma$, $\delta$ and $\beta$ are `params`, points to q. $\pi$ at $\eta = 0$ has a
    Dirichlet prior that leaves humps without weight; one hump is heteroscedastic noise. At the beginning of the
    training humps are the same for all rows. A coarse grid is met as by heteroscedastic noise.
    """

    prior_shape: Scalar
    prior_rate: Scalar
    hump_index: Float[AnyArray, " humps"]  # 0, 1, 2, ...: its length is the number of humps
    rounding: Float[AnyArray, " targets"] | None  # variance of what targets on a grid stand for; None: there is no grid

    @property
    def num_humps(self) -> int:
        """K."""
        return self.hump_index.shape[0]

    @property
    def concentration(self) -> np.ndarray:
        """Of the Dirichlet prior: a weight of one for the first hump, and for all others together."""
        return np.array([1.0, *[1 / max(self.num_humps - 1, 1)] * (self.num_humps - 1)])[:, None]

    def num_outputs(self, num_targets: int) -> int:
        """Three a hump and target, less the two of the first hump, and the function."""
        return (3 * self.num_humps - 1) * num_targets

    def output_scales(self, num_targets: int) -> np.ndarray:
        """Each output has its own."""
        return np.ones(self.num_outputs(num_targets))

    def training_log_density(self, params, targets, mean, var, progress):
        """All but the function comes a little late; until then humps are the same for all rows."""
        share = share_between(PATTERN_COMES, progress)
        return self.expected_log_density(params, targets, *with_less_noise(mean, var, targets.shape[-1], share))

    def start(self, num_targets: int) -> Float[AnyArray, " params"]:
        """Unit precision for the first hump; the others narrower, to both sides of it, of less weight."""
        others = np.arange(self.num_humps - 1)
        places = (2.0 * (others % 2) - 1) * (1 + others // 2) / max(self.num_humps // 2, 1)
        ones = np.ones(self.num_humps - 1)
        return as_parameter(np.repeat(np.concatenate([[0.0], ones, places, -ones]), num_targets))

    def _humps(self, outputs: Any, num_targets: int) -> tuple[Any, Humps]:
        """The function, and the humps; numpy in, numpy out; JAX in, JAX out."""
        parts = outputs.reshape(*outputs.shape[:-1], 3 * self.num_humps - 1, num_targets)
        return parts[..., 0, :], self._split(UNIT * parts[..., 1:, :])

    def _own(self, params: Any) -> Humps:
        """What humps are where the outputs are zero, (..., humps, targets); `log_var` is minus the log precision."""
        own = self._split(params.reshape(*params.shape[:-1], 3 * self.num_humps - 2, -1))
        return own._replace(log_var=-own.log_var)

    def _split(self, parts: Any) -> Humps:
        """(..., 3 humps - 2, targets): all humps' spreads, then places and logits of all but the first."""
        num, none = self.num_humps, 0 * parts[..., :1, :]
        places, logits = parts[..., num : 2 * num - 1, :], parts[..., 2 * num - 1 :, :]
        place, logit = (parts.__array_namespace__().concatenate([none, part], -2) for part in (places, logits))
        return Humps(place, parts[..., :num, :], logit)

    def expected_log_density(
        self, params: Float[AnyArray, " params"], targets: Targets, mean: Outputs, var: Outputs
    ) -> Float[AnyArray, " examples"]:
        r"""$\ln\sum_k e^{E\ln\pi_k + E\ln N_k}$: a bound by Jensen, and by Knowles and Minka's on $E\ln\pi_k$."""
        num_targets = targets.shape[-1]
        own, (function, at) = self._own(params), self._humps(mean, num_targets)
        function_var, spread = self._humps(UNIT * var, num_targets)  # variances: tenths of tenths
        square = self._square(targets, function, own, at)
        square = square + function_var[:, None] / UNIT + spread.place
        log_precision = -own.log_var - _limited(at.log_var)
        precision = jnp.exp(-own.log_var - _limited(at.log_var - 0.5 * spread.log_var))
        log_weight = expected_log_softmax(own.logit + at.logit, spread.logit, axis=-2)
        per_hump = log_weight + 0.5 * (log_precision - LOG_2PI - precision * square)
        return jax.nn.logsumexp(per_hump, axis=-2).sum(-1)

    def log_density(self, params, targets, outputs):
        r"""$\ln\sum_k \pi_k N(y \mid f + \delta_k + d_k, e^{s_k}/\gamma_k)$."""
        own, (function, at) = self._own(params), self._humps(outputs, targets.shape[-1])
        square = self._square(targets, function, own, at)
        log_precision = -own.log_var - _limited(at.log_var)
        log_weight = jax.nn.log_softmax(own.logit + at.logit, axis=-2)
        per_hump = log_weight + 0.5 * (log_precision - LOG_2PI - jnp.exp(log_precision) * square)
        return jax.nn.logsumexp(per_hump, axis=-2).sum(-1)

    def _square(self, targets: Any, function: Any, own: Humps, at: Humps) -> Any:
        """From the places of the humps, (rows, humps, targets)."""
        return squared_distance(targets[:, None] - function[:, None] - own.place - at.place, self.rounding)

    def log_prior(self, params: Float[AnyArray, " params"]) -> Scalar:
        """Gammas of the precisions, standard normals of the places about where they start, a Dirichlet of weights."""
        own = self._own(params)
        num_targets = own.place.shape[-1]
        total = log_precision_prior(-own.log_var, self.prior_shape, self.prior_rate)
        away = (own.place - self._own(self.start(num_targets)).place)[1:]
        total -= 0.5 * (away**2 + LOG_2PI).sum()
        concentration = self.concentration
        normalizer = float(special.gammaln(concentration.sum()) - special.gammaln(concentration).sum())
        weighed = as_parameter(concentration) * jax.nn.log_softmax(own.logit, axis=0)
        return total + num_targets * normalizer + weighed.sum()

    def kl(self, params: Float[AnyArray, " params"]) -> Scalar:
        """Minus the log density: they are points."""
        return -self.log_prior(params)

    def noise_values(self, params):
        """Of each hump, target by target within: its scale, and its place and logit, zero for the first."""
        own = self._own(params)
        values = {"scale": np.exp(0.5 * own.log_var), "place": own.place, "logit": own.logit}
        return {name: value.reshape(*value.shape[:-2], -1) for name, value in values.items()}

    def prior_noise_values(self, rng, num_draws, num_targets):
        """Precisions, places and weights from the prior."""
        shape = (num_draws, self.num_humps, num_targets)
        precision = rng.gamma(float(self.prior_shape), 1 / float(self.prior_rate), shape)
        place = self._own(self.start(num_targets)).place + rng.standard_normal(shape)
        gammas = rng.gamma(np.broadcast_to(self.concentration, shape))
        logit = np.log(np.maximum(gammas, np.finfo(float).tiny))
        place[:, 0] = 0.0
        values = {"scale": np.maximum(precision, np.finfo(float).tiny) ** -0.5, "place": place, "logit": logit}
        return {name: value.reshape(num_draws, 1, -1) for name, value in values.items()}

    def parts(self, outputs, values, ops):
        """The humps."""
        num, num_targets = self.num_humps, outputs.shape[-1] // (3 * self.num_humps - 1)

        def own(part, index, target):
            return part[..., index * num_targets + target : index * num_targets + target + 1]

        def of_target(target):
            function = own(outputs, 0, target)
            places, logits, spreads = [function], [0.0 * function + own(values["logit"], 0, target)], []
            for hump in range(1, num):
                away = own(values["place"], hump, target) + UNIT * own(outputs, num + hump, target)
                places.append(function + away)
                logits.append(own(values["logit"], hump, target) + UNIT * own(outputs, 2 * num - 1 + hump, target))
            for hump in range(num):
                log_var = ops.clip(UNIT * own(outputs, 1 + hump, target), -WIDEST, WIDEST)
                spreads.append(own(values["scale"], hump, target) ** 2 * ops.exp(log_var))
            weights = ops.softmax(ops.concatenate(logits))
            return [(places[hump], spreads[hump], weights[..., hump : hump + 1]) for hump in range(num)]

        targets = [of_target(target) for target in range(num_targets)]
        return [
            tuple(map(ops.concatenate, map(list, zip(*humps, strict=True)))) for humps in zip(*targets, strict=True)
        ]

    def moments(self, outputs, values, ops):
        """Those of the humps together."""
        humps = self.parts(outputs, values, ops)
        mean = sum(weight * place for place, _, weight in humps)
        return mean, sum(weight * (var + (place - mean) * (place - mean)) for place, var, weight in humps)

    def student_dof(self, values):
        """Humps are Gaussian."""
        return np.full((1, 1, 1), np.inf)

    def components(self, outputs, values, location, scale):
        """Each row with its own humps."""
        function, at = self._humps(outputs, location.size)
        own = {name: value.reshape(*value.shape[:-1], self.num_humps, -1) for name, value in values.items()}
        place = function[..., None, :] + own["place"] + at.place
        log_weight = special.log_softmax(own["logit"] + at.logit, axis=-2)
        spread = own["scale"] * np.exp(0.5 * _limited(at.log_var))
        return MixtureComponents(location + scale * place, scale * spread, log_weight)


def _limited(log_var: Any) -> Any:
    return log_var.clip(-WIDEST, WIDEST)


def _standing_apart(place: np.ndarray, spread: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """How many humps can be told apart: between neighbours lies more than both their spreads.

    Of two equal Gaussians a density has two maxima just then. Rare humps count for none: they are put on the heaviest.
    """
    heaviest = weight.argmax(-2)[..., None, :]
    place, spread = (np.where(weight < RARE, np.take_along_axis(part, heaviest, -2), part) for part in (place, spread))
    order = place.argsort(-2)
    place, spread = (np.take_along_axis(part, order, -2) for part in (place, spread))
    is_apart = np.diff(place, axis=-2) > spread[..., 1:, :] + spread[..., :-1, :]
    return 1 + is_apart.sum(-2)


class MixtureComponents(Components):
    """Places, spreads and log weights of the humps of each draw, (draws, rows, humps, targets)."""

    def __init__(self, place: np.ndarray, spread: np.ndarray, log_weight: np.ndarray):
        self.place, self.spread, self.log_weight = place, spread, log_weight
        weight = np.exp(log_weight)
        self.mean = (weight * place).sum(-2)
        self.var = (weight * (spread**2 + (place - self.mean[..., None, :]) ** 2)).sum(-2)
        self.num_humps = _standing_apart(place, spread, weight)

    def _standard(self, values: np.ndarray) -> np.ndarray:
        return (values[..., None, :] - self.place) / self.spread

    def log_density(self, values):
        """Of the mixture of the humps."""
        of_hump = -0.5 * (self._standard(values) ** 2 + LOG_2PI) - np.log(self.spread)
        return np.asarray(special.logsumexp(self.log_weight + of_hump, axis=-2))

    def cdf(self, values):
        """Of the mixture of the humps."""
        return (np.exp(self.log_weight) * special.ndtr(self._standard(values))).sum(-2)

    def quantile(self, level):
        """Those of the humps: (draws and humps, rows, targets)."""
        return np.concatenate(np.moveaxis(self.place + self.spread * special.ndtri(level), -2, 0))

    def sample(self, rng):
        """A hump by its weight, and Gaussian noise in it."""
        uniform = rng.random(self.mean.shape)[..., None, :]
        chosen = (uniform > np.exp(self.log_weight).cumsum(-2)[..., :-1, :]).sum(-2, keepdims=True)
        place, spread = (np.take_along_axis(part, chosen, -2)[..., 0, :] for part in (self.place, self.spread))
        return place + spread * rng.standard_normal(place.shape)


@likelihood("mixture")
@dataclasses.dataclass(frozen=True)
class Mixture(PrecisionSettings):
    """Noise of several humps, for y that is often near one value or near another and seldom between.

    Parameters
    ----------
    noise_prior : tuple of two floats
        Shape and rate of the gamma prior on the precision of each hump, targets standardized.
    num_humps : int
        The most that there can be; those that the rows do not ask for are left without weight.

    Examples
    --------
    >>> from pritchel import HorseshoeRegressor, Mixture
    >>> HorseshoeRegressor(likelihood=Mixture(num_humps=5)).likelihood  # or likelihood="mixture"
    Mixture(num_humps=5)
    """

    kind = MixtureLikelihood
    noise_prior: tuple[float, float] = (2.0, 0.001)  # the variance of a hump that no row holds has a mean
    num_humps: int = 3

    def check(self) -> None:
        """The prior is one, and there is a hump."""
        super().check()
        check_num_humps(self.num_humps)

    def build(self, start: LikelihoodStart) -> MixtureLikelihood:
        """The likelihood for a table."""
        shape, rate = (np.asarray(float(value)) for value in self.noise_prior)
        humps = np.arange(float(self.num_humps))
        return MixtureLikelihood(shape, rate, humps, rounding_variance(start.targets))


def check_num_humps(num_humps: Any) -> None:
    """Raise a ValueError unless there can be so many."""
    checks.check_integer("num_humps", num_humps, at_least=1)
    checks.check_number("num_humps", num_humps, at_most=20)
