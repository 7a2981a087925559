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
LEAST_VARIANCE = 1e-30  # of a metric; less: nothing moved in its window


class Iterations(NamedTuple):
    """The inputs of a chunk, one leading entry an iteration."""

    number: Any  # of the iteration, which its randomness is made from
    num_leapfrogs: Any
    stage: Any  # 0: adapts the step size, 1: the metric too, 2: nothing
    is_window_end: Any


class Trace(NamedTuple):
    """What a chunk has to tell, one leading entry an iteration."""

    position: Any
    log_density: Any
    acceptance: Any
    is_divergent: Any


def schedule(num_warmup: int, num_samples: int, mean_leapfrogs: int, rng: np.random.Generator) -> Iterations:
    """All iterations of a chain: windows to adapt in, then draws; trajectories of random length: none resonates.

    The windows are Stan's, in proportion to the warm-up: 75, 25, 50, 100 and 50 iterations of 300.
    """
    from blackjax.adaptation.window_adaptation import build_schedule

    total = num_warmup + num_samples
    windows = np.zeros((0, 2), int)
    if num_warmup:
        first, window, last = num_warmup // 4, max(num_warmup // 12, 1), num_warmup // 6
        windows = np.asarray(build_schedule(num_warmup, first, last, window))
    windows = np.concatenate([windows, np.tile([2, 0], (num_samples, 1))]).astype(np.int32)
    lengths = rng.integers(1, 2 * mean_leapfrogs, total).astype(np.int32)
    return Iterations(np.arange(total, dtype=np.int32), lengths, windows[:, 0], windows[:, 1])


def _adaptation(target_acceptance: Any, first_metric: Any) -> tuple[Any, Any]:
    """Of the step size; of the metric, by the variances of positions over those of gradients."""
    from blackjax.adaptation.metric_recipes import lookup_recipe
    from blackjax.adaptation.step_size import dual_averaging_adaptation

    metric = lookup_recipe("fisher_diag").build_core(initial_inverse_mass_matrix=first_metric)
    return dual_averaging_adaptation(target_acceptance), metric


def start_state(position: np.ndarray, deviations: np.ndarray) -> tuple[Any, ...]:
    """The state of a chain before its first iteration: where it is, its step size and metric, and how they adapt.

    Made on the host, so that nothing is compiled for it. The density and its gradient are not known there, and wherever
    the first trajectory ends is taken: so it stands still. One that moves may end where no chain finds back from.
    """
    from blackjax.mcmc.hmc import HMCState

    (start_step, _, _), metric = _adaptation(0.5, deviations**2)
    unknown = HMCState(position, -np.inf, 0 * position)
    state = (unknown, start_step(np.float32(FIRST_STEP_SIZE)), metric.init(len(position)))
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
    (_, update_step, last_step), adapting = _adaptation(target_acceptance, None)
    key = jax.random.wrap_key_data(key_data)
    log_density = partial(coordinates.log_density, table=table)

    def renewed(metric):
        before, metric = metric.inverse_mass_matrix, adapting.final(metric)
        found = metric.inverse_mass_matrix
        return metric._replace(inverse_mass_matrix=jnp.where(found > LEAST_VARIANCE, found, before))

    def body(index, carry):
        (chain, step, metric), trace = carry
        at = jax.tree.map(lambda leaf: leaf[index], iterations)
        step_size: Any = jnp.where(at.stage == 2, last_step(step), jnp.exp(step.log_step_size))
        is_first = at.number == 0
        step_size = jnp.where(is_first, STANDSTILL, step_size)
        own_key = jax.random.fold_in(key, at.number)
        chain, info = kernel(own_key, chain, log_density, step_size, metric.inverse_mass_matrix, at.num_leapfrogs)
        step = _where((at.stage < 2) & ~is_first, update_step(step, info.acceptance_rate), step)
        metric = _where(at.stage == 1, adapting.update(metric, chain.position, chain.logdensity_grad), metric)
        metric = jax.lax.cond(at.is_window_end == 1, renewed, lambda same: same, metric)
        told = Trace(chain.position, chain.logdensity, info.acceptance_rate, info.is_divergent)
        trace = jax.tree.map(lambda all_, one: all_.at[index].set(one), trace, told)
        return (chain, step, metric), trace

    num = iterations.number.shape[0]
    empty = Trace(jnp.zeros((num, state[0].position.shape[0])), jnp.zeros(num), jnp.zeros(num), jnp.zeros(num, bool))
    return jax.lax.fori_loop(0, num_iterations, body, (state, empty))


def _where(condition: Any, yes: Any, no: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)
