"""The guide of a whole network: hidden layers of one family, the scales they share, the output layer, the noise."""

import itertools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from pritchel.guide.base import OUTPUTS, LayerGuide, LayerStart, start_layer
from pritchel.guide.independent import OutputGuide
from pritchel.guide.normal import Normal
from pritchel.model.network import Model, Weights
from pritchel.model.priors import RegularizedHorseshoe, ShrinkagePrior
from pritchel.shapes import AnyArray

START_SD = 0.01
HELD_SD = 1e-3


class NetworkGuide(eqx.Module):
    """q over everything unknown. Fields are None where the prior has no such scale."""

    layers: tuple[LayerGuide, ...]
    log_layer_scales: Normal | None  # one a hidden layer
    log_slab_sq: tuple[Normal, ...]  # one for the network, or one a layer; each of one entry, or one a unit
    output: OutputGuide  # base weights of the output layer
    log_output_scale: Normal | None
    linear: Normal | None  # base weights of the linear path beside the hidden layers; None: there is none
    log_linear_scale: Normal | None
    likelihood: Float[AnyArray, "*params"]  # the likelihood's own parameters

    @property
    def widths(self) -> tuple[int, ...]:
        """Features, hidden units a layer, outputs."""
        hidden = tuple(layer.base_mean.shape[1] for layer in self.layers)
        return (self.layers[0].base_mean.shape[0] - 1, *hidden, self.output.mean.shape[1])

    def slab_index(self, layer: int) -> int | None:
        """Which entry of `log_slab_sq` a hidden layer sees."""
        if not self.log_slab_sq:
            return None
        return layer if len(self.log_slab_sq) == len(self.layers) else 0


class GuideSpec(NamedTuple):
    """The choices that shape a guide."""

    hidden: tuple[int, ...]
    family: str = "structured"
    rank: int = 1
    unit_norm: bool = True
    learn_layer_scale: bool = False


def start_guide(
    model: Model, spec: GuideSpec, num_features: int, num_targets: int, rng: np.random.Generator
) -> NetworkGuide:
    """A guide to start training from.

    Layer scales start at their prior and unit scales at its inverse, so that their product, all the data ever see,
    starts at one: a smaller product lets the prior switch every unit off before the data have spoken.
    """
    prior = model.prior
    num_outputs = model.likelihood.num_outputs(num_targets)
    widths = (num_features, *spec.hidden)
    log_layer_scales = np.asarray(prior.log_layer_scale_prior) if isinstance(prior, ShrinkagePrior) else None
    layers = []
    for index, (fan_in, units) in enumerate(itertools.pairwise(widths)):
        base_mean = rng.normal(0.0, np.sqrt(2 / (fan_in + 1)), (fan_in + 1, units))
        log_unit_scale = None if log_layer_scales is None else -float(log_layer_scales[index])
        start = LayerStart(base_mean, log_unit_scale, START_SD, spec.rank, spec.unit_norm, rng)
        layers.append(start_layer(spec.family, start))
    slabs: tuple[Normal, ...] = ()
    if isinstance(prior, RegularizedHorseshoe):
        mode = float(np.log(prior.slab_rate / (prior.slab_shape + 1)))
        sizes = {"network": (1,), "layer": (1,) * len(spec.hidden), "unit": spec.hidden}[prior.slab_sharing]
        slabs = tuple(Normal.start(mode, START_SD, (size,)) for size in sizes)
    output_mean = rng.normal(0.0, np.sqrt(1 / (widths[-1] + 1)), (widths[-1] + 1, num_outputs))
    return NetworkGuide(
        layers=tuple(layers),
        log_layer_scales=None
        if log_layer_scales is None
        else Normal.start(log_layer_scales, START_SD if spec.learn_layer_scale else HELD_SD),
        log_slab_sq=slabs,
        output=OUTPUTS[spec.family](LayerStart(output_mean, None, START_SD, spec.rank, spec.unit_norm, rng)),
        log_output_scale=None if log_layer_scales is None else Normal.start(0.0, START_SD, ()),
        linear=Normal.start(0.0, START_SD, (num_features, num_outputs)) if model.linear else None,
        log_linear_scale=Normal.start(0.0, START_SD, ()) if model.linear and log_layer_scales is not None else None,
        likelihood=model.likelihood.start(num_targets),
    )


class DrawNoise(NamedTuple):
    """Standard normal noise for one draw of a network, laid out so that pruning selects rows and columns of it."""

    layers: tuple[AnyArray, ...]
    log_layer_scales: AnyArray
    log_slab_sq: tuple[AnyArray, ...]
    output: AnyArray
    log_output_scale: AnyArray
    linear: AnyArray | None = None
    log_linear_scale: AnyArray | None = None
    pseudo: tuple[Any, ...] = ()  # a `PseudoNoise` for each layer that has pseudo data


def noise_shape(*shape: int) -> Any:
    """A leaf that stands for standard normal noise of the given shape."""
    return jax.ShapeDtypeStruct(shape, np.float32)


