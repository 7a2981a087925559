"""Imagined against true trajectories: the same actions in a learned world and in the true one."""

from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from pritchel.experiments.rl import acrobot, map2d
from pritchel.experiments.rl.acrobot import Acrobot
from pritchel.experiments.rl.domain import State, true_step
from pritchel.experiments.rl.map2d import Map2D
from pritchel.experiments.rl.world import Place, World
from pritchel.programs import compiled

NUM_STARTS, NUM_DRAWS, MAX_STEPS = 2, 30, 60


def hand_policy(domain: Acrobot | Map2D, state: State) -> Any:
    """The domain's hand-written policy."""
    return acrobot.hand_policy(domain, state) if isinstance(domain, Acrobot) else map2d.hand_policy(domain, state)


@compiled(static_argnames=("domain", "num_steps"))
def _true_path(domain: Any, state: State, num_steps: int) -> Any:
    def one(state, _):
        action = hand_policy(domain, state)
        outcome = true_step(domain, state, action)
        return outcome.state, (outcome.state, action, outcome.is_done)

    return jax.lax.scan(one, state, None, num_steps)[1]


@compiled()
def _imagined_path(world: World, place: Place, actions: Any) -> Any:
    def one(state, action):
        after = world.step(Place(state, place.draw), action).state
        return after, after

    return jax.lax.scan(one, place.state, actions)[1]


def imagine(world: World, key: Any) -> list[dict[str, Any]]:
    """For a few start states: the true path under the hand-written policy, and what some draws make of its actions."""
    domain = world.domain
    pictures = []
    for start_key in jr.split(key, NUM_STARTS):
        start = domain.reset(start_key)
        states, actions, is_done = (np.asarray(part) for part in _true_path(domain, start, MAX_STEPS))
        length = int(np.argmax(is_done)) + 1 if is_done.any() else MAX_STEPS
        draws = jnp.arange(min(NUM_DRAWS, world.dynamics.num_draws if world.dynamics is not None else 1))
        places = Place(jnp.broadcast_to(start, (len(draws), domain.num_features)), draws)
        imagined = jax.vmap(_imagined_path, in_axes=(None, 0, None))(world, places, jnp.asarray(actions[:length]))
        pictures.append(
            {
                "true": np.round(np.vstack([start, states[:length]]).astype(float), 3).tolist(),
                "imagined": np.round(np.asarray(imagined, float), 3).tolist(),
            }
        )
    return pictures
