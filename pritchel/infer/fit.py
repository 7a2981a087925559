"""The training loop: one compiled function over chunks of steps, for one trial or many."""

import json
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
from pritchel.guide.prune_rule import surviving_units
from pritchel.infer.checkpoint import Checkpoint
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
    """How to train. Over a part `kl_warmup` of the steps the KL weight climbs from `kl_start` of it to `kl_weight`."""

    num_steps: int = 8000
    batch_size: int = 128
    learning_rate: float = 0.02
    schedule: Literal["cosine", "constant"] = "cosine"
    kl_warmup: float = 0.5
    kl_start: float = 0.03  # from 0, a fit with no sampling noise memorizes small tables before the prior is heard
    kl_weight: float = 1.0  # below 1: a cold posterior, which believes the rows more than the prior's count of them
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
    units: tuple[int, ...] | None  # alive in each hidden layer under the default rule; None: the prior prunes none


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
        kl_weights = (settings.kl_weight * np.maximum(climbed, settings.kl_start)).astype(np.float32)
        self._noise_state = self.noise_rng.bit_generator.state
        noise = _normals(self.noise_rng, self.shapes, self.chunk_steps, num_filled)
        rates = np.broadcast_to(rate, step.shape).astype(np.float32)
        decay = np.full_like(rates, settings.average) if settings.average else None
        return _Steps(batch, noise, rates, kl_weights, decay), num_filled

    def with_noise_for(self, guide: NetworkGuide, chunk: tuple[_Steps, int]) -> tuple[_Steps, int]:
        """The chunk just made with noise for a guide that has lost units, as all later ones will have."""
        steps, num_filled = chunk
        self.shapes = pass_noise_shapes(guide, self.batch_rows, self.settings.objective)
        self.noise_rng.bit_generator.state = self._noise_state
        return steps._replace(noise=_normals(self.noise_rng, self.shapes, self.chunk_steps, num_filled)), num_filled

    def saved(self) -> tuple:
        """Where the passes over the rows and the noise stand."""
        states = [json.dumps(rng.bit_generator.state) for rng in (self.batch_rng, self.noise_rng)]
        return *states, self.order

    def restore(self, saved: tuple, guide: NetworkGuide) -> None:
        """Go on from there, with noise for the given guide."""
        *states, self.order = saved
        for rng, state in zip((self.batch_rng, self.noise_rng), states, strict=True):
            rng.bit_generator.state = json.loads(state)
        self.shapes = pass_noise_shapes(guide, self.batch_rows, self.settings.objective)


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

    def saved(self) -> tuple:
        """The best so far."""
        return None if self.best is None else float(self.best_score), self.best, self.num_worse

    def restore(self, saved: tuple) -> None:
        """Go on from there."""
        score, self.best, self.num_worse = saved
        self.best_score = -np.inf if score is None else score


