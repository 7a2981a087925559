"""A layer whose base weights and log unit scales are independent: three of the four families."""

from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from pritchel.guide.base import LayerGuide, LayerStart, Projection
from pritchel.guide.normal import Normal
from pritchel.numerics import Outer
from pritchel.shapes import (
    AnyArray,
    BaseWeights,
    DrawNoiseRows,
    DrawnScales,
    DrawnWeights,
    Inputs,
    Projections,
    PseudoNoise,
    Scalar,
    UnitScales,
)
from pritchel.tree import map_leaves


@runtime_checkable
class WeightGuide(Protocol):
    """A Gaussian over a `rows x units` matrix of base weights."""

    @property
    def mean(self) -> BaseWeights:
        """E of the weights."""
        ...

    @property
    def num_shared_noise_rows(self) -> int:
        """Rows of noise that `draw` needs besides one a row."""
        ...

    def project_moments(
        self, inputs: Inputs, input_var: Inputs | None = None
    ) -> tuple[Projections, Projections | Outer]:
        """Mean and variance of `[inputs, 1] @ weights`."""
        ...

    def expected_sq_sum(self) -> Scalar:
        """E of the sum of squares."""
        ...

    def entropy(self) -> Scalar:
        """Entropy."""
        ...

    def draw(self, noise: DrawNoiseRows) -> DrawnWeights:
        """The matrix, or one a leading entry, that standard normal noise maps to."""
        ...

    def take(self, rows: np.ndarray, units: np.ndarray) -> "WeightGuide":
        """The entries of some rows and units."""
        ...


@runtime_checkable
class OutputGuide(WeightGuide, Protocol):
    """What can stand in the output layer: such a Gaussian that says what pseudo data it has."""

    @property
    def num_pseudo(self) -> int:
        """Pseudo data that are moved by noise at every pass and draw."""
        ...

    def jittered(self, noise: PseudoNoise) -> "OutputGuide":
        """The same with its pseudo data moved by noise."""
        ...


class IndependentLayer(LayerGuide):
    r"""$q(\beta)\,q(\nu)$: any Gaussian over the base weights beside independent log unit scales."""

    base: WeightGuide
    log_unit_scales: Normal | None

    @classmethod
    def start(cls, base: WeightGuide, start: LayerStart) -> "IndependentLayer":
        """The given weights beside fresh log unit scales, if the prior has any."""
        if start.log_unit_scale is None:
            return cls(base, None)
        return cls(base, Normal.start(start.log_unit_scale, start.scale_sd, (start.base_mean.shape[1],)))

    @property
    def base_mean(self) -> BaseWeights:
        """E of the base weights."""
        return self.base.mean

    def log_unit_scale_moments(self) -> tuple[UnitScales, UnitScales] | None:
        """Mean and variance of each unit's log scale."""
        return None if self.log_unit_scales is None else (self.log_unit_scales.mean, self.log_unit_scales.var)

    def scale_slope(self) -> Float[AnyArray, " rows"]:
        """Zero: nothing couples weights to scales here."""
        return np.zeros(self.base.mean.shape[0], self.base.mean.dtype)

    def project(self, inputs: Inputs, input_var: Inputs | None = None) -> Projection:
        """The projection, the same whatever the scales."""
        return Projection(*self.base.project_moments(inputs, input_var), None)

    def expected_weight_sq_sum(self) -> Scalar:
        """E of the sum of squares of the base weights."""
        return self.base.expected_sq_sum()

    def entropy(self) -> Scalar:
        """The two entropies, added."""
        scales = self.log_unit_scales
        return self.base.entropy() if scales is None else self.base.entropy() + scales.entropy()

    @property
    def num_shared_noise_rows(self) -> int:
        """The weights' own, then one for the log unit scales."""
        return self.base.num_shared_noise_rows + (self.log_unit_scales is not None)

    def draw(self, noise: DrawNoiseRows) -> tuple[DrawnWeights, DrawnScales | None]:
        """Weights from all rows of noise but the last, log unit scales from the last."""
        if self.log_unit_scales is None:
            return self.base.draw(noise), None
        return self.base.draw(noise[..., :-1, :]), self.log_unit_scales.draw(noise[..., -1, :])

    def take(self, inputs: np.ndarray, units: np.ndarray) -> "IndependentLayer":
        """The entries of some inputs and units."""
        rows = np.append(inputs, self.base.mean.shape[0] - 1)
        scales = self.log_unit_scales
        return type(self)(self.base.take(rows, units), None if scales is None else scales.take(units))

    def weight_mean_mask(self) -> "IndependentLayer":
        """1 at the means of the base weights, 0 elsewhere."""
        zeros: Any = map_leaves(np.zeros_like, self)
        return replace(zeros, base=replace(zeros.base, mean=np.ones_like(self.base.mean)))
