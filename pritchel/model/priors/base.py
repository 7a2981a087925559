"""The interface of a prior: what training, drawing and sampling need of p(scales) and of the weights given them."""

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float

from pritchel.serial import stored, trust
from pritchel.settings import Settings
from pritchel.shapes import AnyArray, Scalar
from pritchel.tree import Tree


@stored
class Scales(NamedTuple):
    """What is known of the logs of the scales that units share: values, their q, or noise; None: there is none."""

    layer: Any = None  # ln upsilon, one a hidden layer: multiplies the scales of its units
    output: Any = None  # ln kappa, of the output layer's weights
    linear: Any = None  # that of the linear path


Latents = dict[str, tuple[Any, ...]]
"""What else a prior attaches to units, by name: one for the network or one a hidden layer, of one entry or one a
unit."""


class PriorStart(NamedTuple):
    """The means that q starts from."""

    log_unit_scales: tuple[float | np.ndarray, ...] | None  # a hidden layer's, or one a unit; None: the prior has none
    scales: Scales
    latents: Latents


class Moments(NamedTuple):
    """Mean and variance of Gaussian q, and how many each entry stands for (None: itself alone)."""

    mean: AnyArray
    var: AnyArray
    counts: AnyArray | None = None


class Prior(Tree):
    """p(scales), and the scale that they give a unit's weights. Hyper-parameters are arrays: changing one compiles
    nothing.

    The raw scale of a unit is the product of its own, where it has one, and its layer's; the pruning rule looks at
    that. What becomes of it, and what else there is to it, is the prior's own affair.
    """

    has_unit_scales: ClassVar[bool] = True
    has_inclusion: ClassVar[bool] = False  # whether a unit is in or out, besides having a scale

    @property
    def held(self) -> tuple[str, ...]:
        """Fields of `Scales` that training leaves where they start."""
        return ()

    @abstractmethod
    def start(self, hidden: tuple[int, ...], linear: bool, output_scales: tuple[int, ...] = ()) -> PriorStart:
        """Where q starts for hidden layers of so many units, with or without a linear path.

        Output layer and linear path have scales of the given shape: () for one that all outputs share, or one an
        output.
        """

    def for_outputs(self, factors: np.ndarray) -> "Prior":
        """The prior of a network whose likelihood wants the scales of outputs so many times as large."""
        return self

    @abstractmethod
    def log_weight_scale(
        self, log_scale: Float[AnyArray, "*#shape"], latents: Mapping[str, Float[AnyArray, "*#shape"]]
    ) -> Float[AnyArray, "*#shape"]:
        """Log of the standard deviation of a unit's weights, from its raw log scale and what else its layer has."""

    def inclusion_probability(
        self, mean: Float[np.ndarray, "*shape"], var: Float[np.ndarray, "*shape"]
    ) -> Float[np.ndarray, "*shape"]:
        """P(in) of units for Gaussian q of their raw log scales: one, unless they can be out."""
        return np.ones_like(mean)

    @abstractmethod
    def expected_log_density(self, units: Sequence[Moments], scales: Scales, latents: Latents) -> Scalar:
        """E of the log density of all scales and latents (a bound will do) for Gaussian q, `Moments` everywhere."""

    @abstractmethod
    def log_density(self, log_unit_scales: Sequence[AnyArray], scales: Scales, latents: Latents) -> Scalar:
        """Log density of the logs of all scales, and of all latents, at given values."""

    @abstractmethod
    def draw(
        self,
        rng: np.random.Generator,
        num_draws: int,
        hidden: tuple[int, ...],
        linear: bool,
        output_scales: tuple[int, ...] = (),
    ) -> tuple[list[np.ndarray], Scales, Latents]:
        """Logs of unit scales (draws, 1, units) a layer, of shared scales, and latents, all from the prior.

        Scales are (layers, draws, 1, 1) for layers, (draws, 1, 1 or outputs) for output layer and linear path; latents
        (draws, 1, entries).
        """


@dataclasses.dataclass(frozen=True)
class PriorSettings(Settings):
    """The options of a prior, as a user gives them."""

    @abstractmethod
    def build(self, num_hidden: int) -> Prior:
        """The prior for a network of so many hidden layers, every option checked."""


PRIORS: dict[str, type[PriorSettings]] = {}
Kind = TypeVar("Kind", bound=type[PriorSettings])


def prior(name: str) -> Callable[[Kind], Kind]:
    """Register the settings of a prior; estimators and the command line then accept the name."""

    def register(kind: Kind) -> Kind:
        PRIORS[name] = kind
        trust(kind.__module__)
        return kind

    return register


def of_layer(latents: Latents, layer: int, num_layers: int) -> dict[str, Any]:
    """What a hidden layer sees of the latents: its own, or the one that all layers share."""
    return {name: parts[layer] if len(parts) == num_layers else parts[0] for name, parts in latents.items()}
