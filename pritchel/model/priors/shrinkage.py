"""What priors with unit scales share, and what horseshoes do: half-Cauchy scales of units and of layers."""

import dataclasses
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float

from pritchel import checks
from pritchel.lazy import jnp
from pritchel.model.priors.base import Latents, Moments, Prior, PriorSettings, PriorStart, Scales
from pritchel.model.scales import HALF_CAUCHY, half_cauchy_log_density
from pritchel.shapes import AnyArray, OutputScales, Scalar
from pritchel.tree import static

HalfCauchy = Literal["auxiliary", "exact"]


class UnitScalePrior(Prior):
    r"""Log unit scales of whatever density, and $\kappa \sim C^+(0, b_\kappa)$ of output layer and linear path.

    What a subclass adds besides (a slab, say) are latents, for which it has the methods below.
    """

    if TYPE_CHECKING:  # fields of every subclass, among its own
        log_output_scale_prior: OutputScales
        log_linear_scale_prior: OutputScales
        half_cauchy: HalfCauchy = static()  # how its expectation is taken

    @abstractmethod
    def expected_unit_log_density(self, layer: int, moments: Moments) -> Float[AnyArray, " units"]:
        """E of the log density of a hidden layer's log unit scales, one a unit, for Gaussian q."""

    @abstractmethod
    def unit_log_density(self, layer: int, value: Float[AnyArray, "*shape"]) -> Float[AnyArray, "*shape"]:
        """The log density of a hidden layer's log unit scales at given values, one a unit."""

    @abstractmethod
    def draw_log_unit_scales(self, rng: np.random.Generator, layer: int, shape: tuple[int, ...]) -> np.ndarray:
        """Log unit scales of a hidden layer from the prior."""

    def for_outputs(self, factors):
        """Output layer's and linear path's are."""
        if np.all(factors == 1):
            return self
        names, log_factors = ("log_output_scale_prior", "log_linear_scale_prior"), np.log(factors)
        return dataclasses.replace(self, **{name: getattr(self, name) + log_factors for name in names})

    def shared_scale_priors(self) -> Scales:
        """Logs of the half-Cauchy scales of what units share; None: there is no such scale."""
        return Scales(None, self.log_output_scale_prior, self.log_linear_scale_prior)

    def start_latents(self, hidden: tuple[int, ...]) -> Latents:
        """Where q of the latents starts; none unless a prior says otherwise."""
        return {}

    def expected_latent_log_density(self, latents: Latents) -> Scalar:
        """E of the latents' log density for Gaussian q."""
        return jnp.zeros(())

    def latent_log_density(self, latents: Latents) -> Scalar:
        """The latents' log density at given values."""
        return jnp.zeros(())

    def draw_latents(self, rng: np.random.Generator, num_draws: int, hidden: tuple[int, ...]) -> Latents:
        """Latents from the prior, (draws, 1, entries) each."""
        return {}

    def start(self, hidden, linear, output_scales=()):
        """Layer scales start at their prior and unit scales at its inverse, so that their product, all that the data
        ever see, starts at one: a smaller product lets the prior switch every unit off before the data have spoken.
        """
        layer = self.shared_scale_priors().layer
        at_one = np.zeros(len(hidden)) if layer is None else -np.asarray(layer)
        shared = Scales(layer, np.zeros(output_scales), np.zeros(output_scales) if linear else None)
        return PriorStart(tuple(map(float, at_one)), shared, self.start_latents(hidden))

    def expected_log_density(self, units: Sequence[Moments], scales: Scales, latents: Latents) -> Scalar:
        """Terms of every scale, and the latents'."""
        term = HALF_CAUCHY[self.half_cauchy]
        total = self.expected_latent_log_density(latents)
        for moments, at in zip(scales, self.shared_scale_priors(), strict=True):
            if moments is not None:
                total += term(moments.mean, moments.var, at).sum()
        for index, unit in enumerate(units):
            per_unit = self.expected_unit_log_density(index, unit)
            total += per_unit.sum() if unit.counts is None else per_unit @ unit.counts
        return total

    def log_density(self, log_unit_scales: Sequence[AnyArray], scales: Scales, latents: Latents) -> Scalar:
        """Log densities of every scale, and the latents'."""
        total = self.latent_log_density(latents)
        for value, at in zip(scales, self.shared_scale_priors(), strict=True):
            if value is not None:
                total += half_cauchy_log_density(value, at).sum()
        for index, value in enumerate(log_unit_scales):
            total += self.unit_log_density(index, value).sum()
        return total

    def draw(self, rng, num_draws, hidden, linear, output_scales=()):
        """Unit and layer scales layer by layer, the output's, the latents, the linear path's: priors that share a seed
        share all they have in common, as in the paper's figure of matched functions.
        """
        layer, of_output, of_linear = self.shared_scale_priors()
        units, layers = [], []
        for index, width in enumerate(hidden):
            units.append(self.draw_log_unit_scales(rng, index, (num_draws, 1, width)))
            if layer is not None:
                layers.append(draw_log_half_cauchy(rng, layer[index], (num_draws, 1, 1)))
        of_outputs = (num_draws, 1, *(output_scales or (1,)))
        output = draw_log_half_cauchy(rng, of_output, of_outputs)
        latents = self.draw_latents(rng, num_draws, hidden)
        of_path = draw_log_half_cauchy(rng, of_linear, of_outputs) if linear else None
        return units, Scales(np.stack(layers) if layers else None, output, of_path), latents


