"""The horseshoe prior -- Eq. 1."""

import dataclasses

from jaxtyping import Float

from pritchel.model.priors.base import prior
from pritchel.model.priors.shrinkage import HalfCauchy, ShrinkagePrior, ShrinkageSettings
from pritchel.shapes import AnyArray, OutputScales
from pritchel.tree import static


class HorseshoePrior(ShrinkagePrior):
    r"""$w_k \sim N(0, \tau_k^2\upsilon_l^2 I)$, both scales half-Cauchy -- Eq. 1."""

    log_unit_scale_prior: Float[AnyArray, " layers"]
    log_layer_scale_prior: Float[AnyArray, " layers"]
    log_output_scale_prior: OutputScales
    log_linear_scale_prior: OutputScales
    half_cauchy: HalfCauchy = static()
    learn_layer_scale: bool = static()

    def log_weight_scale(self, log_scale, latents):
        """The raw product of scales."""
        return log_scale


@prior("horseshoe")
@dataclasses.dataclass(frozen=True)
class Horseshoe(ShrinkageSettings):
    """The horseshoe: a unit's weights share a half-Cauchy scale, and a layer's units another.

    Parameters
    ----------
    unit_scale, layer_scale : float or tuple of floats
        Half-Cauchy scales b_0 and b_g, one number or one a hidden layer. A smaller layer scale switches more units off.
    output_scale, linear_scale : float
        Half-Cauchy scales of the weights of the output layer and of the linear path.
    learn_layer_scale : bool
        Learn each layer's shared scale, as the paper does, or hold it at `layer_scale`. Only the product of layer and
        unit scale reaches the data; left to learn, the layer scale climbs for as long as training goes on and takes
        the switched-off units past any fixed threshold with it.
    half_cauchy : {"auxiliary", "exact"}
        The paper's bound on the expected log density, or the tighter one by quadrature.

    Examples
    --------
    >>> from pritchel import Horseshoe, HorseshoeRegressor
    >>> model = HorseshoeRegressor(hidden=(100, 50), prior=Horseshoe(layer_scale=(1e-4, 1e-5)))
    >>> model.set_params(prior__half_cauchy="exact").prior
    Horseshoe(layer_scale=(0.0001, 1e-05), half_cauchy='exact')
    """

    def build(self, num_hidden: int) -> HorseshoePrior:
        """The prior for so many hidden layers."""
        return HorseshoePrior(**self.scale_fields(num_hidden))
