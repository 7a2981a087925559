"""Classes: one output for two of them, one a class for more."""

import dataclasses
from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from pritchel import checks
from pritchel.lazy import jax, jnp
from pritchel.model.likelihoods.base import (
    Components,
    Likelihood,
    LikelihoodSettings,
    LikelihoodStart,
    NumpyOps,
    likelihood,
)
from pritchel.numerics import expected_log_softmax, gauss_hermite
from pritchel.shapes import AnyArray, Outputs, Scalar, Targets

NUM_NODES = 16
NEVER = -1e4


class CategoricalLikelihood(Likelihood):
    r"""$y \sim \mathrm{softmax}(f)$, or $\mathrm{sigmoid}(f)$ for two classes; y is the index of a class.

    With label noise $\epsilon$ a label is right with probability $1 - \epsilon$ and else any of the K: the observed
    one has probability $(1 - \epsilon)p_y + \epsilon/K$. Predictions are of the right one.
    """

    standardizes = False
    has_classes = True
    class_index: Float[AnyArray, " classes"]  # 0, 1, 2, ...: its length is the number of classes
    log_right: Scalar  # ln(1 - label noise)
    log_wrong: Scalar  # ln(label noise / classes); far below any log probability where there is none

    @property
    def num_classes(self) -> int:
        """Classes."""
        return self.class_index.shape[0]

    def num_outputs(self, num_targets: int) -> int:
        """One for two classes, else one a class."""
        return 1 if self.num_classes == 2 else self.num_classes

    def as_numbers(self, targets):
        """One indicator a class."""
        return (targets == np.arange(self.num_classes)).astype(float)

    def expected_log_density(
        self, params: Float[AnyArray, " none"], targets: Targets, mean: Outputs, var: Outputs
    ) -> Float[AnyArray, " examples"]:
        r"""Two classes: $E[\ln\mathrm{sigmoid}(\pm f)]$ by quadrature. More: $E[f_y] - E[\ln\sum e^{f}]$, bounded.

        The bound is Knowles and Minka's.

        A row whose label looks wrong counts for less: with the best guess of which are, the expectation becomes
        $\ln((1 - \epsilon)e^{E\ln p_y} + \epsilon/K)$.
        """
        return jnp.logaddexp(self.log_right + self._expected_log_probability(targets, mean, var), self.log_wrong)

    def _expected_log_probability(self, targets: Targets, mean: Outputs, var: Outputs) -> Float[AnyArray, " examples"]:
        if self.num_classes == 2:
            nodes, weights = gauss_hermite(NUM_NODES)
            sign = 2 * targets - 1
            at_nodes = sign * mean + jnp.sqrt(var) * jnp.asarray(nodes, mean.dtype)
            return jax.nn.log_sigmoid(at_nodes) @ jnp.asarray(weights, mean.dtype)
        is_class = (targets == self.class_index.astype(mean.dtype)).astype(mean.dtype)
        return (is_class * expected_log_softmax(mean, var, axis=-1)).sum(-1)

    def log_density(self, params, targets, outputs):
        r"""$\ln((1 - \epsilon)p_y + \epsilon/K)$."""
        if self.num_classes == 2:
            log_right = jax.nn.log_sigmoid((2 * targets - 1) * outputs)[:, 0]
        else:
            is_class = targets == self.class_index.astype(outputs.dtype)
            log_right = jnp.where(is_class, jax.nn.log_softmax(outputs), 0.0).sum(-1)
        return jnp.logaddexp(self.log_right + log_right, self.log_wrong)

    def moments(self, outputs, values, ops):
        """Probabilities of the classes, and the variances of their indicators."""
        if self.num_classes == 2:
            second = ops.sigmoid(outputs)
            probabilities = ops.concatenate([1.0 - second, second])
        else:
            probabilities = ops.softmax(outputs)
        return probabilities, probabilities * (1.0 - probabilities)

    def components(self, outputs, values, location, scale):
        """Probabilities of the classes."""
        return ClassComponents(*self.moments(outputs, values, NumpyOps), self.of_observed)

    def of_observed(self, probabilities: np.ndarray) -> np.ndarray:
        """Of an observed label, given those of the right one."""
        return np.exp(self.log_right) * probabilities + np.exp(self.log_wrong)


class ClassComponents(Components):
    """`mean` holds the probabilities, (draws, rows, classes); of them `of_observed` makes those of observed labels."""

    is_discrete = True

    def __init__(self, probabilities: np.ndarray, var: np.ndarray, of_observed: Callable[[np.ndarray], np.ndarray]):
        self.mean, self.var, self.of_observed = probabilities, var, of_observed

    def log_density(self, values):
        """Log probability of observing the given classes, (rows, 1) as indices."""
        index = np.broadcast_to(values.astype(int)[None], (len(self.mean), *values.shape))
        own = self.of_observed(np.take_along_axis(self.mean, index, -1))
        return np.log(np.maximum(own, np.finfo(float).tiny))

    def sample(self, rng):
        """Indices of classes, (draws, rows, 1)."""
        below = self.mean.cumsum(-1)
        uniform = rng.random(self.mean.shape[:-1])[..., None]
        return (uniform > below[..., :-1]).sum(-1, keepdims=True).astype(float)


@likelihood("categorical")
@dataclasses.dataclass(frozen=True)
class Categorical(LikelihoodSettings):
    """Classes.

    Parameters
    ----------
    label_noise : float
        Share of the labels that may be wrong, drawn at random; 0 trusts all of them.

    Examples
    --------
    >>> from pritchel import HorseshoeClassifier
    >>> HorseshoeClassifier(label_noise=0.1).likelihood_settings()
    Categorical(label_noise=0.1)
    """

    kind = CategoricalLikelihood
    label_noise: float = 0.0

    def check(self) -> None:
        """The label noise is a share."""
        checks.check_number("label_noise", self.label_noise, at_least=0, at_most=0.9)

    def build(self, start: LikelihoodStart) -> CategoricalLikelihood:
        """The likelihood for a number of classes."""
        num_classes, noise = max(start.num_classes, 2), float(self.label_noise)
        log_right = np.asarray(float(np.log1p(-noise)))
        log_wrong = np.asarray(float(np.log(noise / num_classes) if noise > 0 else NEVER))
        return CategoricalLikelihood(np.arange(float(num_classes)), log_right, log_wrong)
