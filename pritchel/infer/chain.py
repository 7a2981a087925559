"""The compiled part of sampling: Hamiltonian Monte Carlo with its adaptation, some iterations a call, by blackjax."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pritchel.infer.coordinates import Coordinates
from pritchel.infer.row_blocks import Columns
from pritchel.lazy import jax, jnp
from pritchel.programs import compiled

FIRST_STEP_SIZE = 0.02  # in deviations of the guide; adaptation takes it from there
STANDSTILL = 1e-9  # the step size of an iteration that only finds out what the density is
METRIC_MEMORY = 10.0  # iterations that the metric so far counts for when a window renews it


class Iterations(NamedTuple):
    """The inputs of a chunk, one leading entry an iteration."""

    number: Any  # of the iteration, which its randomness is made from
    num_leapfrogs: Any
    stage: Any  # 0: adapts the step size, 1: the metric too, 2: nothing
    is_window_end: Any
    is_early: Any  # whether the likelihood counts as it does at first
    is_changed: Any  # whether it did so in the iteration before, whose density is then of no use


class Trace(NamedTuple):
    """What a chunk has to tell, one leading entry an iteration."""

    position: Any
    log_density: Any
    acceptance: Any
    is_divergent: Any


def schedule(
    num_early: int, num_warmup: int, num_samples: int, mean_leapfrogs: int, rng: np.random.Generator
) -> Iterations:
    """All iterations of a chain: Stan's windows, then draws; trajectories of random length, so that none resonates.

    The likelihood comes in full after `num_early` of them.
    """
    from blackjax.adaptation.window_adaptation import build_schedule

    total = num_warmup + num_samples
    windows = np.asarray(build_schedule(num_warmup)) if num_warmup else np.zeros((0, 2), int)
    windows = np.concatenate([windows, np.tile([2, 0], (num_samples, 1))]).astype(np.int32)
    lengths = rng.integers(1, 2 * mean_leapfrogs, total).astype(np.int32)
    number = np.arange(total, dtype=np.int32)
    is_changed = (number == num_early) & (number > 0)
    return Iterations(number, lengths, windows[:, 0], windows[:, 1], number < num_early, is_changed)


def _adaptation(target_acceptance: Any) -> tuple[Any, Any]:
    from blackjax.adaptation.mass_matrix import mass_matrix_adaptation
    from blackjax.adaptation.step_size import dual_averaging_adaptation

    return dual_averaging_adaptation(target_acceptance), mass_matrix_adaptation(True, METRIC_MEMORY)


def start_state(position: np.ndarray, deviations: np.ndarray) -> tuple[Any, ...]:
    """The state of a chain before its first iteration: where it is, its step size and metric, and how they adapt.

    Made on the host, so that nothing is compiled for it. The density and its gradient are not known there: with none,
    the first trajectory sets out straight along its momentum, and wherever it ends is taken.
    """
    (start_step, _, _), (start_metric, _, _) = _adaptation(0.5)
    state = (_unknown(position), start_step(np.float32(FIRST_STEP_SIZE)), start_metric(len(position), deviations**2))
    return jax.tree.map(lambda leaf: np.asarray(leaf, np.int32 if isinstance(leaf, int) else np.float32), state)


@compiled()
def run_chunk(
    state: tuple[Any, ...],
    coordinates: Coordinates,
    table: Columns,
    iterations: Iterations,
    num_iterations: Any,
    key_data: Any,
    target_acceptance: Any,
) -> tuple[tuple[Any, ...], Trace]:
    """Up to a chunk of iterations."""
    from blackjax.mcmc import hmc

    kernel = hmc.build_kernel()
    (start_step, update_step, last_step), (_, update_metric, end_window) = _adaptation(target_acceptance)
    key = jax.random.wrap_key_data(key_data)

    def renew(adapting):
        step, metric = adapting
        return start_step(last_step(step)), end_window(metric)

    def body(index, carry):
        (chain, step, metric), trace = carry
        at = jax.tree.map(lambda leaf: leaf[index], iterations)
        step_size: Any = jnp.where(at.stage == 2, last_step(step), jnp.exp(step.log_step_size))
        step_size = jnp.where(at.is_changed, STANDSTILL, step_size)
        chain = _where(at.is_changed, _unknown(chain.position), chain)
        log_density = partial(_log_density, coordinates, table, at.is_early)
        own_key = jax.random.fold_in(key, at.number)
        chain, info = kernel(own_key, chain, log_density, step_size, metric.inverse_mass_matrix, at.num_leapfrogs)
        step = _where((at.stage < 2) & ~at.is_changed, update_step(step, info.acceptance_rate), step)
        metric = _where(at.stage == 1, update_metric(metric, chain.position), metric)
        step, metric = jax.lax.cond(at.is_window_end == 1, renew, lambda same: same, (step, metric))
        told = Trace(chain.position, chain.logdensity, info.acceptance_rate, info.is_divergent)
        trace = jax.tree.map(lambda all_, one: all_.at[index].set(one), trace, told)
        return (chain, step, metric), trace

    num = iterations.number.shape[0]
    empty = Trace(jnp.zeros((num, state[0].position.shape[0])), jnp.zeros(num), jnp.zeros(num), jnp.zeros(num, bool))
    return jax.lax.fori_loop(0, num_iterations, body, (state, empty))


def _unknown(position: Any) -> Any:
    """A chain that knows where it is, and not how likely that is; wherever it gets to next is taken."""
    from blackjax.mcmc.hmc import HMCState

    return HMCState(position, -np.inf, 0 * position)


def _log_density(coordinates: Coordinates, table: Columns, is_early: Any, position: Any) -> Any:
    return coordinates.log_density(position, table, is_early)


def _where(condition: Any, yes: Any, no: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)
