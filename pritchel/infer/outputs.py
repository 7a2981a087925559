"""Mean and variance of the network's output under the guide: by sampling, or by moments with none."""

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from pritchel.guide.base import Projection
from pritchel.guide.network import (
    NetworkGuide,
    draw_normals,
    jittered,
    noise_like,
    noise_shape,
    pseudo_noise_shapes,
)
from pritchel.guide.normal import Normal
from pritchel.lazy import jnp
from pritchel.model.network import Activation, Model, activate
from pritchel.model.priors import Prior
from pritchel.model.priors.base import of_layer
from pritchel.numerics import Outer, gauss_hermite, log_normal_moment, rectified_normal
from pritchel.shapes import AnyArray, Inputs, Outputs, Projections, UnitScales

Objective = Literal["moments", "sampled", "batch_sampled"]
NUM_SCALE_NODES = 5
NUM_UNIT_NODES = 3  # five gain nothing
LEAST_VAR = 1e-12


class PassNoise(NamedTuple):
    """Standard normal noise for one pass over a batch. The moments objective draws only what units share."""

    projections: tuple[AnyArray, ...]  # (examples, units) a hidden layer
    log_unit_scales: tuple[AnyArray, ...]  # likewise, or one row for all examples
    layer_scale: AnyArray | None  # (layers,)
    latents: dict[str, tuple[AnyArray, ...]]
    pseudo: tuple[Any, ...] = ()  # a `PseudoNoise` for each layer that has pseudo data


def pass_noise_shapes(guide: NetworkGuide, num_examples: int, objective: Objective) -> PassNoise:
    """Shapes of the noise that the objective takes."""
    units = guide.widths[1:-1]
    projections, log_unit_scales = (
        tuple(noise_shape(rows, count) for count in units) if rows else ()
        for rows in NOISE_ROWS[objective](num_examples)
    )
    return PassNoise(
        projections,
        log_unit_scales if guide.has_unit_scales() else (),
        noise_like(guide.scales.layer),
        noise_like(guide.latents),
        pseudo_noise_shapes(guide),
    )


class Shared(NamedTuple):
    """One draw of what units share, as a hidden layer sees it."""

    log_layer_scale: AnyArray | float
    latents: dict[str, AnyArray]


def draw_shared(guide: NetworkGuide, noise: PassNoise) -> list[Shared]:
    """What each hidden layer sees of one draw of the layer scales and latents; output scales are integrated out."""
    layer_scale, latents = draw_normals((guide.scales.layer, guide.latents), (noise.layer_scale, noise.latents))
    num = len(guide.layers)
    layer_scales = [0.0] * num if layer_scale is None else [layer_scale[index] for index in range(num)]
    return [Shared(own, of_layer(latents, index, num)) for index, own in enumerate(layer_scales)]


def sampled_output(model: Model, guide: NetworkGuide, inputs: Inputs, noise: PassNoise) -> tuple[Outputs, Outputs]:
    """Mean and variance of the network's output given one draw of the last hidden layer's activations.

    Hidden pre-activations are drawn directly, each example and unit with its own noise (local reparametrisation,
    Eq. 7-9), and so are log unit scales unless the noise has one row of them for all; what the output layer adds is
    Gaussian given those and needs no draw.
    """
    guide = jittered(guide, noise.pseudo)
    values = inputs
    for index, (layer, shared) in enumerate(zip(guide.layers, draw_shared(guide, noise), strict=True)):
        projection = layer.project(values)
        mean, var, slope = projection.mean, projection.full_var(), projection.slope
        scales = layer.log_unit_scale_moments()
        if scales is None:
            values = mean + jnp.sqrt(var) * noise.projections[index]
        else:
            log_unit_mean, log_unit_var = scales
            deviation = jnp.sqrt(log_unit_var) * noise.log_unit_scales[index]
            if slope is not None:
                mean = mean + slope[:, None] * deviation
                var = jnp.maximum(var - jnp.tensordot(slope**2, log_unit_var, 0), 1e-6 * var)
            values = mean + jnp.sqrt(var) * noise.projections[index]
            log_scale = log_unit_mean + deviation + shared.log_layer_scale
            values = values * jnp.exp(model.prior.log_weight_scale(log_scale, shared.latents))
        values = activate(model.activation, values)
    return output_moments(guide, inputs, *guide.output.project_moments(values))


def moments_output(model: Model, guide: NetworkGuide, inputs: Inputs, noise: PassNoise) -> tuple[Outputs, Outputs]:
    r"""Mean and variance of the network's output with all units integrated out, given the scales that units share.

    ReLU is positively homogeneous, $\mathrm{relu}(s p) = s\,\mathrm{relu}(p)$, so a unit's scale and its rectified
    projection are averaged in closed form. With one hidden layer the outcome is the bound itself (see
    `scaled_units` for what that leaves out); in deeper ones the next layer takes its inputs as independent with
    these moments. Other activations go by quadrature, which is as cheap.
    """
    if model.activation != "relu":
        return quadrature_output(model, guide, inputs, noise)
    guide = jittered(guide, noise.pseudo)
    units, mean, var = None, inputs, None
    for layer, shared in zip(guide.layers, draw_shared(guide, noise), strict=True):
        if units is not None:
            mean, var = units.mean_and_var()
        scales = layer.log_unit_scale_moments()
        tilted = None if scales is None else tilted_scales(model.prior, *scales, shared)
        units = scaled_units(layer.project(mean, var), tilted)
    assert units is not None  # noqa: S101 - for type checkers: there is a layer
    if isinstance(guide.output, Normal):
        return output_moments(guide, inputs, *units.project(guide.output))
    return output_moments(guide, inputs, *guide.output.project_moments(*units.mean_and_var()))


