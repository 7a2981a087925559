"""Batches, noise and schedules for a fit, made with numpy so that the compiled step draws nothing."""

import json
from typing import Any, NamedTuple

import numpy as np

from pritchel.guide.network import NetworkGuide
from pritchel.infer.elbo import Batch
from pritchel.infer.outputs import pass_noise_shapes
from pritchel.infer.step import Steps
from pritchel.infer.trial import FitSettings, Trial
from pritchel.lazy import jax
from pritchel.serial import stored

MAX_CHUNK_STEPS = 250
MAX_CHUNK_FLOATS = 4_000_000


def normals(rng: np.random.Generator, shapes: Any, num_steps: int, num_filled: int) -> Any:
    """Noise with a leading step axis, drawn step by step whatever the chunk; steps past `num_filled` are never run."""
    leaves, structure = jax.tree.flatten(shapes)
    ends = np.cumsum([leaf.size for leaf in leaves])
    flat = np.zeros((num_steps, ends[-1] if len(ends) else 0), np.float32)
    rng.standard_normal(out=flat[:num_filled], dtype=np.float32)
    parts = [
        flat[:, end - leaf.size : end].reshape(num_steps, *leaf.shape) for leaf, end in zip(leaves, ends, strict=True)
    ]
    return jax.tree.unflatten(structure, parts)


@stored
class FeedState(NamedTuple):
    """Where the passes over the rows and the noise stand."""

    batch_rng: str
    noise_rng: str
    order: np.ndarray


class Feed:
    """What each chunk of steps is given.

    The compiled function sees fixed shapes only: a table no larger than a batch is padded with rows of weight zero
    and used whole at every step; a larger one is read in shuffled passes that run on into each other.
    """

    def __init__(self, trial: Trial, settings: FitSettings, guide: NetworkGuide, state: FeedState | None = None):
        """For the guide as it stands; from the start, or from where another feed stood."""
        self.data, self.settings = trial.data, settings
        self.num_rows = len(trial.data.inputs)
        self.batch_rows = min(settings.batch_size, 1 << (self.num_rows - 1).bit_length())
        self.batch_rng, self.noise_rng = (np.random.default_rng(s) for s in np.random.SeedSequence(trial.seed).spawn(2))
        shapes = pass_noise_shapes(trial.guide, self.batch_rows, settings.objective)
        noise_floats = sum(leaf.size for leaf in jax.tree.leaves(shapes))
        floats = self.batch_rows * sum(part.shape[-1] for part in self.data[:2]) + noise_floats
        self.chunk_steps = int(np.clip(MAX_CHUNK_FLOATS // floats, 1, MAX_CHUNK_STEPS))
        self.order = np.empty(0, np.intp)
        if state is not None:
            self.batch_rng.bit_generator.state = json.loads(state.batch_rng)
            self.noise_rng.bit_generator.state = json.loads(state.noise_rng)
            self.order = state.order
        self.make_noise_for(guide)

    def make_noise_for(self, guide: NetworkGuide) -> None:
        """Shape the noise of the chunks to come for a guide."""
        self.shapes = pass_noise_shapes(guide, self.batch_rows, self.settings.objective)

    @property
    def state(self) -> FeedState:
        """Where it stands."""
        batch_rng, noise_rng = (json.dumps(rng.bit_generator.state) for rng in (self.batch_rng, self.noise_rng))
        return FeedState(batch_rng, noise_rng, self.order)

    def _rows(self, count: int) -> np.ndarray:
        while len(self.order) < count:
            self.order = np.concatenate([self.order, self.batch_rng.permutation(self.num_rows)])
        rows, self.order = self.order[:count], self.order[count:]
        return rows

    def chunk(self, start: int) -> tuple[Steps, int]:
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
        noise = normals(self.noise_rng, self.shapes, self.chunk_steps, num_filled)
        rates = np.broadcast_to(rate, step.shape).astype(np.float32)
        decay = np.full_like(rates, settings.average) if settings.average else None
        return Steps(batch, noise, rates, kl_weights, progress.astype(np.float32), decay), num_filled

    def with_new_noise(self, chunk: tuple[Steps, int]) -> tuple[Steps, int]:
        """The chunk just made with its noise drawn anew, for a guide that has changed its shape since."""
        steps, num_filled = chunk
        self.noise_rng.bit_generator.state = self._noise_state
        return steps._replace(noise=normals(self.noise_rng, self.shapes, self.chunk_steps, num_filled)), num_filled
