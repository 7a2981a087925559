"""The training loop: one compiled function over chunks of steps, for one trial or many."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from pritchel.compile_cache import use_compile_cache
from pritchel.data.dataset import Dataset
from pritchel.guide.network import NetworkGuide
from pritchel.infer.elbo import Batch, Elbo, elbo
from pritchel.infer.outputs import Objective, pass_noise_shapes
from pritchel.infer.shrink import Cut, DeadUnits, DropDead
from pritchel.model.network import Model

use_compile_cache()
Status = Literal["finished", "stopped early", "interrupted", "diverged"]
ADAM = optax.scale_by_adam()
MAX_CHUNK_STEPS = 250
MAX_CHUNK_FLOATS = 4_000_000


class FitSettings(NamedTuple):
    """How to train. `kl_warmup` is the part of the steps over which the KL weight climbs from `kl_start` to 1."""

    num_steps: int = 8000
    batch_size: int = 128
    learning_rate: float = 0.02
    schedule: Literal["cosine", "constant"] = "cosine"
    kl_warmup: float = 0.5
    kl_start: float = 0.03  # from 0, a fit with no sampling noise memorizes small tables before the prior is heard
    objective: Objective = "moments"
    patience: int | None = None  # chunks without a better held-out score before stopping; None: never
    drop_dead_units: DropDead = "auto"
    average: float = 0.0  # decay of a running average of the parameters that is then the fit; 0: the last step is


class Progress(NamedTuple):
    """What a progress callback is told after every chunk."""

    trial: int
    step: int
    num_steps: int
    elbo: float  # a row's share


class FitResult(NamedTuple):
    """A fitted guide (numpy leaves), the bound's parts at every step, and how the run ended."""

    guide: NetworkGuide
    kept: tuple[np.ndarray, ...]  # the units the guide still has, of those it began with
    history: Elbo
    status: Status
    num_skipped: int


class Trial(NamedTuple):
    """One fit: a model, a guide to start from, a table, a seed."""

    model: Model
    guide: NetworkGuide
    data: Dataset
    seed: int | Sequence[int]
    held_out: Dataset | None = None
    trainable: NetworkGuide | None = None  # factors on the updates; None: everything moves


class _State(NamedTuple):
    """All parameters in one vector: one optimizer update instead of one a leaf, and half the compile time."""

    params: Any
    optimizer: Any
    average: Any  # of the parameters; None: not kept
    num_skipped: Any


def _ravel(guide: NetworkGuide) -> np.ndarray:
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(guide)])


def _unravel(template: NetworkGuide, params: Any) -> NetworkGuide:
    """The guide of the template's shapes with the given parameters, numpy or JAX."""
    leaves, structure = jax.tree.flatten(template)
    sizes = [leaf.size for leaf in leaves]
    is_numpy = isinstance(params, np.ndarray)
    parts = np.split(params, np.cumsum(sizes)[:-1]) if is_numpy else jax.lax.split(params, sizes)
    return jax.tree.unflatten(structure, [part.reshape(leaf.shape) for part, leaf in zip(parts, leaves, strict=True)])


def _start_adam(params: np.ndarray) -> optax.ScaleByAdamState:
    """What `ADAM.init` gives, made on the host so that nothing is compiled for it."""
    return optax.ScaleByAdamState(np.zeros((), np.int32), np.zeros_like(params), np.zeros_like(params))  # pyright: ignore[reportArgumentType]


class _Steps(NamedTuple):
    """The inputs of a chunk, one leading entry a step."""

    batch: Batch
    noise: Any
    learning_rate: Any
    kl_weight: Any
    average_decay: Any


