r"""The factorized family: $\prod N(\beta_{ij} \mid \mu_{ij}, \sigma_{ij}^2) \prod N(\nu_k)$ -- Eq. 5."""

from pritchel.guide.base import LayerGuide, LayerStart, family
from pritchel.guide.independent import IndependentLayer
from pritchel.guide.normal import Normal


@family("factorized")
def start_factorized(start: LayerStart) -> LayerGuide:
    """One mean and one variance a weight."""
    return IndependentLayer.start(Normal.start(start.base_mean, start.sd), start)
