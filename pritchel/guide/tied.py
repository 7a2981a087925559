r"""The tied family: $\prod N(\beta_{ij} \mid \mu_{ij}, 1) \prod N(\nu_k)$; all spread comes from the scales."""

import numpy as np

from pritchel.guide.base import LayerGuide, LayerStart, family
from pritchel.guide.independent import IndependentLayer
from pritchel.guide.normal import carried_var, project_mean
from pritchel.lazy import jnp
from pritchel.numerics import LOG_2PI, as_parameter
from pritchel.shapes import BaseWeights, DrawnWeights, Inputs, Projections, Scalar
from pritchel.tree import Tree


class UnitVarianceNormal(Tree):
    r"""$\prod N(\mu_{ij}, 1)$ over a `rows x units` matrix."""

    mean: BaseWeights

    @property
    def num_shared_noise_rows(self) -> int:
        """None."""
        return 0

    def entropy(self) -> Scalar:
        """A constant."""
        return jnp.asarray(0.5 * self.mean.size * (1 + LOG_2PI))

    def expected_sq_sum(self) -> Scalar:
        """E of the sum of squares."""
        return (self.mean**2).sum() + self.mean.size

    def project_moments(self, inputs: Inputs, input_var: Inputs | None = None) -> tuple[Projections, Projections]:
        """Mean and variance of `[inputs, 1] @ weights`; a fixed input's variance is its squared length."""
        mean = project_mean(self.mean, inputs)
        squares = inputs**2 if input_var is None else inputs**2 + input_var
        length_sq = squares.sum(-1, keepdims=True) + 1 + carried_var(self.mean, input_var)
        return mean, jnp.broadcast_to(length_sq, mean.shape)

    def draw(self, noise: DrawnWeights) -> DrawnWeights:
        """The means plus the noise."""
        return self.mean + noise

    def take(self, rows: np.ndarray, units: np.ndarray) -> "UnitVarianceNormal":
        """The entries of some rows and units."""
        return UnitVarianceNormal(self.mean[np.ix_(rows, units)])


@family("tied")
def start_tied(start: LayerStart) -> LayerGuide:
    """One mean a weight; variances fixed at one."""
    return IndependentLayer.start(UnitVarianceNormal(as_parameter(start.base_mean)), start)
