"""The interface of a likelihood: what training, prediction and export need of p(y | f)."""

import dataclasses
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float

from pritchel.lazy import jnp
from pritchel.numerics import as_parameter
from pritchel.serial import trust
from pritchel.settings import Settings
from pritchel.shapes import AnyArray, Outputs, Scalar, Targets
from pritchel.tree import Tree


class LikelihoodStart(NamedTuple):
    """What a likelihood knows of the table it is made for."""

    targets: np.ndarray  # (rows, targets), in the units that the likelihood sees; no rows: there are no data
    weights: np.ndarray  # (rows,)
    num_classes: int = 0
    before: "Likelihood | None" = None  # whose kind and zero of f stay: the fit's that goes on, or all rows'

    @classmethod
    def without_data(cls, num_targets: int, num_classes: int = 0) -> "LikelihoodStart":
        """Before there is a table."""
        return cls(np.zeros((0, num_targets)), np.zeros(0), num_classes)

    @property
    def num_rows(self) -> float:
        """The sum of the sample weights."""
        return float(self.weights.sum())


class Components:
    """One predictive distribution a weight draw, in the units of y: arrays are (draws, rows, targets).

    The predictive distribution of the posterior is their equal mixture.
    """

    is_discrete: ClassVar[bool] = False
    has_near_cdf: ClassVar[bool] = False  # whether `near_cdf` is cheaper than `root_cdf`
    mean: np.ndarray
    var: np.ndarray
    dof: np.ndarray | float = np.inf  # of the tails, where they are a Student-t's
    num_humps: np.ndarray | int = 1  # that have a weight worth the name and stand apart

    def log_density(self, values: np.ndarray) -> np.ndarray:
        """Log density, or probability, of each component."""
        raise NotImplementedError

    def cdf(self, values: np.ndarray) -> np.ndarray:
        """P(y <= values) under each component."""
        raise NotImplementedError

    def near_cdf(self, values: np.ndarray) -> np.ndarray:
        """Nearly the same: by it a quantile is first looked for."""
        return self.cdf(values)

    def root_cdf(self, values: np.ndarray) -> np.ndarray:
        """The same to 1e-10: by it a quantile is found."""
        return self.cdf(values)

    def quantile(self, level: float) -> np.ndarray:
        """Values, on a leading axis, between which their mixture's quantile lies: as a rule the components' own."""
        raise NotImplementedError

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        """One observation from each component."""
        raise NotImplementedError


