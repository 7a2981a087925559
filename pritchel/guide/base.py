"""The interface of a variational family: what a hidden layer's q(base weights, log unit scales) must answer."""

import dataclasses
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from pritchel import checks
from pritchel.guide.normal import Normal
from pritchel.numerics import Outer
from pritchel.serial import trust
from pritchel.settings import Settings
from pritchel.shapes import (
    AnyArray,
    BaseWeights,
    DrawNoiseRows,
    DrawnScales,
    DrawnWeights,
    Inputs,
    Projections,
    PseudoNoise,
    Scalar,
    UnitScales,
)
from pritchel.tree import Tree


class LayerStart(NamedTuple):
    """What a family gets to start a layer from."""

    base_mean: np.ndarray  # (fan_in + 1, units); the last row is the bias
    log_unit_scale: float | np.ndarray | None  # one for all units, or one each; None: the prior has no unit scales
    sd: float  # of base weights
    scale_sd: float  # of log unit scales
    rank: int
    unit_norm: bool
    rng: np.random.Generator


class Projection(NamedTuple):
    r"""Moments of $p_k = [a, 1]^\top \beta_k$, and how it moves with the unit's log scale -- Eq. 8.

    `slope` is $\mathrm{Cov}(p_k, \nu_k) / \mathrm{Var}\,\nu_k$, one an example, so that given the scale
    $p_k \mid \nu_k \sim N(\text{mean} + \text{slope}\,(\nu_k - m_{\nu_k}),
    \text{var} - \text{slope}^2\,\mathrm{Var}\,\nu_k)$; None where weights and scales are independent. Both ways of
    taking the likelihood's expectation, by sampling and by moments, read a family through this.
    """

    mean: Projections
    var: Projections | Outer
    slope: Float[AnyArray, " examples"] | None

    def full_var(self) -> Projections:
        """The variances as a matrix."""
        return self.var.full() if isinstance(self.var, Outer) else self.var


class LayerGuide(Tree):
    """q over the base weights into a layer's units and, where the prior has them, the units' log scales."""

    @property
    @abstractmethod
    def base_mean(self) -> BaseWeights:
        """E of the base weights; the last row is the bias."""

    @abstractmethod
    def log_unit_scale_moments(self) -> tuple[UnitScales, UnitScales] | None:
        """Mean and variance of each unit's log scale; None where the prior has none."""

    @abstractmethod
    def scale_slope(self) -> Float[AnyArray, " rows"]:
        """By how much E[base weights | log unit scale] moves for one unit of the log unit scale."""

    @abstractmethod
    def project(self, inputs: Inputs, input_var: Inputs | None = None) -> Projection:
        """Moments of `[inputs, 1] @ base_weights`.

        With `input_var` the inputs are uncertain, independent with these variances, and what they add to the variance
        is taken at the mean of the log unit scales.
        """

    @abstractmethod
    def expected_weight_sq_sum(self) -> Scalar:
        """E of the sum of squares of the base weights."""

    @abstractmethod
    def entropy(self) -> Scalar:
        """Entropy of the layer's factor: base weights and log unit scales together."""

    @property
    @abstractmethod
    def num_shared_noise_rows(self) -> int:
        """Rows of noise that `draw` needs besides one for each row of base weights."""

    @abstractmethod
    def draw(self, noise: DrawNoiseRows) -> tuple[DrawnWeights, DrawnScales | None]:
        """A draw of the base weights and log unit scales from `fan_in + 1 + num_shared_noise_rows` rows of noise.

        Noise with leading axes makes as many draws, with the same axes. Numpy in, numpy out; JAX in, JAX out.
        """

    @abstractmethod
    def take(self, inputs: np.ndarray, units: np.ndarray) -> "LayerGuide":
        """The entries of some inputs and units, as they stand; the bias row always stays."""

    def count(self, inputs: np.ndarray, units: np.ndarray, own: float = 1.0) -> "LayerGuide":
        """Let each input and unit stand for so many alike; itself where they are independent and need no stand-in.

        `own`: what the bias, and whatever else a layer holds beside its inputs, counts.
        """
        return self

    def written_out(self) -> "LayerGuide":
        """The same distribution with nothing, norm or count, that ties an input or unit to the others."""
        return self

    @property
    def num_pseudo(self) -> int:
        """Pseudo data that are moved by noise at every pass and draw; none in most families."""
        return 0

    def jittered(self, noise: PseudoNoise) -> "LayerGuide":
        """The layer with its pseudo inputs and outputs moved by noise."""
        return self

    @property
    def num_weights(self) -> Scalar | int:
        """Base weights, each as often as it counts."""
        return self.base_mean.size

    @property
    def unit_counts(self) -> UnitScales | None:
        """How many units each stands for; None: itself alone."""
        return None

    @abstractmethod
    def weight_mean_mask(self) -> "LayerGuide":
        """A copy with 1 at the means of the base weights and 0 elsewhere: what fine-tuning may move."""


StartLayer = Callable[[LayerStart], LayerGuide]
StartOutput = Callable[[LayerStart], Any]
FAMILIES: dict[str, StartLayer] = {}
OUTPUT_STARTS: dict[str, StartOutput] = {}


def start_normal_output(start: LayerStart) -> Normal:
    """Independent Gaussians over the output layer's base weights."""
    return Normal.start(start.base_mean, start.sd)


def family(name: str, output: StartOutput = start_normal_output) -> Callable[[StartLayer], StartLayer]:
    """Register the function that starts a layer of the named family; estimators then accept the name.

    `output` starts the output layer's weights: independent Gaussians, or anything with the methods of `Normal`.
    """

    def register(start: StartLayer) -> StartLayer:
        FAMILIES[name], OUTPUT_STARTS[name] = start, output
        trust(start.__module__)
        return start

    return register


@dataclasses.dataclass(frozen=True)
class Family(Settings):
    """The posterior's shape.

    Parameters
    ----------
    name : str
        "structured" (weights and their unit's scale coupled), "semi_structured", "factorized" or "tied"; or "vmg", the
        matrix normal with pseudo data that the paper compares with, which goes with `prior="gaussian"` and no linear
        path; or a family that another package has registered.
    rank : int
        Rank of the low-rank part of the (semi-)structured covariance; the paper's is 1.
    unit_norm : bool
        Divide the covariance vectors of the (semi-)structured families by their norms.
    squared_scales : bool
        Let q be Gaussian in the logs of squared unit scales, as the paper writes of its factorized family: the same
        distributions, reached by other steps.

    Examples
    --------
    >>> from pritchel import Family, HorseshoeRegressor
    >>> HorseshoeRegressor(family=Family("semi_structured", rank=2)).family
    Family(name='semi_structured', rank=2)
    """

    name: str = "structured"
    rank: int = 1
    unit_norm: bool = True
    squared_scales: bool = False

    @classmethod
    def of(cls, value: Any) -> "Family":
        """A family as given, or the one that a name stands for, checked."""
        chosen = cls(value) if isinstance(value, str) else value
        if not isinstance(chosen, cls):
            raise ValueError(f"family must be a name ({', '.join(map(repr, FAMILIES))}) or a Family; got {value!r}.")
        checks.check_choice("family", chosen.name, FAMILIES)
        checks.check_integer("rank", chosen.rank, at_least=1)
        checks.check_flag("unit_norm", chosen.unit_norm)
        checks.check_flag("squared_scales", chosen.squared_scales)
        return chosen
