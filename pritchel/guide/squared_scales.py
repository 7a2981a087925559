r"""Any layer with its log-normals over squares of the unit scales, as the paper writes its factorized family."""

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from pritchel.guide.base import LayerGuide, LayerStart, Projection, StartLayer
from pritchel.shapes import (
    AnyArray,
    BaseWeights,
    DrawNoiseRows,
    DrawnScales,
    DrawnWeights,
    Inputs,
    PseudoNoise,
    Scalar,
    UnitScales,
)

LOG_2 = float(np.log(2))


class SquaredScales(LayerGuide):
    r"""A layer whose own $\nu_k$ is $\ln\tau_k^2$: to others it answers for $\ln\tau_k$, half of that.

    The distributions are those of the layer itself, so only the way there differs: Adam moves $\ln\tau_k$ half as far
    a step, and where norms tie variances together a scale's share of them is a quarter.
    """

    inner: LayerGuide

    @property
    def base_mean(self) -> BaseWeights:
        """E of the base weights."""
        return self.inner.base_mean

    def log_unit_scale_moments(self) -> tuple[UnitScales, UnitScales] | None:
        """Half the mean and a quarter of the variance of the log of the square."""
        moments = self.inner.log_unit_scale_moments()
        return None if moments is None else (moments[0] / 2, moments[1] / 4)

    def scale_slope(self) -> Float[AnyArray, " rows"]:
        """Twice the slope against the log of the square."""
        return 2 * self.inner.scale_slope()

    def project(self, inputs: Inputs, input_var: Inputs | None = None) -> Projection:
        """The same moments, with twice the slope."""
        found = self.inner.project(inputs, input_var)
        return found if found.slope is None else found._replace(slope=2 * found.slope)

    def expected_weight_sq_sum(self) -> Scalar:
        """E of the sum of squares of the base weights."""
        return self.inner.expected_weight_sq_sum()

    def entropy(self) -> Scalar:
        """The layer's entropy, less the log of two for each log that is halved."""
        counts = self.unit_counts
        return self.inner.entropy() - LOG_2 * (self.base_mean.shape[1] if counts is None else counts.sum())

    @property
    def num_shared_noise_rows(self) -> int:
        """The layer's own."""
        return self.inner.num_shared_noise_rows

    def draw(self, noise: DrawNoiseRows) -> tuple[DrawnWeights, DrawnScales | None]:
        """The layer's draw, with its logs halved."""
        weights, scales = self.inner.draw(noise)
        return weights, None if scales is None else scales / 2

    def take(self, inputs: np.ndarray, units: np.ndarray) -> "SquaredScales":
        """The entries of some inputs and units."""
        return SquaredScales(self.inner.take(inputs, units))

    def count(self, inputs: np.ndarray, units: np.ndarray, own: float = 1.0) -> "SquaredScales":
        """Let each input and unit count so many times."""
        return SquaredScales(self.inner.count(inputs, units, own))

    def written_out(self) -> "SquaredScales":
        """The same distribution with nothing that ties its entries together."""
        return SquaredScales(self.inner.written_out())

    @property
    def num_pseudo(self) -> int:
        """The layer's own."""
        return self.inner.num_pseudo

    def jittered(self, noise: PseudoNoise) -> "SquaredScales":
        """The layer with its pseudo data moved by noise."""
        return SquaredScales(self.inner.jittered(noise))

    @property
    def num_weights(self) -> Scalar | int:
        """Base weights, each as often as it counts."""
        return self.inner.num_weights

    @property
    def unit_counts(self) -> UnitScales | None:
        """How many units each stands for."""
        return self.inner.unit_counts

    def weight_mean_mask(self) -> "SquaredScales":
        """1 at the means of the base weights, 0 elsewhere."""
        masked: Any = self.inner.weight_mean_mask()
        return replace(self, inner=masked)


def start_squared(start_layer: StartLayer, start: LayerStart) -> LayerGuide:
    """A layer of a family over squares of the unit scales; the family's own where units have none."""
    if start.log_unit_scale is None:
        return start_layer(start)
    return SquaredScales(start_layer(start._replace(log_unit_scale=2 * start.log_unit_scale)))
