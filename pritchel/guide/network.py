"""The guide of a whole network: hidden layers of one family, the scales they share, the output layer, the noise."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from pritchel.guide.base import FAMILIES, OUTPUT_STARTS, Family, LayerGuide, LayerStart
from pritchel.guide.independent import OutputGuide
from pritchel.guide.normal import Normal
from pritchel.guide.scale_starts import scale_start
from pritchel.guide.squared_scales import start_squared
from pritchel.model.joint import Unknowns, weights_of
from pritchel.model.network import Model, Weights
from pritchel.model.priors import Scales
from pritchel.model.priors.base import Latents, of_layer
from pritchel.shapes import AnyArray
from pritchel.tree import Tree, leaves, map_leaves

START_SD = 0.01
HELD_SD = 1e-3


class NetworkGuide(Tree):
    """q over everything unknown."""

    layers: tuple[LayerGuide, ...]
    scales: Scales  # a `Normal` over each log scale that the prior has
    latents: Latents  # normals over what else the prior has
    output: OutputGuide  # base weights of the output layer
    linear: Normal | None  # base weights of the linear path beside the hidden layers; None: there is none
    likelihood: Float[AnyArray, "*params"]  # the likelihood's own parameters

    @property
    def widths(self) -> tuple[int, ...]:
        """Features, hidden units a layer, outputs."""
        hidden = tuple(layer.base_mean.shape[1] for layer in self.layers)
        return (self.layers[0].base_mean.shape[0] - 1, *hidden, self.output.mean.shape[1])

    @property
    def num_weights(self) -> int:
        """Weights and biases of a draw's network, the linear path's not counted."""
        return num_weights(self.widths)

    def latents_of(self, layer: int) -> dict[str, Normal]:
        """What a hidden layer sees of the latents."""
        return of_layer(self.latents, layer, len(self.layers))

    def has_unit_scales(self) -> bool:
        """Whether units have scales that can be looked at and pruned by."""
        return self.layers[0].log_unit_scale_moments() is not None


def num_weights(widths: Sequence[int]) -> int:
    """Weights and biases of a network with so many features, hidden units a layer and outputs."""
    return sum((fan_in + 1) * units for fan_in, units in itertools.pairwise(widths))


def start_guide(
    model: Model,
    hidden: tuple[int, ...],
    family: Family,
    num_features: int,
    num_targets: int,
    rng: np.random.Generator,
    scales_at: str = "prior",
    scale_sd: float | None = None,
) -> NetworkGuide:
    """A guide to start training from: random base weights, scales and latents where the prior has them start.

    `scales_at` is one of `SCALE_STARTS`; `scale_sd` the standard deviation of log unit scales, that of weights if None.
    """
    start = model.prior.start(hidden, model.linear, model.likelihood.output_scales(num_targets).shape)
    start = scale_start(scales_at, model.prior, start, hidden, rng)
    num_outputs = model.likelihood.num_outputs(num_targets)
    widths = (num_features, *hidden)

    def layer_start(mean: np.ndarray, log_unit_scale: float | np.ndarray | None) -> LayerStart:
        sds = START_SD, START_SD if scale_sd is None else scale_sd
        return LayerStart(mean, log_unit_scale, *sds, family.rank, family.unit_norm, rng)

    layers = []
    for index, (fan_in, units) in enumerate(itertools.pairwise(widths)):
        base_mean = rng.normal(0.0, np.sqrt(2 / (fan_in + 1)), (fan_in + 1, units))
        log_unit_scale = None if start.log_unit_scales is None else start.log_unit_scales[index]
        begun = layer_start(base_mean, log_unit_scale)
        start_layer = FAMILIES[family.name]
        layers.append(start_squared(start_layer, begun) if family.squared_scales else start_layer(begun))
    output_mean = rng.normal(0.0, np.sqrt(1 / (widths[-1] + 1)), (widths[-1] + 1, num_outputs))
    scales = {
        name: None if mean is None else Normal.start(mean, HELD_SD if name in model.prior.held else START_SD)
        for name, mean in start.scales._asdict().items()
    }
    return NetworkGuide(
        layers=tuple(layers),
        scales=Scales(**scales),
        latents={name: tuple(Normal.start(mean, START_SD) for mean in means) for name, means in start.latents.items()},
        output=OUTPUT_STARTS[family.name](layer_start(output_mean, None)),
        linear=Normal.start(0.0, START_SD, (num_features, num_outputs)) if model.linear else None,
        likelihood=model.likelihood.start(num_targets),
    )


class DrawNoise(NamedTuple):
    """Standard normal noise for one draw of a network, or, with a leading axis, for many.

    Leaves are drawn in this order, layers of the width that was offered, and then selected: a pruned network keeps the
    draws of the units it kept, and a saved model predicts from the same draws for ever.
    """

    layers: tuple[AnyArray, ...]
    latents: dict[str, tuple[AnyArray, ...]]
    output: AnyArray
    linear: AnyArray | None
    scales: Scales
    pseudo: tuple[Any, ...]  # a `PseudoNoise` for each layer that has pseudo data

    def take(self, kept: tuple[np.ndarray, ...]) -> "DrawNoise":
        """The noise of some of the units of each hidden layer; any leading axes stay."""
        inputs, layers = None, []
        for noise, units in zip(self.layers, kept, strict=True):
            layers.append(_rows(noise, inputs, self.layers, len(layers))[..., units])
            inputs = units
        last = lambda part, units: part[..., units]  # noqa: E731
        latents = {name: _of_units(parts, kept, last) for name, parts in self.latents.items()}
        output = _rows(self.output, inputs, self.layers, len(layers))
        return self._replace(layers=tuple(layers), latents=latents, output=output)


def _of_units(parts: tuple[Any, ...], kept: tuple[np.ndarray, ...], take: Callable[[Any, np.ndarray], Any]) -> Any:
    """Each part's entries of the units kept, where it has one a unit; as it is, where units share one entry."""
    if not _is_per_unit([leaves(part)[0].shape[-1] for part in parts]):
        return parts
    return tuple(take(part, units) for part, units in zip(parts, kept, strict=True))


