"""The test of a policy on the true domain, many episodes side by side."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int

from pritchel.experiments.rl.domain import true_step
from pritchel.experiments.rl.dqn import ONE_CORE, Network, choose
from pritchel.programs import compiled


class Episodes(NamedTuple):
    """Episodes of the true domain under a fixed policy, one entry each."""

    returns: Float[Array, " episodes"]
    lengths: Int[Array, " episodes"]
    is_success: Any


@compiled(static_argnames=("domain", "num_episodes"), compiler_options=ONE_CORE)
def evaluate(domain: Any, network: Network, epsilon: Any, key: Any, *, num_episodes: int) -> Episodes:
    """Undiscounted returns on the true domain, epsilon-greedy; all episodes side by side until the last has ended."""
    reset_key, run_key = jr.split(key)
    states = jax.vmap(domain.reset)(jr.split(reset_key, num_episodes))

    def is_going_on(carry):
        time, _, over, *_ = carry
        return (time < domain.horizon) & ~over.all()

    def one(carry):
        time, states, over, returns, lengths, is_success = carry
        actions = choose(network, states, epsilon, jr.fold_in(run_key, time))
        outcome = jax.vmap(partial(true_step, domain))(states, actions)
        returns = returns + jnp.where(over, 0, outcome.reward)
        is_success = is_success | (~over & outcome.is_done)
        states = jnp.where(over[:, None], states, outcome.state)
        return time + 1, states, over | outcome.is_done, returns, lengths + ~over, is_success

    no = jnp.zeros(num_episodes, bool)
    start = (0, states, no, jnp.zeros(num_episodes, states.dtype), jnp.zeros(num_episodes, int), no)
    _, _, _, returns, lengths, is_success = jax.lax.while_loop(is_going_on, one, start)
    return Episodes(returns, lengths, is_success)
