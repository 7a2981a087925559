"""Draws of learned dynamics, to plan with: arrays, and pure functions that JAX can compile, batch and differentiate."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pritchel.data.dataset import Standardizer
from pritchel.model.network import Activation, Weights, forward
from pritchel.programs import compiled
from pritchel.tree import Tree, static

State = Float[Array, "*batch features"]
Plan = Any  # actions with a leading axis of steps, or a function from a state to an action


def wrap_angle(angle: Any) -> Any:
    """The same angle between -pi and pi, numpy or JAX."""
    return angle - 2 * np.pi * (angle / (2 * np.pi)).round()


class Dynamics(Tree):
    """One draw of a fitted model's dynamics, or many stacked on a leading axis: arrays, so `vmap` and `jit` take it.

    The weights are those of the network in the units of states and actions, with nothing left to standardize.
    """

    weights: Weights
    num_actions: int | None = static()
    angles: tuple[int, ...] = static()
    activation: Activation = static()

    @property
    def num_draws(self) -> int:
        """Draws on the leading axis."""
        return len(self.weights.output)

    def __getitem__(self, index: Any) -> "Dynamics":
        """One of many draws (an index, traced or not) or some of them (a slice)."""
        return jax.tree.map(lambda leaf: leaf[index], self)


def network_inputs(states: Any, actions: Any, num_actions: int | None, angles: tuple[int, ...]) -> Any:
    """The network's inputs: angles as cosine and sine, discrete actions one-hot; numpy in, numpy out."""
    namespace = states.__array_namespace__()
    straight = [index for index in range(states.shape[-1]) if index not in angles]
    parts = [states[..., straight]]
    if angles:
        turned = states[..., list(angles)]
        parts += [namespace.cos(turned), namespace.sin(turned)]
    if num_actions is not None:
        actions = actions[..., None] == namespace.arange(num_actions)
    return namespace.concatenate([*parts, actions.astype(states.dtype)], axis=-1)


def step(draw: Dynamics, state: State, action: Any) -> State:
    """The state (or states: any leading axes) that one draw's dynamics lead to; pure and differentiable.

    For one draw a roll-out: `jax.vmap(step)(draws, states, actions)`.
    """
    state = jnp.asarray(state)
    inputs = network_inputs(state, jnp.asarray(action), draw.num_actions, draw.angles)
    difference = forward(draw.weights, inputs.reshape(-1, inputs.shape[-1]), draw.activation).reshape(state.shape)
    return tidy(state + difference, draw.angles)


def rollout(draw: Dynamics, state: State, plan: Plan, num_steps: int | None = None) -> Float[Array, "times features"]:
    """The states one draw goes through, the given one first: `num_steps` under a policy, or one an action."""

    def one(state, action):
        after = step(draw, state, plan(state) if callable(plan) else action)
        return after, after

    state = jnp.asarray(state)
    actions = None if callable(plan) else jnp.asarray(plan)[:num_steps]
    _, states = jax.lax.scan(one, state, actions, num_steps if actions is None else None)
    return jnp.concatenate([state[None], states])


@compiled(static_argnames=("policy", "num_steps"))
def rollouts(draws: Dynamics, states: Any, actions: Any, policy: Callable | None, num_steps: int | None) -> Any:
    """The states that each draw goes through from a state of its own, under its own actions or one policy."""
    if policy is not None:
        return jax.vmap(lambda draw, state: rollout(draw, state, policy, num_steps))(draws, states)
    return jax.vmap(lambda draw, state, plan: rollout(draw, state, plan, num_steps))(draws, states, actions)


def in_raw_units(weights: Weights, standardizer: Standardizer) -> Weights:
    """The weights of the same network for inputs and outputs in their own units; only outputs that are means stay."""
    num = len(standardizer.target_mean)
    linear = None if weights.linear is None else weights.linear[..., :num]
    weights = weights._replace(output=weights.output[..., :num], linear=linear)
    shift, scale = standardizer.input_mean, standardizer.input_scale[:, None]

    def of_raw_inputs(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The matrix for inputs as they are, and what the bias loses by it."""
        scaled = matrix / scale
        return scaled, (shift @ scaled)[..., None, :]

    matrices = [(matrix[..., :-1, :], matrix[..., -1:, :]) for matrix in (*weights.hidden, weights.output)]
    first, lost = of_raw_inputs(matrices[0][0])
    matrices[0] = first, matrices[0][1] - lost
    output, bias = matrices.pop()
    if linear is not None:
        linear, lost = of_raw_inputs(linear)
        linear, bias = linear * standardizer.target_scale, bias - lost
    matrices.append((output * standardizer.target_scale, bias * standardizer.target_scale + standardizer.target_mean))
    *hidden, output = (np.concatenate(pair, axis=-2) for pair in matrices)
    return Weights(tuple(hidden), output, linear)


def tidy(states: Any, angles: tuple[int, ...]) -> Any:
    """The states with the columns that are angles brought back between -pi and pi."""
    if not angles:
        return states
    is_angle = np.isin(np.arange(states.shape[-1]), angles)
    namespace = states.__array_namespace__()
    return namespace.where(is_angle, wrap_angle(states), states)
