"""Acrobot in raw angles: swing the tip of a two-link pendulum, driven at its second joint, above the first link."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from pritchel.estimators.dynamics_draws import wrap_angle
from pritchel.experiments.rl.domain import Action, Outcome, State

TIME_STEP, GRAVITY, CENTRE, INERTIA = 0.2, 9.8, 0.5, 1.0
MAX_SPEEDS = (4 * jnp.pi, 9 * jnp.pi)
START_HALF_WIDTH = 0.1
GOAL_REWARD, HEIGHT_COST = 10.0, 0.05


class Acrobot(NamedTuple):
    """One instance: lengths and masses of the links. The centres of mass stay at 0.5 whatever the lengths."""

    length1: float = 1.0
    length2: float = 1.0
    mass1: float = 1.0
    mass2: float = 1.0

    num_features = 4
    num_actions = 3
    horizon = 400
    angles = (0, 1)
    bounds = (jnp.pi, jnp.pi, *MAX_SPEEDS)

    def reset(self, key: Any) -> State:
        """Hanging down, nearly at rest."""
        return jr.uniform(key, (4,), minval=-START_HALF_WIDTH, maxval=START_HALF_WIDTH)

    def propose(self, state: State, action: Action) -> State:
        """The state 0.2 s later under a constant torque of -1, 0 or 1: one classical Runge-Kutta step."""
        torque = jnp.asarray((-1.0, 0.0, 1.0))[action]
        k1 = self._derivative(state, torque)
        k2 = self._derivative(state + TIME_STEP / 2 * k1, torque)
        k3 = self._derivative(state + TIME_STEP / 2 * k2, torque)
        k4 = self._derivative(state + TIME_STEP * k3, torque)
        return self.tidy(state + TIME_STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4))

    def judge(self, state: State, proposed: State) -> Outcome:
        """The proposed state with angles wrapped and speeds clipped; 10 and the end where the tip is high enough."""
        settled = self.tidy(proposed)
        height = self.tip_height(settled)
        is_done = height >= self.length1
        cost = HEIGHT_COST * (height - self.length1) ** 2
        return Outcome(settled, jnp.where(is_done, GOAL_REWARD, -cost), is_done)

    def tip_height(self, state: State) -> Float[Array, ""]:
        """Height of the tip above the fixed joint."""
        return -self.length1 * jnp.cos(state[0]) - self.length2 * jnp.cos(state[0] + state[1])

    def tidy(self, state: State) -> State:
        """The state with angles wrapped and speeds clipped."""
        limits = jnp.asarray(MAX_SPEEDS)
        return jnp.concatenate([wrap_angle(state[:2]), jnp.clip(state[2:], -limits, limits)])

    def _derivative(self, state: State, torque: Float[Array, ""]) -> State:
        t1, t2, w1, w2 = state
        l1, m1, m2 = self.length1, self.mass1, self.mass2
        d1 = m1 * CENTRE**2 + m2 * (l1**2 + CENTRE**2 + 2 * l1 * CENTRE * jnp.cos(t2)) + 2 * INERTIA
        d2 = m2 * (CENTRE**2 + l1 * CENTRE * jnp.cos(t2)) + INERTIA
        swing = m2 * l1 * CENTRE * jnp.sin(t2)
        phi2 = m2 * CENTRE * GRAVITY * jnp.sin(t1 + t2)
        phi1 = -swing * (w2**2 + 2 * w1 * w2) + (m1 * CENTRE + m2 * l1) * GRAVITY * jnp.sin(t1) + phi2
        a2 = (torque + d2 / d1 * phi1 - swing * w1**2 - phi2) / (m2 * CENTRE**2 + INERTIA - d2**2 / d1)
        a1 = -(d2 * a2 + phi1) / d1
        return jnp.stack([w1, w2, a1, a2])


def hand_policy(domain: Acrobot, state: State) -> Action:
    """A torque that pumps energy in: the sign of the difference of the two angular speeds."""
    del domain
    return 1 + jnp.sign(state[3] - state[2]).astype(int)
