"""A double DQN that acts, remembers and learns inside one compiled program."""

from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int

from pritchel.experiments.rl.world import Place, World, pick
from pritchel.programs import compiled

Network = tuple[tuple[Any, Any], ...]  # a matrix and a bias a layer


class DqnSettings(NamedTuple):
    """How to learn. A round is one step in each of `num_envs` roll-outs, then `num_updates` minibatches.

    Learning ends after `num_episodes` or `max_steps`, whichever comes first; a snapshot is kept every
    `snapshot_episodes`. The chance of a random action is `decay` to the power of the finished episodes, down to
    `min_epsilon`.
    """

    hidden: tuple[int, ...] = (256, 512)
    num_episodes: int = 500
    max_steps: int = 40_000
    warmup_steps: int = 100
    decay: float = 0.99
    min_epsilon: float = 0.15
    snapshot_episodes: int = 20
    num_envs: int = 10
    num_updates: int = 5
    batch_size: int = 64
    memory: int = 20_000
    learning_rate: float = 5e-4
    is_annealed: bool = False  # let the rate fall in a straight line, to zero at the end
    adam_epsilon: float = 0.01
    clip_norm: float = 2.5  # of each matrix's and bias's gradient
    target_rate: float = 0.005
    discount: float = 0.99

    @property
    def num_snapshots(self) -> int:
        """Snapshots of a run that is not cut short by `max_steps`."""
        return -(-self.num_episodes // self.snapshot_episodes)

    @property
    def max_rows(self) -> int:
        """Room for every transition of a run."""
        return -(-self.max_steps // self.num_envs) * self.num_envs


class Learning(NamedTuple):
    """A run's outcome; the leading axis is that of the snapshots. Rows past `num_steps` of `transitions` are zero."""

    networks: Network
    steps: Int[Array, " snapshots"]
    episodes: Int[Array, " snapshots"]
    returns: Float[Array, " snapshots"]  # mean over the episodes since the snapshot before; of the world learned in
    successes: Float[Array, " snapshots"]  # share of those episodes that ended in a terminal state
    transitions: Float[Array, "steps columns"]  # state, action, reward, whether it ended, next state
    num_steps: Int[Array, ""]


class _Adam(NamedTuple):
    mu: Network
    nu: Network
    count: Any


class _Tally(NamedTuple):
    """Of the episodes since the last snapshot."""

    episodes: Any
    returns: Any
    successes: Any


class _Run(NamedTuple):
    network: Network
    target: Network
    adam: _Adam
    memory: Any
    num_steps: Any
    places: Place
    elapsed: Any
    returns: Any
    num_episodes: Any
    num_warmup_episodes: Any
    tally: _Tally
    key: Any


def start_network(sizes: tuple[int, ...], key: Any) -> Network:
    """He's start: normal matrices of variance 2 / fan-in, zero biases."""
    shapes = list(pairwise(sizes))
    ends = np.cumsum([fan_in * units for fan_in, units in shapes])
    parts = jnp.split(jr.normal(key, (int(ends[-1]),)), ends[:-1])
    pairs = zip(parts, shapes, strict=True)
    return tuple((part.reshape(shape) * np.sqrt(2 / shape[0]), jnp.zeros(shape[1])) for part, shape in pairs)


def values(network: Network, states: Float[Array, "*batch features"]) -> Float[Array, "*batch actions"]:
    """Q of every action."""
    for matrix, bias in network[:-1]:
        states = jax.nn.relu(states @ matrix + bias)
    matrix, bias = network[-1]
    return states @ matrix + bias


def choose(network: Network, states: Any, epsilon: Any, key: Any) -> Any:
    """Greedy actions, but random ones with probability epsilon."""
    greedy = values(network, states).argmax(-1)
    chances = jr.uniform(key, (2, *greedy.shape))
    return jnp.where(chances[0] < epsilon, pick(chances[1], network[-1][1].shape[-1]), greedy)


class _Batch(NamedTuple):
    """Transitions, and what the target network thinks of every action in their next states."""

    state: Any
    action: Any
    reward: Any
    is_done: Any
    after: Any
    future: Any


def _td_loss(network: Network, batch: _Batch, discount: float) -> Any:
    """Half the mean squared error against r + discount x Q_target(s', argmax Q(s', .)), or r alone at the end."""
    best = values(jax.lax.stop_gradient(network), batch.after).argmax(-1)
    wanted = batch.reward + discount * (1 - batch.is_done) * jnp.take_along_axis(batch.future, best[:, None], -1)
    held = jnp.take_along_axis(values(network, batch.state), batch.action.astype(int), -1)
    return 0.5 * jnp.mean((wanted - held) ** 2)


def _adam_step(
    settings: DqnSettings, network: Network, adam: _Adam, grads: Network, rate: Any
) -> tuple[Network, _Adam]:
    def clip(grad):
        return grad * jnp.minimum(1.0, settings.clip_norm / jnp.maximum(jnp.linalg.norm(grad), 1e-12))

    grads = jax.tree.map(clip, grads)
    count = adam.count + 1
    mu = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, adam.mu, grads)
    nu = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, adam.nu, grads)
    first, second = 1 / (1 - 0.9**count), 1 / (1 - 0.999**count)

    def move(value, m, v):
        return value - rate * (m * first) / (jnp.sqrt(v * second) + settings.adam_epsilon)

    return jax.tree.map(move, network, mu, nu), _Adam(mu, nu, count)