@partial(
    jax.jit,
    donate_argnames=("state",),
    static_argnames=("objective",),
    compiler_options={"xla_disable_hlo_passes": "tree_reduction_rewriter"},
)
def _run_chunk(
    state: _State,
    template: NetworkGuide,
    model: Model,
    steps: _Steps,
    trainable: Any,
    num_steps: Any,
    num_rows: Any,
    objective: Objective,
):
    """Up to a chunk of optimizer steps. A step whose gradient is not finite changes nothing and is counted."""

    def loss(params, step):
        parts = elbo(model, _unravel(template, params), step.batch, step.noise, num_rows, objective)
        prior_side = parts.weights + parts.scales + parts.noise
        return -(parts.likelihood + step.kl_weight * prior_side) / num_rows, parts

    def body(index, carry):
        state, history = carry
        step = jax.tree.map(lambda leaf: leaf[index], steps)
        grads, parts = jax.grad(loss, has_aux=True)(state.params, step)
        updates, optimizer = ADAM.update(grads, state.optimizer)
        params = state.params - step.learning_rate * trainable * updates
        average = None
        if state.average is not None:
            average = params + step.average_decay * (state.average - params)
        is_finite = jnp.isfinite(grads @ grads)
        kept = jax.tree.map(lambda new, old: jnp.where(is_finite, new, old), (params, optimizer, average), state[:3])
        history = jax.lax.dynamic_update_index_in_dim(history, jnp.stack(parts), index, 0)
        return _State(kept[0], kept[1], kept[2], state.num_skipped + ~is_finite), history

    empty = jnp.zeros((*steps.kl_weight.shape, len(Elbo._fields)))
    return jax.lax.fori_loop(0, num_steps, body, (state, empty))


@partial(jax.jit, static_argnames=("objective",))
def _held_out_score(model: Model, guide: NetworkGuide, batch: Batch, noise: Any, objective: Objective) -> Any:
    parts = elbo(model, guide, batch, noise, (batch.weights > 0).sum().astype(float), objective)
    return parts.likelihood / batch.weights.sum()


def _normals(rng: np.random.Generator, shapes: Any, num_steps: int, num_filled: int) -> Any:
    """Noise with a leading step axis, drawn step by step whatever the chunk; steps past `num_filled` are never run."""
    leaves, structure = jax.tree.flatten(shapes)
    ends = np.cumsum([leaf.size for leaf in leaves])
    flat = np.zeros((num_steps, ends[-1]), np.float32)
    rng.standard_normal(out=flat[:num_filled], dtype=np.float32)
    parts = [
        flat[:, end - leaf.size : end].reshape(num_steps, *leaf.shape) for leaf, end in zip(leaves, ends, strict=True)
    ]
    return jax.tree.unflatten(structure, parts)


