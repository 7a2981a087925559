"""What horseshoe priors share: half-Cauchy scales of units, layers, the output layer and the linear path."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float

from pritchel import checks
from pritchel.lazy import jnp
from pritchel.model.priors.base import Latents, Moments, Prior, PriorSettings, PriorStart, Scales
from pritchel.model.scales import HALF_CAUCHY, half_cauchy_log_density
from pritchel.shapes import AnyArray, Scalar
from pritchel.tree import static

HalfCauchy = Literal["auxiliary", "exact"]


class ShrinkagePrior(Prior):
    r"""$\tau_k \sim C^+(0, b_0)$, $\upsilon_l \sim C^+(0, b_g)$, $\kappa \sim C^+(0, b_\kappa)$; q is over their logs.

    What a subclass adds besides (a slab, say) are latents, for which it has the methods below.
    """

    if TYPE_CHECKING:  # fields of every subclass, among its own
        log_unit_scale_prior: Float[AnyArray, " layers"]
        log_layer_scale_prior: Float[AnyArray, " layers"]
        log_output_scale_prior: Scalar
        log_linear_scale_prior: Scalar
        half_cauchy: HalfCauchy = static()  # how its expectation is taken
        learn_layer_scale: bool = static()

    @property
    def held(self) -> tuple[str, ...]:
        """The layer scales, unless they are learned."""
        return () if self.learn_layer_scale else ("layer",)

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
        layer = np.asarray(self.log_layer_scale_prior)
        shared = Scales(layer, np.zeros(output_scales), np.zeros(output_scales) if linear else None)
        return PriorStart(tuple(-float(value) for value in layer), shared, self.start_latents(hidden))

    def _priors(self) -> Scales:
        return Scales(self.log_layer_scale_prior, self.log_output_scale_prior, self.log_linear_scale_prior)

    def expected_log_density(self, units: Sequence[Moments], scales: Scales, latents: Latents) -> Scalar:
        """Half-Cauchy terms of every scale, and the latents'."""
        term = HALF_CAUCHY[self.half_cauchy]
        total = self.expected_latent_log_density(latents)
        for moments, at in zip(scales, self._priors(), strict=True):
            if moments is not None:
                total += term(moments.mean, moments.var, at).sum()
        for index, unit in enumerate(units):
            per_unit = term(unit.mean, unit.var, self.log_unit_scale_prior[index : index + 1])
            total += per_unit.sum() if unit.counts is None else per_unit @ unit.counts
        return total

    def log_density(self, log_unit_scales: Sequence[AnyArray], scales: Scales, latents: Latents) -> Scalar:
        """Half-Cauchy log densities of every scale, and the latents'."""
        total = self.latent_log_density(latents)
        for value, at in zip(scales, self._priors(), strict=True):
            if value is not None:
                total += half_cauchy_log_density(value, at).sum()
        for index, value in enumerate(log_unit_scales):
            total += half_cauchy_log_density(value, self.log_unit_scale_prior[index : index + 1]).sum()
        return total

    def draw(self, rng, num_draws, hidden, linear, output_scales=()):
        """Unit and layer scales layer by layer, the output's, the latents, the linear path's: priors that share a seed
        share all they have in common, as in the paper's figure of matched functions.
        """

        def log_half_cauchy(log_scale: Any, *shape: int) -> np.ndarray:
            return np.log(float(np.exp(log_scale)) * np.abs(rng.standard_cauchy((num_draws, *shape))))

        units, layers = [], []
        for index, width in enumerate(hidden):
            units.append(log_half_cauchy(self.log_unit_scale_prior[index], 1, width))
            layers.append(log_half_cauchy(self.log_layer_scale_prior[index], 1, 1))
        of_outputs = (1, *(output_scales or (1,)))
        output = log_half_cauchy(self.log_output_scale_prior, *of_outputs)
        latents = self.draw_latents(rng, num_draws, hidden)
        of_linear = log_half_cauchy(self.log_linear_scale_prior, *of_outputs) if linear else None
        return units, Scales(np.stack(layers), output, of_linear), latents


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