class _Run:
    """A fit under way: all that changes from chunk to chunk."""

    def __init__(self, trial: Trial, settings: FitSettings, num_fits: int):
        self.feed = _Feed(trial, settings)
        self.judge = None
        if trial.held_out is not None and settings.patience is not None:
            self.judge = _HeldOut(trial, trial.held_out, settings, settings.patience)
        self.template = jax.tree.map(np.asarray, trial.guide)
        self.params = self.average = _ravel(self.template)
        self.trainable = np.ones_like(self.params) if trial.trainable is None else _ravel(trial.trainable)
        num_rows_to_come = float(self.feed.batch_rows * settings.num_steps * num_fits)
        self.units = DeadUnits(trial.guide, settings.drop_dead_units, num_rows_to_come)
        average = self.params.copy() if settings.average else None
        self.state = _State(self.params, _start_adam(self.params), average, np.zeros((), np.int32))
        self.history: list[np.ndarray] = []  # parts of the bound, (steps, parts) a chunk
        self.done, self.num_skipped = 0, 0
        self.status: Status = "finished"

    @property
    def guide(self) -> NetworkGuide:
        """The guide as it stands: the running average of its parameters, where one is kept."""
        return _unravel(self.template, self.average)

    def take_over(self, state: _State) -> None:
        """Copy what a chunk came to: the next takes its buffers over, and an interrupt must not lose them."""
        self.state, self.params = state, np.array(state.params)
        self.average = self.params if state.average is None else np.array(state.average)

    def cut(self, cut: Cut) -> None:
        """Let units leave: of the guide, of the optimizer's state and of the factors on its updates."""
        adam, larger = self.state.optimizer, self.template
        self.template = cut.apply(_unravel(larger, self.params))
        self.params = _ravel(self.template)
        mu, nu, self.trainable = (
            _ravel(cut.apply_to_updates(_unravel(larger, np.asarray(values))))
            for values in (adam.mu, adam.nu, self.trainable)
        )
        average = None
        if self.state.average is not None:
            average = _ravel(cut.apply(_unravel(larger, self.average)))
        self.average = self.params if average is None else average
        self.state = _State(self.params, adam._replace(mu=mu, nu=nu), average, self.state.num_skipped)

    def result(self) -> FitResult:
        """What the run has come to."""
        best = self.judge.best if self.judge is not None else None
        guide, kept = best if best is not None else (self.guide, self.units.kept)
        return FitResult(guide, kept, Elbo(*np.concatenate(self.history).T), self.status, self.num_skipped)

    def saved(self) -> dict[str, Any]:
        """Everything needed to go on, for a checkpoint."""
        return {
            "guide": _unravel(self.template, self.params),
            "average": None if self.state.average is None else self.average,
            "adam": tuple(np.asarray(part) for part in self.state.optimizer),
            "trainable": self.trainable,
            "feed": self.feed.saved(),
            "units": self.units.saved(),
            "judge": None if self.judge is None else self.judge.saved(),
            "history": np.concatenate(self.history),
            "counts": (self.done, self.num_skipped, self.status),
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on from what was saved."""
        self.template = saved["guide"]
        self.params, self.trainable = _ravel(self.template), saved["trainable"]
        self.average = self.params if saved["average"] is None else saved["average"]
        self.done, self.num_skipped, self.status = saved["counts"]
        adam = optax.ScaleByAdamState(*saved["adam"])
        self.state = _State(self.params, adam, saved["average"], np.asarray(self.num_skipped, np.int32))
        self.feed.restore(saved["feed"], self.template)
        self.units.restore(saved["units"])
        if self.judge is not None:
            self.judge.restore(saved["judge"])
        self.history = [saved["history"]]


def fit(
    trial: Trial,
    settings: FitSettings,
    *,
    trial_index: int = 0,
    num_fits: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
    stop: threading.Event | None = None,
    checkpoint: Checkpoint | None = None,
) -> FitResult:
    """Fit one trial. Ctrl-C, or `stop`, ends it after the current chunk with what is fitted so far.

    `num_fits` says how many fits of this kind share what is compiled. With a `checkpoint` the run is written there now
    and then, and goes on from there if it is the same fit's; the outcome is that of a run that was never stopped.
    """
    run = _Run(trial, settings, num_fits)
    if checkpoint is not None and (saved := checkpoint.load()) is not None:
        run.restore(saved)
    try:
        upcoming = run.feed.chunk(run.done) if run.done < settings.num_steps else None
        while upcoming is not None and run.status == "finished":
            upcoming = _next_chunk(run, upcoming, trial, settings, checkpoint)
            if on_progress is not None:
                on_progress(_progress(run, trial_index, settings))
            if stop is not None and stop.is_set() and run.done < settings.num_steps:
                run.status = "interrupted"
    except KeyboardInterrupt:
        if not run.history:
            raise
        run.status = "interrupted"
    return run.result()


def _next_chunk(
    run: _Run, chunk: tuple[_Steps, int], trial: Trial, settings: FitSettings, checkpoint: Checkpoint | None
) -> tuple[_Steps, int] | None:
    """Run a chunk of steps and make the next; None: there is none."""
    steps, num_filled = chunk
    num_rows = float(run.feed.num_rows)
    arguments = (run.state, run.template, trial.model, steps, run.trainable, num_filled, num_rows, settings.objective)
    state, trace = _run_chunk(*arguments)
    is_last = run.done + num_filled == settings.num_steps
    is_due = checkpoint is not None and (is_last or checkpoint.is_due())
    upcoming = None
    if not is_last and not is_due:
        upcoming = run.feed.chunk(run.done + num_filled)  # made while the chunk above computes
    history = np.asarray(trace)[:num_filled]
    newly_skipped = int(state.num_skipped) - run.num_skipped
    run.take_over(state)
    run.done, run.num_skipped = run.done + num_filled, run.num_skipped + newly_skipped
    run.history.append(history)
    if newly_skipped == num_filled:
        run.status = "diverged"
        return None
    if run.judge is not None and run.judge.should_stop(run.guide, run.units.kept, run.done):
        run.status = "stopped early"
        upcoming = None
    cut = None if is_last else run.units.look(run.guide, 1 - run.done / settings.num_steps)
    if cut is not None and run.status == "finished":
        run.cut(cut)
        if upcoming is not None:
            upcoming = run.feed.with_noise_for(run.template, upcoming)
        else:
            run.feed.shapes = pass_noise_shapes(run.template, run.feed.batch_rows, settings.objective)
    if checkpoint is not None and is_due:
        checkpoint.save(run.saved())
    if upcoming is None and not is_last and run.status == "finished":
        upcoming = run.feed.chunk(run.done)
    return upcoming


def _progress(run: _Run, trial_index: int, settings: FitSettings) -> Progress:
    total = run.history[-1].sum(1)
    elbo = float(np.nanmean(total) / run.feed.num_rows) if np.isfinite(total).any() else float("nan")
    guide = run.guide
    units = None if guide.log_layer_scales is None else tuple(map(len, surviving_units(guide)))
    return Progress(trial_index, run.done, settings.num_steps, elbo, units)


def fit_trials(
    trials: Sequence[Trial],
    settings: FitSettings,
    *,
    n_jobs: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
    checkpoints: Sequence[Checkpoint] | None = None,
) -> list[FitResult]:
    """Fit many trials in one call, `n_jobs` at a time, in threads that share one compiled function.

    Each trial runs exactly the program it would run alone, so it gives the same numbers to the bit, and trials may
    differ in rows, seeds and hyper-parameters. (Batching trials by `vmap` gives neither, nor a second core.)
    """
    stop = threading.Event()

    def run(index: int) -> FitResult:
        return fit(
            trials[index],
            settings,
            trial_index=index,
            num_fits=len(trials),
            on_progress=on_progress,
            stop=stop,
            checkpoint=None if checkpoints is None else checkpoints[index],
        )

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