def quadrature_output(model: Model, guide: NetworkGuide, inputs: Inputs, noise: PassNoise) -> tuple[Outputs, Outputs]:
    """The same for any activation: what comes to a unit is taken as Gaussian, with the moments that it has."""
    guide = jittered(guide, noise.pseudo)
    mean, var = inputs, None
    for layer, shared in zip(guide.layers, draw_shared(guide, noise), strict=True):
        scales = layer.log_unit_scale_moments()
        tilted = None if scales is None else tilted_scales(model.prior, *scales, shared)
        mean, var = activated(model.activation, *scaled_projection(layer.project(mean, var), tilted))
    return output_moments(guide, inputs, *guide.output.project_moments(mean, var))


def activated(activation: Activation, mean: Projections, var: Projections) -> tuple[Projections, Projections]:
    """Mean and variance of what units make of Gaussians, by Gauss-Hermite nodes."""
    sd = jnp.sqrt(jnp.maximum(var, LEAST_VAR))
    nodes, weights = (part.tolist() for part in gauss_hermite(NUM_UNIT_NODES))
    values = [activate(activation, mean + node * sd) for node in nodes]

    def expected(parts: Sequence[Projections]) -> Projections:
        return functools.reduce(operator.add, (weight * part for weight, part in zip(weights, parts, strict=True)))

    middle = expected(values)
    return middle, expected([(value - middle) ** 2 for value in values])


def scaled_projection(
    projection: Projection, tilted: tuple["Tilted", "Tilted"] | None
) -> tuple[Projections, Projections]:
    r"""Mean and variance of $s\,p$ for a scale $s(\nu)$ and a projection $p$ tied to $\nu$: see `scaled_units`."""
    mean, var, slope = projection.mean, projection.full_var(), projection.slope
    if tilted is None:
        return mean, var
    by_scale, by_square = tilted
    if slope is not None:
        mean = mean + Outer(slope, by_scale.shift).full()
        gap = Outer(slope, by_square.shift - by_scale.shift).full()
        var = var + gap * (gap + 2 * mean)
    spread = by_square.norm - by_scale.norm**2
    return by_scale.norm * mean, by_square.norm * var + spread * mean**2


class Tilted(NamedTuple):
    r"""$E[t(\nu)]$ for a positive function $t$ of a unit's log scale, and how far weighting with $t$ moves $E[\nu]$."""

    norm: UnitScales
    shift: UnitScales


def tilted_scales(
    prior: Prior, log_unit_mean: UnitScales, log_unit_var: UnitScales, shared: Shared
) -> tuple[Tilted, Tilted]:
    """Weighting with the weights' scale and with its square, by Gauss-Hermite nodes: work of the order of the units."""
    nodes, weights = gauss_hermite(NUM_SCALE_NODES)
    sd = jnp.sqrt(log_unit_var)
    log_scale = log_unit_mean + shared.log_layer_scale + jnp.tensordot(jnp.asarray(nodes, sd.dtype), sd, 0)
    scale = jnp.exp(prior.log_weight_scale(log_scale, shared.latents))
    means = jnp.asarray(np.stack([weights, weights * nodes]), sd.dtype)
    by_scale, by_square = means @ scale, means @ scale**2
    return Tilted(by_scale[0], by_scale[1] / by_scale[0] * sd), Tilted(by_square[0], by_square[1] / by_square[0] * sd)


