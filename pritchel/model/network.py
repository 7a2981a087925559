"""The network itself: activations, the forward pass for given weights, and the model that holds the parts."""

from typing import Any, Literal, NamedTuple

from pritchel.model.likelihoods import Likelihood
from pritchel.model.priors import Prior
from pritchel.tree import Tree, static

Activation = Literal["swish", "relu", "tanh"]
ACTIVATIONS = ("swish", "relu", "tanh")


def activate(name: Activation, values: Any) -> Any:
    r"""The activation, for numpy and JAX arrays alike; swish, $z / (1 + e^{-2z})$, is a ReLU whose corner is round."""
    namespace = values.__array_namespace__()
    if name == "relu":
        return namespace.maximum(values, 0)
    turned = namespace.tanh(values)
    return turned if name == "tanh" else values * (0.5 + 0.5 * turned)


class Weights(NamedTuple):
    """One draw of a whole network, or many stacked on a leading axis; the last row of each matrix is the bias."""

    hidden: tuple[Any, ...]
    output: Any
    linear: Any = None  # features x outputs, no bias; None: no linear path


def last_units(weights: Weights, inputs: Any, activation: Activation) -> Any:
    """What the units of the last hidden layer make of inputs."""
    values = inputs
    for matrix in weights.hidden:
        values = activate(activation, values @ matrix[..., :-1, :] + matrix[..., -1:, :])
    return values


def forward(weights: Weights, inputs: Any, activation: Activation) -> Any:
    """The network's output for given weights: numpy in, numpy out; JAX in, JAX out (and differentiable)."""
    values = last_units(weights, inputs, activation)
    outputs = values @ weights.output[..., :-1, :] + weights.output[..., -1:, :]
    return outputs if weights.linear is None else outputs + inputs @ weights.linear


def forward_across(weights: Weights, inputs: Any, activation: Activation) -> Any:
    """The same with rows along the last axis, of inputs (features, rows) as of outputs: quicker where they are many."""
    values = inputs
    for matrix in weights.hidden:
        values = activate(activation, matrix[:-1].T @ values + matrix[-1][:, None])
    outputs = weights.output[:-1].T @ values + weights.output[-1][:, None]
    return outputs if weights.linear is None else outputs + weights.linear.T @ inputs


class Model(Tree):
    """p(y, weights, scales): everything but the data. `joint` has its log density."""

    prior: Prior
    likelihood: Likelihood
    activation: Activation = static()
    linear: bool = static(default=False)  # a linear path beside the hidden layers
