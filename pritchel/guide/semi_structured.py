r"""The semi-structured family: $\mathcal{MN}(\beta \mid M, \Psi + HH^\top, V) \prod N(\nu_k)$; scales stand alone."""

from pritchel.guide.base import LayerGuide, LayerStart, family
from pritchel.guide.independent import IndependentLayer
from pritchel.guide.lowrank_normal import LowRankNormal


@family("semi_structured")
def start_semi_structured(start: LayerStart) -> LayerGuide:
    """A matrix normal over the base weights."""
    base = LowRankNormal.start(start.base_mean, sd=start.sd, rank=start.rank, unit_norm=start.unit_norm, rng=start.rng)
    return IndependentLayer.start(base, start)