class ScaledUnits(NamedTuple):
    r"""Moments of $s\,\mathrm{relu}(p)$ for every example and unit, in factors.

    With $r$ an example's and $c$ a unit's share of the projection's standard deviation, $n_1 = E[s]$,
    $n_2 = E[s^2]$: the mean is $r c n_1 G$ and the second moment
    $n_2 (r^2 c^2 (V + G^2) + 2 r c\,g\,G + g^2 \Phi)$, where $g$ = slope x gap is by how much further the square of
    the scale moves the projection's mean. What follows needs only products of these with a unit's own numbers, so
    the factors never have to be multiplied out over examples and units.
    """

    mean: Projections  # G
    var: Projections  # V
    cdf: Projections
    rows: Float[AnyArray, " examples"]
    cols: UnitScales
    norm: UnitScales
    square_norm: UnitScales
    slope: Float[AnyArray, " examples"] | None
    gap: UnitScales

    def mean_and_var(self) -> tuple[Projections, Projections]:
        """Both, multiplied out."""
        mean = self.mean * Outer(self.rows, self.cols * self.norm).full()
        spread = self.square_norm - self.norm**2
        var = self.var * Outer(self.rows**2, self.cols**2 * self.square_norm).full()
        var += self.mean**2 * Outer(self.rows**2, self.cols**2 * spread).full()
        if self.slope is not None:
            gap = self.gap * self.square_norm
            var += 2 * self.mean * Outer(self.rows * self.slope, self.cols * gap).full()
            var += self.cdf * Outer(self.slope**2, self.gap * gap).full()
        return mean, var

    def project(self, weights: Normal) -> tuple[Outputs, Outputs]:
        """Mean and variance of `[units, 1] @ weights` for independent weights."""
        rows, cols = self.rows[:, None], self.cols[:, None]
        weight_mean, weight_var = weights.mean, weights.var
        mean_sq = weight_mean**2
        square = self.square_norm[:, None] * (mean_sq + weight_var)[:-1]
        mean_weight = cols * self.norm[:, None] * weight_mean[:-1]
        var = self.var @ (cols**2 * square) + self.mean**2 @ (cols**2 * square - mean_weight**2)
        var = rows**2 * var + weight_var[-1]
        if self.slope is not None:
            slope, gap = self.slope[:, None], self.gap[:, None] * square
            var += slope * (2 * rows * (self.mean @ (cols * gap)) + slope * (self.cdf @ (self.gap[:, None] * gap)))
        return rows * (self.mean @ mean_weight) + weight_mean[-1], var


def scaled_units(projection: Projection, tilted: tuple[Tilted, Tilted] | None) -> ScaledUnits:
    r"""Moments of $s\,\mathrm{relu}(p)$ for a scale $s(\nu)$ and a projection $p$ tied to $\nu$; no scale: $s = 1$.

    $E[s\,\mathrm{relu}(p)] = E[s]\,E_s[\mathrm{relu}(p)]$, where $E_s$ weights $\nu$ by $s$. Weighting a Gaussian by
    $e^{c\nu}$ moves its mean and leaves its variance, and $\ln s$ is straight or nearly so over the width of $q(\nu)$:
    so under $E_s$ the projection is Gaussian with its mean moved by slope times shift. Independent of the scale, or
    under the unregularized horseshoe, that is exact; with a slab it neglects the bend of $\ln s$ times slope squared.
    The second moment is carried from one shift to the other by its Taylor series to second order.
    """
    mean, var, slope = projection
    examples, units = mean.shape
    ones = jnp.ones(units, mean.dtype)
    norm, square_norm, gap = ones, ones, ones
    if tilted is not None:
        by_scale, by_square = tilted
        norm, square_norm, gap = by_scale.norm, by_square.norm, by_square.shift - by_scale.shift
        if slope is not None:
            mean = mean + Outer(slope, by_scale.shift).full()
    if isinstance(var, Outer):
        rows, cols = jnp.sqrt(var.rows), jnp.sqrt(var.cols)
        first, spread, cdf = rectified_normal(mean * Outer(1 / rows, 1 / cols).full())
        return ScaledUnits(first, spread, cdf, rows, cols, norm, square_norm, slope, gap)
    sd = jnp.sqrt(var)
    first, spread, cdf = rectified_normal(mean / sd)
    one_a_row = jnp.ones(examples, mean.dtype)
    return ScaledUnits(sd * first, var * spread, cdf, one_a_row, ones, norm, square_norm, slope, gap)


def output_moments(guide: NetworkGuide, inputs: Inputs, mean: Outputs, var: Outputs | Outer) -> tuple[Outputs, Outputs]:
    """Moments of the whole output, from those of the output layer's base projection: its scale, and the linear path."""
    mean, var = scaled_moments(guide.scales.output, mean, var.full() if isinstance(var, Outer) else var)
    if guide.linear is None:
        return mean, var
    linear_mean, linear_var = scaled_moments(
        guide.scales.linear, inputs @ guide.linear.mean, inputs**2 @ guide.linear.var
    )
    return mean + linear_mean, var + linear_var


def scaled_moments(log_scale: Normal | None, mean: Outputs, var: Outputs) -> tuple[Outputs, Outputs]:
    r"""Moments of $\kappa b$ from those of $b$, with $\ln\kappa$ Gaussian and independent."""
    if log_scale is None:
        return mean, var
    first, second = (log_normal_moment(log_scale.mean, log_scale.var, power) for power in (1.0, 2.0))
    return first * mean, second * (mean**2 + var) - (first * mean) ** 2


OUTPUT_MOMENTS: dict[str, Callable[[Model, NetworkGuide, Inputs, PassNoise], tuple[Outputs, Outputs]]] = {
    "moments": moments_output,
    "sampled": sampled_output,
    "batch_sampled": sampled_output,
}
# Rows of noise for the projections, and for the log unit scales, of a batch of so many examples.
NOISE_ROWS: dict[str, Callable[[int], tuple[int, int]]] = {
    "moments": lambda num_examples: (0, 0),
    "sampled": lambda num_examples: (num_examples, num_examples),
    "batch_sampled": lambda num_examples: (num_examples, 1),
}