class _Feed:
    """Batches, noise and schedules for a trial, made with numpy so that the compiled step draws nothing.

    The compiled function sees fixed shapes only: a table no larger than a batch is padded with rows of weight zero
    and used whole at every step; a larger one is read in shuffled passes that run on into each other.
    """

    def __init__(self, trial: Trial, settings: FitSettings):
        self.data, self.settings = trial.data, settings
        self.num_rows = len(trial.data.inputs)
        self.batch_rows = min(settings.batch_size, 1 << (self.num_rows - 1).bit_length())
        self.batch_rng, self.noise_rng = (np.random.default_rng(s) for s in np.random.SeedSequence(trial.seed).spawn(2))
        self.shapes = pass_noise_shapes(trial.guide, self.batch_rows, settings.objective)
        noise_floats = sum(leaf.size for leaf in jax.tree.leaves(self.shapes))
        floats = self.batch_rows * sum(part.shape[-1] for part in self.data[:2]) + noise_floats
        self.chunk_steps = int(np.clip(MAX_CHUNK_FLOATS // floats, 1, MAX_CHUNK_STEPS))
        self.order = np.empty(0, np.intp)

    def _rows(self, count: int) -> np.ndarray:
        while len(self.order) < count:
            self.order = np.concatenate([self.order, self.batch_rng.permutation(self.num_rows)])
        rows, self.order = self.order[:count], self.order[count:]
        return rows

    def chunk(self, start: int) -> tuple[_Steps, int]:
        """The inputs of the chunk that begins at step `start`, and how many of its steps are real."""
        settings, rows = self.settings, self.batch_rows
        num_filled = min(self.chunk_steps, settings.num_steps - start)
        index = np.zeros((self.chunk_steps, rows), np.intp)
        is_whole = self.num_rows <= rows
        if is_whole:
            index[:, : self.num_rows] = np.arange(self.num_rows)
        else:
            index[:num_filled] = self._rows(num_filled * rows).reshape(num_filled, rows)
        weights = self.data.weights[index]
        if is_whole:
            weights[:, self.num_rows :] = 0
        batch = Batch(self.data.inputs[index], self.data.targets[index], weights)
        step = start + np.arange(self.chunk_steps)
        progress = np.minimum(step / settings.num_steps, 1.0)
        rate = settings.learning_rate * (0.5 * (1 + np.cos(np.pi * progress)) if settings.schedule == "cosine" else 1.0)
        climbed = np.minimum(progress / settings.kl_warmup, 1.0) if settings.kl_warmup > 0 else np.ones_like(progress)
        kl_weights = np.maximum(climbed, settings.kl_start).astype(np.float32)
        noise = _normals(self.noise_rng, self.shapes, self.chunk_steps, num_filled)
        rates = np.broadcast_to(rate, step.shape).astype(np.float32)
        decay = np.full_like(rates, settings.average) if settings.average else None
        return _Steps(batch, noise, rates, kl_weights, decay), num_filled

    def with_noise_for(self, guide: NetworkGuide, chunk: tuple[_Steps, int]) -> tuple[_Steps, int]:
        """The chunk with fresh noise for a guide that has lost units, as all later ones will have."""
        steps, num_filled = chunk
        self.shapes = pass_noise_shapes(guide, self.batch_rows, self.settings.objective)
        return steps._replace(noise=_normals(self.noise_rng, self.shapes, self.chunk_steps, num_filled)), num_filled


class _HeldOut:
    """The early-stopping judge: keeps the guide with the best held-out likelihood once the KL weight has reached 1."""

    def __init__(self, trial: Trial, data: Dataset, settings: FitSettings, patience: int):
        rows = 1 << (len(data.inputs) - 1).bit_length()
        pad = [(0, rows - len(data.inputs)), (0, 0)]
        self.batch = Batch(np.pad(data.inputs, pad), np.pad(data.targets, pad), np.pad(data.weights, pad[0]))
        shapes = pass_noise_shapes(trial.guide, rows, settings.objective)
        self.noise = jax.tree.map(
            lambda leaf: leaf[0],
            _normals(np.random.default_rng(np.random.SeedSequence(trial.seed)), shapes, 1, 1),
        )
        self.model, self.objective, self.patience = trial.model, settings.objective, patience
        self.first_step = settings.kl_warmup * settings.num_steps
        self.best_score, self.best, self.num_worse = -np.inf, None, 0

    def should_stop(self, guide: NetworkGuide, kept: tuple[np.ndarray, ...], step: int) -> bool:
        """Score the guide; True once `patience` scores in a row brought nothing better."""
        if step < self.first_step:
            return False
        score = float(_held_out_score(self.model, guide, self.batch, self.noise, self.objective))
        if score > self.best_score:
            self.best_score, self.best, self.num_worse = score, (guide, kept), 0
        else:
            self.num_worse += 1
        return self.num_worse >= self.patience


def _apply_cut(
    cut: Cut, template: NetworkGuide, state: _State, trainable: np.ndarray
) -> tuple[NetworkGuide, _State, np.ndarray]:
    """The template, the optimizer's state and the factors on its updates, without the units that leave."""
    smaller = cut.apply(_unravel(template, np.array(state.params)))
    adam = state.optimizer
    mu, nu, trainable = (
        _ravel(cut.apply_to_updates(_unravel(template, np.asarray(values)))) for values in (adam.mu, adam.nu, trainable)
    )
    average = None
    if state.average is not None:
        average = _ravel(cut.apply(_unravel(template, np.array(state.average))))
    return smaller, _State(_ravel(smaller), adam._replace(mu=mu, nu=nu), average, state.num_skipped), trainable


def fit(
    trial: Trial,
    settings: FitSettings,
    *,
    trial_index: int = 0,
    num_fits: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
    stop: threading.Event | None = None,
) -> FitResult:
    """Fit one trial. Ctrl-C, or `stop`, ends it after the current chunk with what is fitted so far.

    `num_fits` says how many fits of this kind share what is compiled.
    """
    feed = _Feed(trial, settings)
    judge = None
    if trial.held_out is not None and settings.patience is not None:
        judge = _HeldOut(trial, trial.held_out, settings, settings.patience)
    template = jax.tree.map(np.asarray, trial.guide)
    params = _ravel(template)
    trainable = np.ones_like(params) if trial.trainable is None else _ravel(trial.trainable)
    units = DeadUnits(trial.guide, settings.drop_dead_units, float(feed.batch_rows * settings.num_steps * num_fits))
    average = params.copy() if settings.average else None
    state = _State(params, _start_adam(params), average, np.zeros((), np.int32))
    history: list[Elbo] = []
    status: Status = "finished"
    done, num_skipped = 0, 0
    try:
        upcoming = feed.chunk(0)
        while done < settings.num_steps:
            steps, num_filled = upcoming
            state, trace = _run_chunk(
                state,
                template,
                trial.model,
                steps,
                trainable,
                num_filled,
                float(feed.num_rows),
                settings.objective,
            )
            done += num_filled
            if done < settings.num_steps:
                upcoming = feed.chunk(done)  # made while the chunk above computes
            history.append(Elbo(*np.asarray(trace)[:num_filled].T))
            # A copy: the next chunk takes the buffers over, and an interrupt must not lose them.
            params = np.array(state.params if state.average is None else state.average)
            newly_skipped, num_skipped = int(state.num_skipped) - num_skipped, int(state.num_skipped)
            if on_progress is not None:
                latest = np.nanmean(history[-1].total) / feed.num_rows if newly_skipped < num_filled else np.nan
                on_progress(Progress(trial_index, done, settings.num_steps, float(latest)))
            if newly_skipped == num_filled:
                status = "diverged"
                break
            if judge is not None and judge.should_stop(_unravel(template, params), units.kept, done):
                status = "stopped early"
                break
            if stop is not None and stop.is_set() and done < settings.num_steps:
                status = "interrupted"
                break
            cut = units.look(_unravel(template, params), 1 - done / settings.num_steps)
            if cut is not None:
                template, state, trainable = _apply_cut(cut, template, state, trainable)
                params = state.params if state.average is None else state.average
                upcoming = feed.with_noise_for(template, upcoming)
    except KeyboardInterrupt:
        if not history:
            raise
        status = "interrupted"
    best = judge.best if judge is not None else None
    fitted, kept = best if best is not None else (_unravel(template, params), units.kept)
    return FitResult(fitted, kept, Elbo(*map(np.concatenate, zip(*history, strict=True))), status, num_skipped)


def fit_trials(
    trials: Sequence[Trial],
    settings: FitSettings,
    *,
    n_jobs: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
) -> list[FitResult]:
    """Fit many trials in one call, `n_jobs` at a time, in threads that share one compiled function.

    Each trial runs exactly the program it would run alone, so it gives the same numbers to the bit, and trials may
    differ in rows, seeds and hyper-parameters. (Batching trials by `vmap` gives neither, nor a second core.)
    """
    stop = threading.Event()

    def run(index: int) -> FitResult:
        return fit(trials[index], settings, trial_index=index, num_fits=len(trials), on_progress=on_progress, stop=stop)

    if n_jobs == 1 or len(trials) == 1:
        results = []
        for index in range(len(trials)):
            results.append(run(index))
            if results[-1].status == "interrupted":
                break
        return results
    with ThreadPoolExecutor(n_jobs) as pool:
        futures = [pool.submit(run, index) for index in range(len(trials))]
        try:
            return [future.result() for future in futures]
        except KeyboardInterrupt:
            stop.set()
            return [future.result() for future in futures if not future.cancel()]