def _is_per_unit(sizes: list[int]) -> bool:
    return any(size != 1 for size in sizes)


def _rows(noise: AnyArray, inputs: np.ndarray | None, layers: tuple[AnyArray, ...], index: int) -> AnyArray:
    """Rows of the given inputs, and all those behind the inputs' (bias, shared noise)."""
    if inputs is None:
        return noise
    rest = np.arange(layers[index - 1].shape[-1], noise.shape[-2])
    return noise[..., np.concatenate([inputs, rest]), :]


def noise_shape(*shape: int) -> Any:
    """A leaf that stands for standard normal noise of the given shape: its mean, which takes no room."""
    return np.broadcast_to(np.float32(0), shape)


def noise_like(normals: Any) -> Any:
    """Shapes of the noise that a tree of normals takes."""
    is_normal = lambda part: isinstance(part, Normal)  # noqa: E731
    return map_leaves(lambda normal: noise_shape(*normal.mean.shape), normals, is_leaf=is_normal)


def draw_noise_shapes(guide: NetworkGuide, offered: tuple[int, ...] | None = None) -> DrawNoise:
    """Shapes of the noise of one draw, for the guide's own hidden units or for all that were offered."""
    hidden = guide.widths[1:-1] if offered is None else offered
    sizes = (guide.widths[0], *hidden, guide.widths[-1])
    parts = (*guide.layers, guide.output)
    matrices = [
        noise_shape(fan_in + 1 + part.num_shared_noise_rows, units)
        for part, (fan_in, units) in zip(parts, itertools.pairwise(sizes), strict=True)
    ]
    latents = {}
    for name, normals in guide.latents.items():
        entries = [normal.mean.size for normal in normals]
        latents[name] = tuple(noise_shape(size) for size in (hidden if _is_per_unit(entries) else entries))
    *layers, output = matrices
    linear = None if guide.linear is None else noise_shape(*guide.linear.mean.shape)
    return DrawNoise(tuple(layers), latents, output, linear, noise_like(guide.scales), pseudo_noise_shapes(guide))


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
    return replace(guide, layers=tuple(parts[:-1]), output=parts[-1])


def draw_normals(normals: Any, noise: Any) -> Any:
    """A draw of every `Normal` in a tree."""
    return map_leaves(lambda q, e: q.draw(e), normals, noise, is_leaf=lambda part: isinstance(part, Normal))


def draw_unknowns(guide: NetworkGuide, noise: DrawNoise) -> Unknowns:
    """A draw of everything unknown; from noise for many, where pseudo data ask for none, as many, stacked."""
    guide = jittered(guide, noise.pseudo)
    drawn = [layer.draw(own) for layer, own in zip(guide.layers, noise.layers, strict=True)]
    return Unknowns(
        hidden=tuple(base for base, _ in drawn),
        log_unit_scales=tuple(scales for _, scales in drawn if scales is not None),
        scales=draw_normals(guide.scales, noise.scales),
        latents=draw_normals(guide.latents, noise.latents),
        output=guide.output.draw(noise.output),
        linear=draw_normals(guide.linear, noise.linear),
        likelihood=guide.likelihood,
    )


def draw_weights(model: Model, guide: NetworkGuide, noise: DrawNoise) -> Weights:
    """One draw of all weights."""
    return weights_of(model, draw_unknowns(guide, noise))


def weight_mean_mask(guide: NetworkGuide) -> NetworkGuide:
    """1 at the means of all base weights, 0 elsewhere."""

    def of_means(part: Any) -> Any:
        return None if part is None else replace(map_leaves(np.zeros_like, part), mean=np.ones_like(part.mean))

    layers = tuple(layer.weight_mean_mask() for layer in guide.layers)
    zeros = map_leaves(np.zeros_like, guide)
    return replace(zeros, layers=layers, output=of_means(guide.output), linear=of_means(guide.linear))


def trained_mask(model: Model, guide: NetworkGuide) -> NetworkGuide:
    """0 at the scales that the prior holds where they start, 1 elsewhere."""
    ones = map_leaves(np.ones_like, guide)
    held = {name: map_leaves(np.zeros_like, getattr(guide.scales, name)) for name in model.prior.held}
    return replace(ones, scales=ones.scales._replace(**held))


def keep_units(guide: NetworkGuide, kept: tuple[np.ndarray, ...]) -> NetworkGuide:
    """The guide of the network that has only the given units of each hidden layer: an exact marginal."""
    layers = tuple(layer.written_out() for layer in guide.layers)
    return take_units(replace(guide, layers=layers), kept)


def take_units(guide: NetworkGuide, kept: tuple[np.ndarray, ...]) -> NetworkGuide:
    """Every array's entries that belong to the given units, as they stand; an optimizer's moments can be cut alike."""
    inputs = np.arange(guide.widths[0])
    layers = []
    for layer, units in zip(guide.layers, kept, strict=True):
        layers.append(layer.take(inputs, units))
        inputs = units
    latents = {name: _of_units(parts, kept, Normal.take) for name, parts in guide.latents.items()}
    rows, outputs = guide.output.mean.shape
    output = guide.output.take(np.append(inputs, rows - 1), np.arange(outputs))
    return replace(guide, layers=tuple(layers), latents=latents, output=output)