class ShrinkagePrior(UnitScalePrior):
    r"""$\tau_k \sim C^+(0, b_0)$ and $\upsilon_l \sim C^+(0, b_g)$ besides; q is over their logs."""

    if TYPE_CHECKING:
        log_unit_scale_prior: Float[AnyArray, " layers"]
        log_layer_scale_prior: Float[AnyArray, " layers"]
        learn_layer_scale: bool = static()

    @property
    def held(self) -> tuple[str, ...]:
        """The layer scales, unless they are learned."""
        return () if self.learn_layer_scale else ("layer",)

    def shared_scale_priors(self):
        """Those of the layers, too."""
        return super().shared_scale_priors()._replace(layer=self.log_layer_scale_prior)

    def expected_unit_log_density(self, layer, moments):
        """Half-Cauchy terms."""
        at = self.log_unit_scale_prior[layer : layer + 1]
        return HALF_CAUCHY[self.half_cauchy](moments.mean, moments.var, at)

    def unit_log_density(self, layer, value):
        """Half-Cauchy log densities."""
        return half_cauchy_log_density(value, self.log_unit_scale_prior[layer : layer + 1])

    def draw_log_unit_scales(self, rng, layer, shape):
        """Logs of half-Cauchy draws."""
        return draw_log_half_cauchy(rng, self.log_unit_scale_prior[layer], shape)


def draw_log_half_cauchy(rng: np.random.Generator, log_scale: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Logs of half-Cauchy draws."""
    return np.log(np.exp(np.asarray(log_scale, float)) * np.abs(rng.standard_cauchy(shape)))


@dataclasses.dataclass(frozen=True)
class ShrinkageSettings(PriorSettings):
    """The options that horseshoe priors share."""

    unit_scale: float | tuple[float, ...] = 1.0
    layer_scale: float | tuple[float, ...] = 1e-5
    output_scale: float = 5.0
    linear_scale: float = 1.0
    learn_layer_scale: bool = False
    half_cauchy: HalfCauchy = "auxiliary"

    def scale_fields(self, num_hidden: int) -> dict[str, Any]:
        """The fields of a `ShrinkagePrior` for so many hidden layers, every option checked."""
        checks.check_choice("half_cauchy", self.half_cauchy, HALF_CAUCHY)
        checks.check_flag("learn_layer_scale", self.learn_layer_scale)
        checks.check_number("output_scale", self.output_scale, above=0)
        checks.check_number("linear_scale", self.linear_scale, above=0)
        unit_scale = checks.check_scales("unit_scale", self.unit_scale, num_hidden)
        layer_scale = checks.check_scales("layer_scale", self.layer_scale, num_hidden)
        return {
            "log_unit_scale_prior": np.asarray(np.log(np.broadcast_to(unit_scale, num_hidden))),
            "log_layer_scale_prior": np.asarray(np.log(np.broadcast_to(layer_scale, num_hidden))),
            "log_output_scale_prior": np.asarray(np.log(float(self.output_scale))),
            "log_linear_scale_prior": np.asarray(np.log(float(self.linear_scale))),
            "half_cauchy": self.half_cauchy,
            "learn_layer_scale": bool(self.learn_layer_scale),
        }
