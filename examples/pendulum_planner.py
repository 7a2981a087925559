"""Swing up gymnasium's pendulum with a learned model: a few random episodes, a fit, then planning in its draws.

Every plan is tried in several draws of the dynamics, each a world of its own, and the one that is best on average is
begun; after each real step the search goes on from there. After each episode the model is fitted anew to all that was
seen. Takes about a minute.

    pip install 'pritchel[rl]' && python examples/pendulum_planner.py
"""

import time

import gymnasium
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from pritchel import DynamicsModel, HorseshoeRegressor, Training
from pritchel.estimators.dynamics_draws import Dynamics, step

LENGTH, HORIZON, NUM_PLANS, NUM_ELITE, NUM_SWEEPS, NUM_DRAWS = 200, 20, 200, 20, 3, 4


def cost(state, torque):
    """The pendulum's own cost: its angle from upright, its speed and the torque, squared."""
    angle = jnp.arctan2(state[1], state[0])
    return angle**2 + 0.1 * state[2] ** 2 + 0.001 * torque[0] ** 2


def plan_cost(draw: Dynamics, state, plan):
    """Cost of a plan in one draw of the dynamics."""

    def one(state, torque):
        after = jnp.clip(step(draw, state, torque), jnp.asarray((-1.0, -1, -8)), jnp.asarray((1.0, 1, 8)))
        return after, cost(state, torque)

    return jax.lax.scan(one, state, plan)[1].sum()


@jax.jit
def search(draws: Dynamics, state, mean, key):
    """Cross-entropy method: sample plans, keep the best on average over draws, sample around those."""
    over_draws = jax.vmap(plan_cost, in_axes=(0, None, None))
    over_plans = jax.vmap(over_draws, in_axes=(None, None, 0))

    def sweep(carry, key):
        mean, spread = carry
        plans = jnp.clip(mean + spread * jr.normal(key, (NUM_PLANS, HORIZON, 1)), -2, 2)
        best = plans[jnp.argsort(over_plans(draws, state, plans).mean(1))[:NUM_ELITE]]
        return (best.mean(0), best.std(0) + 0.05), None

    (mean, _), _ = jax.lax.scan(sweep, (mean, jnp.full_like(mean, 1.5)), jr.split(key, NUM_SWEEPS))
    return mean


def episode(env, act, seed):
    """Return of an episode, and its transitions."""
    state, _ = env.reset(seed=seed)
    rows, total = [], 0.0
    for _ in range(LENGTH):
        action = act(state)
        after, reward, *_ = env.step(action)
        rows.append((state, action, after))
        state, total = after, total + float(reward)
    return total, rows


def planner(model: DynamicsModel, seed: int):
    """A policy that searches before every step; the plan of the step before is where it starts."""
    draws, key = model.draw(NUM_DRAWS, seed), jr.key(seed)
    mean = jnp.zeros((HORIZON, 1))

    def act(state):
        nonlocal mean, key
        key, search_key = jr.split(key)
        mean = search(draws, jnp.asarray(state), mean, search_key)
        action, mean = np.asarray(mean[0]), jnp.concatenate([mean[1:], jnp.zeros((1, 1))])
        return action

    return act


def main(num_rounds: int = 3) -> list[float]:
    """Returns of the random episodes' mean and of each planned one."""
    start = time.perf_counter()
    env = gymnasium.make("Pendulum-v1").unwrapped
    rng = np.random.default_rng(0)
    random = [episode(env, lambda state: rng.uniform(-2, 2, 1).astype(np.float32), seed) for seed in range(2)]
    rows = [row for _, episode_rows in random for row in episode_rows]
    returns = [float(np.mean([total for total, _ in random]))]
    print(f"random: return {returns[0]:.0f}, {len(rows)} transitions")
    network = HorseshoeRegressor(
        hidden=(50,), num_members=2, likelihood="gaussian", training=Training(num_steps=3000), random_state=0
    )
    for number in range(num_rounds):
        states, actions, after = map(np.asarray, zip(*rows, strict=True))
        model = DynamicsModel(estimator=network.set_params(progress=False)).fit(states, actions, after)
        total, new = episode(env, planner(model, number), 100 + number)
        returns.append(total)
        rows += new
        height = np.mean([row[2][0] for row in new[-50:]])
        print(
            f"planned, round {number + 1}: return {total:.0f}, upright at the end: {height:.2f} of 1, "
            f"{len(rows)} transitions, {time.perf_counter() - start:.0f} s"
        )
    return returns


if __name__ == "__main__":
    main()
