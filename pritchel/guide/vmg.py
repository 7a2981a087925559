r"""VMG, the paper's strongest competitor (Louizos & Welling, ICML 2016): a matrix normal tied down by pseudo data.

$q(W) = \mathcal{MN}(M, \mathrm{diag}\,r^2, \mathrm{diag}\,s^2)$ for each layer, the output layer too. A layer also
learns $P$ pseudo pairs: inputs $A$ and outputs $B$ they should have. What it gives is drawn from $q(W)$ given $AW = B$,
while the KL is that of $q(W)$ itself; $A$ and $B$ are moved a little at every draw, so that the pairs do not over-fit.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Float
from scipy.special import digamma, gammaln

from pritchel.guide.base import LayerGuide, LayerStart, family
from pritchel.guide.independent import IndependentLayer
from pritchel.guide.normal import carried_var, project_mean
from pritchel.lazy import jnp
from pritchel.numerics import LOG_2PI, Outer, as_parameter, space_of, whiten
from pritchel.shapes import AnyArray, BaseWeights, Inputs, Projections, PseudoNoise, Scalar
from pritchel.tree import Tree, map_leaves

NUM_PSEUDO = 10
PRIOR_SHAPE, PRIOR_RATE = 1.0, 0.5  # of the gammas on the prior's row and column precisions
LOG_JITTER_SD_RANGE = -4.0, 0.5 * float(np.log(0.005))
LOG_UNIFORM_CUBIC = 1.16145124, -1.50204118, 0.58629921  # Kingma, Salimans & Welling 2015
MIN_VAR_SHARE = 1e-6


class PseudoDataNormal(Tree):
    r"""The weights of a layer, $W / \sqrt d$ for inputs of $d$ entries with the constant 1 among them.

    The prior is $\mathcal{MN}(0, I/t_r, I/t_c)$ with gamma priors on both precisions. Given the rest, the best
    $q(t)$ has shape $1 + \frac12 dk$, so only $\ln E[t]$ is learned. What the bound takes as standard normal weights is
    $\sqrt{t_r t_c}\,W$; the rest of the KL is in `entropy`.
    """

    raw_mean: Float[AnyArray, "rows units"]  # M
    log_row_sd: Float[AnyArray, " rows"]  # ln r
    log_col_sd: Float[AnyArray, " units"]  # ln s
    raw_pseudo_inputs: Float[AnyArray, "pseudo rows"]  # A
    pseudo_outputs: Float[AnyArray, "pseudo units"]  # B
    raw_jitter_sd: Float[AnyArray, "2"]  # of A and of B
    log_precisions: Float[AnyArray, "2"]  # ln E[t_r], ln E[t_c]

    @classmethod
    def start(cls, rows: int, units: int, rng: np.random.Generator) -> "PseudoDataNormal":
        """Random means but for the bias, unit variances but for the bias, pseudo data near zero."""
        mean = rng.normal(0.0, np.sqrt(4 / (rows + units)), (rows, units))
        mean[-1] = 0.0
        log_row_sd = 0.01 * rng.standard_normal(rows)
        log_row_sd[-1] = -4.0
        pseudo = (rng.uniform(-0.01, 0.01, (NUM_PSEUDO, size)) for size in (rows, units))
        log_col_sd = 0.01 * rng.standard_normal(units)
        values = (mean, log_row_sd, log_col_sd, *pseudo, np.full(2, 3.0), np.full(2, np.log(PRIOR_SHAPE / PRIOR_RATE)))
        return cls(*map(as_parameter, values))

    @property
    def num_pseudo(self) -> int:
        """Pseudo pairs."""
        return self.raw_pseudo_inputs.shape[0]

    @property
    def num_shared_noise_rows(self) -> int:
        """One for each pseudo pair."""
        return self.num_pseudo

    @property
    def log_jitter_sd(self) -> Float[AnyArray, "2"]:
        r"""$\ln\sigma$ of the factors $1 + \sigma\epsilon$ on $A$ and $B$, held within its range."""
        low, high = LOG_JITTER_SD_RANGE
        return low + (high - low) * (0.5 + 0.5 * space_of(self.raw_jitter_sd).tanh(0.5 * self.raw_jitter_sd))

    def jittered(self, noise: PseudoNoise) -> "PseudoDataNormal":
        """The same with pseudo inputs and outputs multiplied by noise around one."""
        sd = space_of(self.raw_jitter_sd).exp(self.log_jitter_sd)
        moved = (self.raw_pseudo_inputs * (1 + sd[0] * noise[0]), self.pseudo_outputs * (1 + sd[1] * noise[1]))
        return replace(self, raw_pseudo_inputs=moved[0], pseudo_outputs=moved[1])

    @property
    def input_scale(self) -> float:
        r"""$1/\sqrt d$."""
        return self.raw_mean.shape[0] ** -0.5

    @property
    def row_var(self) -> Float[AnyArray, " rows"]:
        r"""$r^2$."""
        return space_of(self.log_row_sd).exp(2 * self.log_row_sd)

    @property
    def col_var(self) -> Float[AnyArray, " units"]:
        r"""$s^2$."""
        return space_of(self.log_col_sd).exp(2 * self.log_col_sd)

    def pseudo_cov(self) -> tuple[Float[AnyArray, "pseudo pseudo"], Scalar]:
        r"""$AUA^\top$, and what is added to its diagonal: $10^{-6}$, and enough for single precision."""
        pseudo = self.raw_pseudo_inputs * self.input_scale
        cov = (pseudo * self.row_var) @ pseudo.T
        return cov, 1e-6 + 1e-5 * cov.diagonal().mean()

    def pull(
        self, weights: BaseWeights, outputs: Float[AnyArray, "pseudo units"]
    ) -> tuple[BaseWeights, Float[AnyArray, "pseudo rows"]]:
        r"""$W + UA^\top S_{11}^{-1}(B - AW)$, and $L^{-1}AU$ with $LL^\top = S_{11}$: what that takes from $U$."""
        cov, extra = self.pseudo_cov()
        pseudo = self.raw_pseudo_inputs * self.input_scale
        both = space_of(weights).concatenate([pseudo * self.row_var, outputs - pseudo @ weights], axis=1)
        both = whiten(cov + extra * np.eye(self.num_pseudo, dtype=cov.dtype), both)
        cross, gap = both[:, : weights.shape[0]], both[:, weights.shape[0] :]
        return weights + cross.T @ gap, cross

    @property
    def mean(self) -> BaseWeights:
        """E of the weights given the pseudo data."""
        return self.input_scale * self.pull(self.raw_mean, self.pseudo_outputs)[0]

    def project_moments(
        self, inputs: Inputs, input_var: Inputs | None = None
    ) -> tuple[Projections, Projections | Outer]:
        """Mean and variance of `[inputs, 1] @ weights` given the pseudo data."""
        mean, cross = self.pull(self.raw_mean, self.pseudo_outputs)
        mean, row_var = self.input_scale * mean, self.row_var
        spread = inputs**2 @ row_var[:-1] + row_var[-1]
        spread = jnp.maximum(spread - (project_mean(cross.T, inputs) ** 2).sum(-1), MIN_VAR_SHARE * spread)
        spread, cols = self.input_scale**2 * spread, self.col_var
        if input_var is None:
            return project_mean(mean, inputs), Outer(spread, cols)
        row_var = jnp.maximum(row_var - (cross**2).sum(0), MIN_VAR_SHARE * row_var)
        spread = spread + self.input_scale**2 * (input_var @ row_var[:-1])
        return project_mean(mean, inputs), Outer(spread, cols).full() + carried_var(mean, input_var)

    def draw(self, noise: Float[AnyArray, "noise_rows units"]) -> BaseWeights:
        """One draw given the pseudo data: a free draw, pulled to the pseudo outputs (Matheron's rule).

        One at a time: pseudo data are moved anew for each.
        """
        rows, space = self.raw_mean.shape[0], space_of(self.raw_mean)
        col_sd = space.exp(self.log_col_sd)
        free = self.raw_mean + space.exp(self.log_row_sd)[:, None] * noise[:rows] * col_sd
        slack = space.sqrt(self.pseudo_cov()[1]) * noise[rows:] * col_sd
        return self.input_scale * self.pull(free, self.pseudo_outputs - slack)[0]

    def expected_sq_sum(self) -> Scalar:
        r"""$E[t_r]\,E[t_c]\,E\|W\|^2$."""
        square = (self.raw_mean**2).sum() + self.row_var.sum() * self.col_var.sum()
        return jnp.exp(self.log_precisions.sum()) * square

    def entropy(self) -> Scalar:
        r"""Entropy of $\sqrt{t_r t_c}\,W$, less the KL of both precisions and of the noise on the pseudo data."""
        rows, units = self.raw_mean.shape
        entropy = 0.5 * rows * units * (1 + LOG_2PI) + units * self.log_row_sd.sum() + rows * self.log_col_sd.sum()
        shape = PRIOR_SHAPE + 0.5 * rows * units
        expected_log_precisions = digamma(shape) - np.log(shape) + self.log_precisions
        constant = (shape - PRIOR_SHAPE) * digamma(shape) - gammaln(shape) + gammaln(PRIOR_SHAPE)
        constant -= PRIOR_SHAPE * np.log(PRIOR_RATE) + shape
        kl = constant + PRIOR_SHAPE * (np.log(shape) - self.log_precisions) + PRIOR_RATE * jnp.exp(self.log_precisions)
        sizes = jnp.asarray([self.raw_pseudo_inputs.size, self.pseudo_outputs.size], entropy.dtype)
        penalty = sizes @ (_log_uniform_kl(self.log_jitter_sd) - _log_uniform_kl(LOG_JITTER_SD_RANGE[1]))
        return entropy + 0.5 * rows * units * expected_log_precisions.sum() - kl.sum() - penalty

    def take(self, rows: np.ndarray, units: np.ndarray) -> "PseudoDataNormal":
        """The entries of some rows and units, as they stand."""
        return PseudoDataNormal(
            self.raw_mean[np.ix_(rows, units)],
            self.log_row_sd[rows],
            self.log_col_sd[units],
            self.raw_pseudo_inputs[:, rows],
            self.pseudo_outputs[:, units],
            self.raw_jitter_sd,
            self.log_precisions,
        )


def _log_uniform_kl(log_sd: AnyArray | float) -> AnyArray:
    """KL of the noise 1 + sd x normal to the log-uniform prior, up to a constant: their cubic in the variance."""
    var = jnp.exp(2 * log_sd)
    first, second, third = LOG_UNIFORM_CUBIC
    return -log_sd - var * (first + var * (second + var * third))


class PseudoDataLayer(IndependentLayer):
    """A hidden layer of such weights; the prior has no unit scales."""

    base: PseudoDataNormal  # pyright: ignore[reportIncompatibleVariableOverride] - never assigned again

    @property
    def num_pseudo(self) -> int:
        """Pseudo pairs."""
        return self.base.num_pseudo

    def jittered(self, noise: PseudoNoise) -> "PseudoDataLayer":
        """The layer with its pseudo data moved by noise."""
        return PseudoDataLayer(self.base.jittered(noise), self.log_unit_scales)

    def weight_mean_mask(self) -> "PseudoDataLayer":
        """1 at the means of the weights, 0 elsewhere."""
        zeros = map_leaves(np.zeros_like, self.base)
        return PseudoDataLayer(replace(zeros, raw_mean=np.ones_like(self.base.raw_mean)), None)


def start_vmg_weights(start: LayerStart) -> PseudoDataNormal:
    """Fresh weights; they take only the shape of what they are offered."""
    rows, units = start.base_mean.shape
    return PseudoDataNormal.start(rows, units, start.rng)


@family("vmg", output=start_vmg_weights)
def start_vmg(start: LayerStart) -> LayerGuide:
    """A matrix normal and its pseudo data."""
    if start.log_unit_scale is not None:
        raise ValueError("family='vmg' has a prior of its own and no unit scales: use it with prior='gaussian'.")
    return PseudoDataLayer(start_vmg_weights(start), None)
