"""Worlds to learn in: the true domain, or its rules over learned dynamics with one weight draw an episode."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int

from pritchel.estimators.dynamics_draws import Dynamics, step
from pritchel.experiments.rl.domain import Action, Domain, Outcome, State
from pritchel.tree import Tree, static


def pick(chance: Any, count: Any) -> Any:
    """An index below `count` for a number between 0 and 1; compiles in a quarter of the time of `randint`."""
    return jnp.minimum((chance * count).astype(int), count - 1)


class Place(NamedTuple):
    """Where an episode is, and which weight draw it lives in."""

    state: State
    draw: Int[Array, ""]


class World(Tree):
    """A domain's rules over true dynamics (`dynamics` is None) or learned ones (weight draws on a leading axis).

    An episode begins in one of `starts` with probability `start_share`, else where the domain's episodes do.
    """

    domain: Domain = static()
    dynamics: Dynamics | None
    starts: Float[Array, "starts features"]
    start_share: Float[Array, ""]

    def reset(self, key: Any) -> Place:
        """The place a new episode begins at, with a weight draw of its own."""
        chance_key, domain_key = jr.split(key)
        chances = jr.uniform(chance_key, (3,))
        seen = self.starts[pick(chances[0], len(self.starts))]
        state = jnp.where(chances[1] < self.start_share, seen, self.domain.reset(domain_key))
        return Place(state, pick(chances[2], 1 if self.dynamics is None else self.dynamics.num_draws))

    def step(self, place: Place, action: Action) -> Outcome:
        """What an action brings; the weight draw stays the same for the whole episode."""
        if self.dynamics is None:
            proposed = self.domain.propose(place.state, action)
        else:
            draw = jax.tree.map(lambda leaf: leaf[place.draw], self.dynamics)
            proposed = step(draw, place.state, action)
        return self.domain.judge(place.state, proposed)


def true_world(domain: Domain, starts: Any = None, start_share: float = 0.0) -> World:
    """The domain itself."""
    states = jnp.zeros((1, domain.num_features)) if starts is None else jnp.asarray(starts, float)
    return World(domain, None, states, jnp.asarray(start_share, float))
