r"""Spike and slab over units: each is in or out, by a variable of its own.

$z_k \sim \mathrm{Bernoulli}(\pi)$ says whether unit $k$ is in. One that is in has the scale
$\tau_k \sim C^+(0, s)$ of the slab, as wide as any unit in use; one that is out that of the spike,
$\tau_k \sim C^+(0, \epsilon)$, too small to matter. Weights are $w_k \sim N(0, \tau_k^2 I)$ either way, so that nothing
but $p(\ln\tau_k)$ differs from a horseshoe, which is the limit $\pi \to 0$ with $\epsilon$ in the place of its layer's
scale.

Summed over $z_k$ that is a density, which samplers take: with $c_b$ the density of the log of a $C^+(0, b)$ value,
$p(\nu_k) = \pi\,c_s(\nu_k) + (1 - \pi)\,c_\epsilon(\nu_k)$ for $\nu_k = \ln\tau_k$.

The bound needs $E[\ln p(\nu_k)]$ under $q(\nu_k) = N(m, \sigma^2)$. Exactly, it is an integral over one variable, taken
by quadrature. In closed form it is bounded from below with $q(z_k) = \mathrm{Bernoulli}(r_k)$ beside $q(\nu_k)$ by
$r_k (\ln\pi + E\ln c_s) + (1 - r_k)(\ln(1 - \pi) + E\ln c_\epsilon) + H[r_k]$,
which is largest at $r_k = \mathrm{sigmoid}(\mathrm{logit}\,\pi + E\ln c_s - E\ln c_\epsilon)$, and there is
$\ln(\pi e^{E\ln c_s} + (1 - \pi) e^{E\ln c_\epsilon})$: the variable leaves as the half-Cauchy's auxiliary does, whose
bound stands for $E\ln c_b$.

Given its scale a unit is in with probability
$P(z_k = 1 \mid \nu_k) = \mathrm{sigmoid}(\mathrm{logit}\,\pi + \ln c_s(\nu_k) - \ln c_\epsilon(\nu_k))$, half where
$\tau_k \approx \sqrt{\epsilon s (1 - \pi) / \pi}$; the mean of that over $q$ is what the pruning rule looks at.
"""

import dataclasses

import numpy as np
from scipy.special import expit, log_expit, logit

from pritchel import checks
from pritchel.lazy import jnp
from pritchel.model.priors.base import PriorSettings, prior
from pritchel.model.priors.shrinkage import HalfCauchy, UnitScalePrior, draw_log_half_cauchy
from pritchel.model.scales import HALF_CAUCHY, half_cauchy_log_density
from pritchel.numerics import gauss_hermite, space_of
from pritchel.shapes import OutputScales, Scalar
from pritchel.tree import static

_NODES, _NODE_WEIGHTS = gauss_hermite(32)


class SpikeSlabPrior(UnitScalePrior):
    r"""$\tau_k \sim \pi\,C^+(0, s) + (1 - \pi)\,C^+(0, \epsilon)$, and no scale that a layer's units share."""

    has_inclusion = True

    log_slab_scale: Scalar
    log_spike_scale: Scalar
    log_in: Scalar  # ln pi
    log_out: Scalar  # ln(1 - pi)
    log_output_scale_prior: OutputScales
    log_linear_scale_prior: OutputScales
    half_cauchy: HalfCauchy = static()

    def log_weight_scale(self, log_scale, latents):
        """The unit's own scale."""
        return log_scale

    def expected_unit_log_density(self, layer, moments):
        """By quadrature, or the bound that the best q(z) gives."""
        mean, var, _ = moments
        if self.half_cauchy == "exact":
            values = mean[..., None] + jnp.sqrt(var)[..., None] * jnp.asarray(_NODES, mean.dtype)
            return self.unit_log_density(layer, values) @ jnp.asarray(_NODE_WEIGHTS, mean.dtype)
        term = HALF_CAUCHY[self.half_cauchy]
        return jnp.logaddexp(
            self.log_in + term(mean, var, self.log_slab_scale), self.log_out + term(mean, var, self.log_spike_scale)
        )

    def unit_log_density(self, layer, value):
        """The mixture's, with z summed over."""
        return space_of(value).logaddexp(*self._in_and_out(value))

    def inclusion_probability(self, mean, var):
        """E of P(in given its scale), by quadrature."""
        values = np.asarray(mean, float)[..., None] + np.sqrt(np.asarray(var, float))[..., None] * _NODES
        is_in, is_out = self._in_and_out(values)
        return expit(is_in - is_out) @ _NODE_WEIGHTS

    def _in_and_out(self, value):
        """Log densities of a scale and of being in, and of it and of being out."""
        return (
            self.log_in + half_cauchy_log_density(value, self.log_slab_scale),
            self.log_out + half_cauchy_log_density(value, self.log_spike_scale),
        )

    def draw_log_unit_scales(self, rng, layer, shape):
        """Which units are in, then scales of either kind."""
        log_scale = np.where(
            rng.random(shape) < np.exp(self.log_in), np.asarray(self.log_slab_scale), np.asarray(self.log_spike_scale)
        )
        return draw_log_half_cauchy(rng, log_scale, shape)