def _act(world: World, settings: DqnSettings, run: _Run, epsilon: Any) -> _Run:
    """One step in every roll-out; what happened is written to memory, finished roll-outs begin anew."""
    key, choice_key, reset_key = jr.split(run.key, 3)
    actions = choose(run.network, run.places.state, epsilon, choice_key)
    outcome = jax.vmap(world.step)(run.places, actions)
    columns = (actions, outcome.reward, outcome.is_done)
    rows = jnp.concatenate(
        [run.places.state, *(c[:, None].astype(outcome.state.dtype) for c in columns), outcome.state], axis=1
    )
    memory = jax.lax.dynamic_update_slice(run.memory, rows, (run.num_steps, 0))
    elapsed, returns = run.elapsed + 1, run.returns + outcome.reward
    is_over = outcome.is_done | (elapsed >= world.domain.horizon)
    fresh = jax.vmap(world.reset)(jr.split(reset_key, settings.num_envs))
    places = Place(
        jnp.where(is_over[:, None], fresh.state, outcome.state), jnp.where(is_over, fresh.draw, run.places.draw)
    )
    num_over = is_over.sum()
    tally = _Tally(
        run.tally.episodes + num_over,
        run.tally.returns + jnp.where(is_over, returns, 0).sum(),
        run.tally.successes + outcome.is_done.sum(),
    )
    return run._replace(
        memory=memory,
        num_steps=run.num_steps + settings.num_envs,
        places=places,
        elapsed=jnp.where(is_over, 0, elapsed),
        returns=jnp.where(is_over, 0, returns),
        num_episodes=run.num_episodes + num_over,
        tally=tally,
        key=key,
    )


def _learn(world: World, settings: DqnSettings, run: _Run, is_warm: Any) -> _Run:
    """A few minibatches from the latest memories, then a small step of the target network; none until warm."""
    key, batch_key = jr.split(run.key)
    chances = jr.uniform(batch_key, (settings.num_updates, settings.batch_size))
    back = pick(chances, jnp.minimum(run.num_steps, settings.memory))
    rows = run.memory[run.num_steps - 1 - back]
    columns = jnp.split(rows, np.cumsum([world.domain.num_features, 1, 1, 1]), -1)
    batches = _Batch(*columns, future=values(run.target, columns[-1]))

    learning_rate = settings.learning_rate * is_warm
    if settings.is_annealed:
        played = jnp.maximum(run.num_steps / settings.max_rows, run.num_episodes / settings.num_episodes)
        learning_rate *= jnp.maximum(1 - played, 0)

    def update(carry, batch):
        network, adam = carry
        grads = jax.grad(_td_loss)(network, batch, settings.discount)
        return _adam_step(settings, network, adam, grads, learning_rate), None

    (network, adam), _ = jax.lax.scan(update, (run.network, run.adam), batches)
    rate = settings.target_rate
    target = jax.tree.map(lambda old, new: old + rate * (new - old), run.target, network)
    return run._replace(network=network, target=target, adam=adam, key=key)


# Matrices this small are multiplied faster by one core; the other one takes another trial.
ONE_CORE = {"xla_cpu_multi_thread_eigen": False}


@compiled(static_argnames=("settings",), compiler_options=ONE_CORE)
def learn(world: World, settings: DqnSettings, key: Any) -> Learning:
    """A policy learned in a world, and everything that happened on the way."""
    network_key, reset_key, run_key = jr.split(key, 3)
    features, dtype = world.domain.num_features, world.starts.dtype
    network = start_network((features, *settings.hidden, world.domain.num_actions), network_key)
    zeros = jax.tree.map(jnp.zeros_like, network)
    none = jnp.zeros(settings.num_envs, dtype)
    run = _Run(
        network=network,
        target=network,
        adam=_Adam(zeros, zeros, 0),
        memory=jnp.zeros((settings.max_rows, 2 * features + 3), dtype),
        num_steps=0,
        places=jax.vmap(world.reset)(jr.split(reset_key, settings.num_envs)),
        elapsed=jnp.zeros(settings.num_envs, int),
        returns=none,
        num_episodes=0,
        num_warmup_episodes=0,
        tally=_Tally(0, jnp.zeros((), dtype), 0),
        key=run_key,
    )
    run = jax.tree.map(jnp.asarray, run)

    def a_round(run: _Run) -> _Run:
        is_warm = run.num_steps >= settings.warmup_steps
        played = jnp.where(is_warm, run.num_episodes - run.num_warmup_episodes, 0).astype(dtype)
        epsilon = jnp.where(is_warm, jnp.maximum(settings.min_epsilon, settings.decay**played), 1.0)
        run = _learn(world, settings, _act(world, settings, run, epsilon), is_warm)
        return run._replace(num_warmup_episodes=jnp.where(is_warm, run.num_warmup_episodes, run.num_episodes))

    def segment(run: _Run, last_episode: Any):
        def is_going_on(run: _Run):
            is_enough = run.num_episodes >= jnp.minimum(last_episode, settings.num_episodes)
            return ~is_enough & (run.num_steps + settings.num_envs <= settings.max_rows)

        run = jax.lax.while_loop(is_going_on, a_round, run)
        count = jnp.maximum(run.tally.episodes, 1)
        successes = (run.tally.successes / count).astype(dtype)
        summary = (run.network, run.num_steps, run.num_episodes, run.tally.returns / count, successes)
        return run._replace(tally=jax.tree.map(jnp.zeros_like, run.tally)), summary

    ends = settings.snapshot_episodes * (1 + jnp.arange(settings.num_snapshots))
    run, summaries = jax.lax.scan(segment, run, ends)
    return Learning(*summaries, transitions=run.memory, num_steps=run.num_steps)
