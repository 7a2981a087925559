r"""The semi-structured family: $\mathcal{MN}(\beta \mid M, \Psi + HH^\top, V) \prod N(\nu_k)$; scales stand alone."""

import numpy as np

from pritchel.guide.base import LayerGuide, LayerStart, family
from pritchel.guide.independent import IndependentLayer
from pritchel.guide.lowrank_normal import LowRankNormal
from pritchel.shapes import Scalar


class SemiStructuredLayer(IndependentLayer):
    """A matrix normal over the base weights beside independent log unit scales."""

    base: LowRankNormal  # pyright: ignore[reportIncompatibleVariableOverride] - never assigned again

    def count(self, inputs: np.ndarray, units: np.ndarray, own: float = 1.0) -> "SemiStructuredLayer":
        """Let each input and unit count so many times among the weights; scales are independent, and need not."""
        return SemiStructuredLayer(self.base.count(np.append(inputs, own), units), self.log_unit_scales)

    def written_out(self) -> "SemiStructuredLayer":
        """The same distribution with nothing that ties its weights together."""
        return SemiStructuredLayer(self.base.written_out(), self.log_unit_scales)

    @property
    def num_weights(self) -> Scalar | int:
        """Base weights, each as often as it counts."""
        return self.base.num_rows * self.base.num_units


@family("semi_structured")
def start_semi_structured(start: LayerStart) -> LayerGuide:
    """A matrix normal over the base weights."""
    base = LowRankNormal.start(start.base_mean, sd=start.sd, rank=start.rank, unit_norm=start.unit_norm, rng=start.rng)
    return SemiStructuredLayer.start(base, start)