@prior("spike_slab")
@dataclasses.dataclass(frozen=True)
class SpikeSlab(PriorSettings):
    """Every unit is in or out, by a variable of its own; pruning keeps those that are more likely in.

    Parameters
    ----------
    inclusion : float
        Probability that a unit is in, before any data: of 100 units offered, 100 times this are expected. At least
        twice `spike_scale` / `slab_scale`, since the spike's own tail makes a unit as large as the slab's about that
        often.
    spike_scale, slab_scale : float
        Half-Cauchy scales of the weights into units that are out, and in. Where a unit is as likely in as out lies at
        about the root of their product, further up for a smaller `inclusion`.
    output_scale, linear_scale : float
        Half-Cauchy scales of the weights of the output layer and of the linear path.
    half_cauchy : {"auxiliary", "exact"}
        The expected log density in closed form, with a factor of q for each unit's variable and the paper's bound for
        the half-Cauchy; or the tighter one by quadrature.

    Examples
    --------
    >>> from pritchel import HorseshoeRegressor, SpikeSlab
    >>> model = HorseshoeRegressor(prior=SpikeSlab(inclusion=0.1))
    >>> model.set_params(prior__inclusion=0.05).prior
    SpikeSlab(inclusion=0.05)
    """

    inclusion: float = 0.02
    spike_scale: float = 1e-3
    slab_scale: float = 1.0
    output_scale: float = 5.0
    linear_scale: float = 1.0
    half_cauchy: HalfCauchy = "auxiliary"

    def build(self, num_hidden: int) -> SpikeSlabPrior:
        """The prior, the same for every hidden layer."""
        inclusion = checks.check_share("inclusion", self.inclusion)
        checks.check_choice("half_cauchy", self.half_cauchy, HALF_CAUCHY)
        for name in ("slab_scale", "output_scale", "linear_scale"):
            checks.check_number(name, getattr(self, name), above=0)
        checks.check_number("spike_scale", self.spike_scale, above=0, at_most=float(self.slab_scale))
        if inclusion * self.slab_scale < 2 * (1 - inclusion) * self.spike_scale:  # P(in) < 1/2 of a unit of scale s
            least = 2 * self.spike_scale / self.slab_scale
            raise ValueError(
                f"inclusion must be above twice spike_scale / slab_scale = {least:.3g}, or units "
                f"as large as the slab's count as out; got {inclusion:g}. Raise it, or lower spike_scale."
            )
        return SpikeSlabPrior(
            log_slab_scale=np.asarray(np.log(float(self.slab_scale))),
            log_spike_scale=np.asarray(np.log(float(self.spike_scale))),
            log_in=np.asarray(log_expit(logit(inclusion))),
            log_out=np.asarray(log_expit(-logit(inclusion))),
            log_output_scale_prior=np.asarray(np.log(float(self.output_scale))),
            log_linear_scale_prior=np.asarray(np.log(float(self.linear_scale))),
            half_cauchy=self.half_cauchy,
        )
