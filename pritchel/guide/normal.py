"""Independent Gaussians: any shape for scales, `rows x units` for weights."""

import numpy as np
from jaxtyping import Float

from pritchel.lazy import jnp
from pritchel.numerics import LOG_2PI, as_parameter, space_of
from pritchel.shapes import AnyArray, BaseWeights, Inputs, Projections, PseudoNoise, Scalar
from pritchel.tree import Tree


def project_mean(weights: BaseWeights, inputs: Inputs) -> Projections:
    """`[inputs, 1] @ weights`. (The bias enters as an outer product: its gradient is then a product too, not a sum.)"""
    return inputs @ weights[:-1] + jnp.tensordot(jnp.ones(inputs.shape[0], inputs.dtype), weights[-1], 0)


def carried_var(weights: BaseWeights, input_var: Inputs | None) -> Projections | float:
    """Variance that independent inputs of the given variances pass on through fixed weights."""
    return 0.0 if input_var is None else input_var @ weights[:-1] ** 2


class Normal(Tree):
    r"""$\prod N(\mu_i, \sigma_i^2)$."""

    mean: Float[AnyArray, "*shape"]
    log_sd: Float[AnyArray, "*shape"]

    @classmethod
    def start(cls, mean: np.ndarray | float, sd: float, shape: tuple[int, ...] | None = None) -> "Normal":
        """Means as given (or one mean everywhere, for a `shape`), one standard deviation everywhere."""
        means = np.asarray(mean) if shape is None else np.full(shape, mean)
        return cls(as_parameter(means), as_parameter(np.full(means.shape, np.log(sd))))

    @property
    def var(self) -> Float[AnyArray, "*shape"]:
        """Variances."""
        return space_of(self.log_sd).exp(2 * self.log_sd)

    @property
    def num_pseudo(self) -> int:
        """No pseudo data."""
        return 0

    def jittered(self, noise: PseudoNoise) -> "Normal":
        """Itself."""
        return self

    @property
    def num_shared_noise_rows(self) -> int:
        """None: each entry has its own noise."""
        return 0

    def entropy(self) -> Scalar:
        """Sum of the entropies."""
        return (0.5 * (1 + LOG_2PI) + self.log_sd).sum()

    def expected_sq_sum(self) -> Scalar:
        """E of the sum of squares."""
        return (self.mean**2 + self.var).sum()

    def draw(self, noise: Float[AnyArray, "..."]) -> Float[AnyArray, "..."]:
        """The values that standard normal `noise` maps to; of noise with leading axes as many draws."""
        return self.mean + space_of(self.log_sd).exp(self.log_sd) * noise

    def project_moments(self, inputs: Inputs, input_var: Inputs | None = None) -> tuple[Projections, Projections]:
        """Mean and variance of `[inputs, 1] @ weights`, for inputs that may have variances of their own."""
        var = self.var
        squares = inputs**2 if input_var is None else inputs**2 + input_var
        return project_mean(self.mean, inputs), project_mean(var, squares) + carried_var(self.mean, input_var)

    def take(self, *index: np.ndarray) -> "Normal":
        """The marginal over the given entries of each axis."""
        grid = np.ix_(*index)
        return Normal(self.mean[grid], self.log_sd[grid])