class Likelihood(Tree):
    """p(y | f) and q over its own parameters, which the guide holds as one array."""

    standardizes: ClassVar[bool] = True  # whether targets are standardized before the likelihood sees them
    has_counts: ClassVar[bool] = False  # whether targets count something: 0, 1, 2, ...
    has_classes: ClassVar[bool] = False  # whether targets are indices of classes

    @classmethod
    def check_targets(cls, targets: np.ndarray) -> None:
        """Raise a ValueError, with the row and the way out, for targets that the likelihood cannot take."""

    def as_numbers(self, targets: np.ndarray) -> np.ndarray:
        """Targets in the form that predictive means have."""
        return targets

    def num_outputs(self, num_targets: int) -> int:
        """Outputs that the network needs."""
        return num_targets

    def output_scales(self, num_targets: int) -> np.ndarray:
        """What the prior's scales of output layer and linear path are multiplied by: one an output, which then has a
        scale of its own, or a single number, where all outputs share one.
        """
        return np.ones(())

    def start(self, num_targets: int) -> Float[AnyArray, "*params"]:
        """Starting values of the likelihood's own parameters; none unless it says otherwise."""
        return as_parameter(np.zeros(0))

    @abstractmethod
    def expected_log_density(
        self, params: Float[AnyArray, "*params"], targets: Targets, mean: Outputs, var: Outputs
    ) -> Float[AnyArray, " examples"]:
        """E[ln p(y | f)] per example for independent Gaussian outputs f of the given moments, or a bound on it."""

    def training_log_density(
        self,
        params: Float[AnyArray, "*params"],
        targets: Targets,
        mean: Outputs,
        var: Outputs,
        progress: Scalar | float,
    ) -> Float[AnyArray, " examples"]:
        """The same after a part `progress` of the training: early, it may be less, or another."""
        return self.expected_log_density(params, targets, mean, var)

    @abstractmethod
    def log_density(
        self, params: Float[AnyArray, "*params"], targets: Targets, outputs: Outputs
    ) -> Float[AnyArray, " examples"]:
        """ln p(y | f) per example at given outputs f and values of the likelihood's own parameters."""

    def log_prior(self, params: Float[AnyArray, "*params"]) -> Scalar:
        """Log density of the likelihood's own parameters, which are unconstrained, at given values."""
        return jnp.zeros(())

    def kl(self, params: Float[AnyArray, "*params"]) -> Scalar:
        """KL of the likelihood's own parameters, with whatever constant the expected log density leaves out."""
        return jnp.zeros(())

    def deviations(self, params: np.ndarray, num_rows: float) -> np.ndarray:
        """Roughly how far the posterior of each of the likelihood's own parameters reaches; sampling starts from it."""
        return np.full(params.size, min(1.0, np.sqrt(2 / max(num_rows, 1.0))))

    def noise_values(self, params: np.ndarray) -> dict[str, np.ndarray]:
        """Numbers that each draw's components need besides its outputs: (targets,) each, or a multiple of that."""
        return {}

    def known_noise_values(self, params: np.ndarray) -> dict[str, np.ndarray]:
        """The same where the parameters are known, for stacked draws of them: (draws, 1, targets) each."""
        return {name: value[:, None] for name, value in self.noise_values(params).items()}

    def prior_noise_values(self, rng: np.random.Generator, num_draws: int, num_targets: int) -> dict[str, np.ndarray]:
        """The same drawn from the prior: (draws, 1, targets) each."""
        values = self.noise_values(np.asarray(self.start(num_targets), float))
        return {name: np.broadcast_to(value, (num_draws, 1, num_targets)) for name, value in values.items()}

    @abstractmethod
    def moments(self, outputs: Any, values: dict[str, Any], ops: Any) -> tuple[Any, Any]:
        """Mean and variance of y given the outputs (..., outputs), in the units that the likelihood sees.

        Written with arithmetic, slices of the last axis and the functions of `ops` alone, so that exports can follow
        it: see `NumpyOps`.
        """

    def parts(self, outputs: Any, values: dict[str, Any], ops: Any) -> list[tuple[Any, Any, Any]]:
        """What a draw's component is a mixture of: mean, variance and weight of each part, written as `moments`."""
        return [(*self.moments(outputs, values, ops), 1.0)]

    def student_dof(self, values: dict[str, np.ndarray]) -> np.ndarray | None:
        """Degrees of freedom of the `parts` of draws, where these are Student-t; infinite: Gaussian.

        None: they are of another kind, and exports have no quantiles of them.
        """
        return None

    @abstractmethod
    def components(
        self, outputs: np.ndarray, values: dict[str, np.ndarray], location: np.ndarray, scale: np.ndarray
    ) -> Components:
        """The components of draws (draws, rows, outputs); `location` and `scale` lead back to the units of y."""


class NumpyOps:
    """`ops` for arrays."""

    exp = staticmethod(np.exp)
    clip = staticmethod(np.clip)

    @staticmethod
    def sigmoid(values: np.ndarray) -> np.ndarray:
        """1 / (1 + exp(-values))."""
        return 0.5 + 0.5 * np.tanh(0.5 * values)

    @staticmethod
    def softmax(values: np.ndarray) -> np.ndarray:
        """Over the last axis."""
        raised = np.exp(values - values.max(-1, keepdims=True))
        return raised / raised.sum(-1, keepdims=True)

    @staticmethod
    def concatenate(parts: list[np.ndarray]) -> np.ndarray:
        """Along the last axis."""
        return np.concatenate(parts, -1)


@dataclasses.dataclass(frozen=True)
class LikelihoodSettings(Settings):
    """The options of a likelihood, as a user gives them."""

    kind: ClassVar[type[Likelihood]]
    other_kinds: ClassVar[tuple[type[Likelihood], ...]] = ()  # that some tables get; all that is static is as of `kind`

    def makes(self, likelihood: Likelihood) -> bool:
        """Whether it is of a kind that these settings build."""
        return type(likelihood) in (self.kind, *self.other_kinds)

    def check(self) -> None:
        """Raise a ValueError that says what was wanted for the first option that will not do."""

    @abstractmethod
    def build(self, start: LikelihoodStart) -> Likelihood:
        """The likelihood for a table, of checked options; special functions of fixed numbers are taken on the host."""


LIKELIHOODS: dict[str, type[LikelihoodSettings]] = {}
Kind = TypeVar("Kind", bound=type[LikelihoodSettings])


def likelihood(name: str) -> Callable[[Kind], Kind]:
    """Register the settings of a likelihood; estimators and the command line then accept the name."""

    def register(kind: Kind) -> Kind:
        LIKELIHOODS[name] = kind
        trust(kind.__module__)
        return kind

    return register
