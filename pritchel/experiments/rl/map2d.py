"""The 2D map: walk from the lower left into the upper right quarter, against a drift and around a wall."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import jax.random as jr

from pritchel.experiments.rl.domain import Action, Outcome, State

STEP_LENGTH, EDGE = 0.3, 2.0
START, START_HALF_WIDTH = -1.5, 0.25
GOAL_REWARD, STEP_REWARD, ILLEGAL_REWARD = 1000.0, -0.1, -5.0
MOVES = ((-1.0, 0.0), (0.0, 1.0), (1.0, 0.0), (0.0, -1.0))


class Map2D(NamedTuple):
    """One instance: its class (1 or 2) and the strength of its drift.

    Class 1 moves as told, drifts west and is walled off at the goal's lower side; class 2 moves the opposite way,
    drifts south and is walled off at the goal's left side. It is class 1 with the axes swapped and actions renumbered.
    """

    kind: int = 1
    drift: float = 0.1

    num_features = 2
    num_actions = 4
    horizon = 100
    angles = ()
    bounds = (EDGE, EDGE)

    def reset(self, key: Any) -> State:
        """A start state, uniform on a small square in the lower left."""
        return START + START_HALF_WIDTH * jr.uniform(key, (2,), minval=-1.0, maxval=1.0)

    def propose(self, state: State, action: Action) -> State:
        """The point a move and the drift at the present point lead to; there is no noise."""
        distance = jnp.linalg.norm(state - START)
        sign, drift_way = (1.0, (1.0, 0.0)) if self.kind == 1 else (-1.0, (0.0, 1.0))
        move = sign * jnp.asarray(MOVES)[action] - self.drift * distance * jnp.asarray(drift_way)
        return state + STEP_LENGTH * move

    def judge(self, state: State, proposed: State) -> Outcome:
        """The point itself if the move is legal, else the one before; 1000 at the goal, where the episode ends."""
        walled = 1 if self.kind == 1 else 0
        is_goal, was_goal = (proposed > 0).all(), (state > 0).all()
        through_wall = (~was_goal & is_goal & (state[walled] <= 0)) | (was_goal & (proposed[walled] <= 0))
        is_legal = (jnp.abs(proposed) <= EDGE).all() & ~through_wall
        reward = jnp.where(is_legal, jnp.where(is_goal, GOAL_REWARD, STEP_REWARD), ILLEGAL_REWARD)
        return Outcome(jnp.where(is_legal, proposed, state), reward, is_legal & is_goal)


def hand_policy(domain: Map2D, state: State) -> Action:
    """A near-optimal action: up along the start region's east side, then straight into the goal."""
    first, second = (state[0], state[1]) if domain.kind == 1 else (state[1], state[0])
    into, along = (2, 1) if domain.kind == 1 else (3, 0)
    return jnp.where((second > 0) | (first < START), into, along)
