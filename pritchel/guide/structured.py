r"""The structured family: one matrix normal over $B = [\beta; \nu^\top]$, coupling weights and scales."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from pritchel.guide.base import LayerGuide, LayerStart, Projection, family
from pritchel.guide.lowrank_normal import LowRankNormal
from pritchel.guide.normal import project_mean
from pritchel.guide.semi_structured import start_semi_structured
from pritchel.shapes import AnyArray, BaseWeights, DrawNoiseRows, DrawnScales, DrawnWeights, Inputs, Scalar, UnitScales
from pritchel.tree import map_leaves


class StructuredLayer(LayerGuide):
    r"""$q(B) = \mathcal{MN}(B \mid M, \Psi + HH^\top, \mathrm{diag}\,v)$; the last row holds the log unit scales."""

    joint: LowRankNormal

    @property
    def base_mean(self) -> BaseWeights:
        """E of the base weights."""
        return self.joint.mean[:-1]

    def log_unit_scale_moments(self) -> tuple[UnitScales, UnitScales]:
        r"""$m_{\nu_k}$ and $v_k (\Psi_\nu + |h_\nu|^2)$."""
        return self.joint.mean[-1], self.joint.col_diag * self.joint.row_var[-1]

    def scale_slope(self) -> Float[AnyArray, " rows"]:
        r"""$H_\beta h_\nu / (\Psi_\nu + |h_\nu|^2)$: the regression of the base weights on their unit's log scale."""
        factor = self.joint.row_factor
        return factor[:-1] @ factor[-1] / self.joint.row_var[-1]

    def project(self, inputs: Inputs, input_var: Inputs | None = None) -> Projection:
        """The projection: all rows of the joint but the last."""
        mean, var = self.joint.but_last_row().project_moments(inputs, input_var)
        return Projection(mean, var, project_mean(self.scale_slope()[:, None], inputs)[:, 0])

    def expected_weight_sq_sum(self) -> Scalar:
        """E of the sum of squares of the base weights: all rows but the last."""
        return self.joint.but_last_row().expected_sq_sum()

    def entropy(self) -> Scalar:
        """Entropy of the joint factor."""
        return self.joint.entropy()

    @property
    def num_shared_noise_rows(self) -> int:
        """One for the log unit scales, then the low-rank ones."""
        return 1 + self.joint.num_shared_noise_rows

    def draw(self, noise: DrawNoiseRows) -> tuple[DrawnWeights, DrawnScales]:
        """A draw of B, split."""
        joint = self.joint.draw(noise)
        return joint[..., :-1, :], joint[..., -1, :]

    def take(self, inputs: np.ndarray, units: np.ndarray) -> "StructuredLayer":
        """The entries of some inputs and units."""
        num_rows = self.joint.mean.shape[0]
        return StructuredLayer(self.joint.take(np.append(inputs, [num_rows - 2, num_rows - 1]), units))

    def count(self, inputs: np.ndarray, units: np.ndarray, own: float = 1.0) -> "StructuredLayer":
        """Let each input and unit count so many times."""
        return StructuredLayer(self.joint.count(np.append(inputs, [own, own]), units))

    def written_out(self) -> "StructuredLayer":
        """The same distribution with nothing that ties its entries together."""
        return StructuredLayer(self.joint.written_out())

    @property
    def num_weights(self) -> Scalar | int:
        """Base weights, each as often as it counts."""
        return (self.joint.num_rows - 1) * self.joint.num_units

    @property
    def unit_counts(self) -> UnitScales | None:
        """How many units each stands for."""
        return self.joint.col_counts

    def weight_mean_mask(self) -> "StructuredLayer":
        """1 at the means of the base weights, 0 elsewhere, the log unit scales included."""
        is_weight = np.ones_like(self.joint.mean)
        is_weight[-1] = 0
        zeros = map_leaves(np.zeros_like, self.joint)
        return StructuredLayer(replace(zeros, mean=is_weight))


@family("structured")
def start_structured(start: LayerStart) -> LayerGuide:
    """A joint matrix normal; without unit scales nothing is left to couple, and the weights stand alone."""
    if start.log_unit_scale is None:
        return start_semi_structured(start)
    log_unit_scales = np.full((1, start.base_mean.shape[1]), start.log_unit_scale)
    joint_mean = np.concatenate([start.base_mean, log_unit_scales])
    sds = np.append(np.full(len(start.base_mean), start.sd), start.scale_sd)
    return StructuredLayer(
        LowRankNormal.start(joint_mean, sd=sds, rank=start.rank, unit_norm=start.unit_norm, rng=start.rng)
    )