def pseudo_noise_shapes(guide: NetworkGuide) -> tuple[Any, ...]:
    """Shapes of the noise on pseudo data: inputs and outputs, for every layer that has some, the output layer last."""
    sizes = [(layer.num_pseudo, *layer.base_mean.shape) for layer in guide.layers]
    sizes.append((guide.output.num_pseudo, *guide.output.mean.shape))
    return tuple((noise_shape(num, rows), noise_shape(num, units)) for num, rows, units in sizes if num)


def jittered(guide: NetworkGuide, noise: tuple[Any, ...]) -> NetworkGuide:
    """The guide with all pseudo data moved by noise; itself where it has none."""
    if not noise:
        return guide
    parts = [part.jittered(own) for part, own in zip((*guide.layers, guide.output), noise, strict=True)]
    return eqx.tree_at(lambda g: (g.layers, g.output), guide, (tuple(parts[:-1]), parts[-1]))


def draw_shared_scales(
    guide: NetworkGuide, layer_noise: AnyArray, slab_noise: tuple[AnyArray, ...]
) -> tuple[AnyArray | None, list[AnyArray | None]]:
    """One draw of the log layer scales, and of the log squared slab that each hidden layer sees."""
    layer_scales = None if guide.log_layer_scales is None else guide.log_layer_scales.draw(layer_noise)
    slabs = [slab.draw(noise) for slab, noise in zip(guide.log_slab_sq, slab_noise, strict=True)]
    indices = [guide.slab_index(layer) for layer in range(len(guide.layers))]
    return layer_scales, [None if index is None else slabs[index] for index in indices]


def draw_weights(model: Model, guide: NetworkGuide, noise: DrawNoise) -> Weights:
    r"""One draw of all weights: $w_k = \tilde\tau_k\upsilon\,\beta_k$ -- Eq. 4 -- and $w_L = \kappa\,\beta_L$."""
    guide = jittered(guide, noise.pseudo)
    layer_scales, slabs = draw_shared_scales(guide, noise.log_layer_scales, noise.log_slab_sq)
    hidden = []
    for index, layer in enumerate(guide.layers):
        base, log_unit_scales = layer.draw(noise.layers[index])
        if log_unit_scales is not None and layer_scales is not None:
            log_scale = log_unit_scales + layer_scales[index]
            base = base * jnp.exp(model.prior.log_weight_scale(log_scale, slabs[index]))
        hidden.append(base)
    output = guide.output.draw(noise.output)
    if guide.log_output_scale is not None:
        output = output * jnp.exp(guide.log_output_scale.draw(noise.log_output_scale))
    linear = None if guide.linear is None else guide.linear.draw(noise.linear)
    if linear is not None and guide.log_linear_scale is not None:
        linear = linear * jnp.exp(guide.log_linear_scale.draw(noise.log_linear_scale))
    return Weights(tuple(hidden), output, linear)


def weight_mean_mask(guide: NetworkGuide) -> NetworkGuide:
    """1 at the means of all base weights, 0 elsewhere."""
    mask = eqx.tree_at(
        lambda g: (g.layers, g.output.mean),
        jax.tree.map(np.zeros_like, guide),
        (tuple(layer.weight_mean_mask() for layer in guide.layers), np.ones_like(guide.output.mean)),
    )
    if guide.linear is None:
        return mask
    return eqx.tree_at(lambda g: g.linear.mean, mask, np.ones_like(guide.linear.mean))


def held_layer_scale_mask(guide: NetworkGuide) -> NetworkGuide:
    """0 at the layer scales, 1 elsewhere: train everything but those."""
    ones = jax.tree.map(np.ones_like, guide)
    if guide.log_layer_scales is None:
        return ones
    return eqx.tree_at(lambda g: g.log_layer_scales, ones, jax.tree.map(np.zeros_like, guide.log_layer_scales))


def keep_units(guide: NetworkGuide, kept: tuple[np.ndarray, ...]) -> NetworkGuide:
    """The guide of the network that has only the given units of each hidden layer: an exact marginal."""
    layers = tuple(layer.written_out() for layer in guide.layers)
    return take_units(eqx.tree_at(lambda g: g.layers, guide, layers), kept)


def take_units(guide: NetworkGuide, kept: tuple[np.ndarray, ...]) -> NetworkGuide:
    """Every array's entries that belong to the given units, as they stand; an optimizer's moments can be cut alike."""
    inputs = np.arange(guide.widths[0])
    layers = []
    for layer, units in zip(guide.layers, kept, strict=True):
        layers.append(layer.take(inputs, units))
        inputs = units
    slabs = guide.log_slab_sq
    if any(slab.mean.size > 1 for slab in slabs):
        slabs = tuple(slab.take(units) for slab, units in zip(slabs, kept, strict=True))
    rows, outputs = guide.output.mean.shape
    output = guide.output.take(np.append(inputs, rows - 1), np.arange(outputs))
    return eqx.tree_at(lambda g: (g.layers, g.log_slab_sq, g.output), guide, (tuple(layers), slabs, output))
