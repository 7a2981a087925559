"""Batches, noise and schedules for a fit, made with numpy so that the compiled step draws nothing."""

import json
from typing import Any, NamedTuple

import numpy as np

from pritchel.crew import Crew
from pritchel.guide.network import NetworkGuide
from pritchel.infer.elbo import Batch
from pritchel.infer.outputs import PassNoise, pass_noise_shapes
from pritchel.infer.step import Steps
from pritchel.infer.trial import FitSettings, Trial
from pritchel.lazy import jax
from pritchel.serial import stored

MAX_CHUNK_STEPS = 250
MAX_CHUNK_FLOATS = 4_000_000
NOISE_BY_ROW = ("projections", "log_unit_scales")  # the noise that has an entry a row


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

    rows: Any  # a position of the rows' own kind
    noise_rng: str


class Feed:
    """What each chunk of steps is given.

    The compiled function sees fixed shapes only: rows no more than a batch are padded with others of weight zero and
    used whole at every step; more are read in shuffled passes that run on into each other. Processes that share a fit
    go through the same rows and the same noise, and each is given its part of them.
    """

    def __init__(
        self,
        trial: Trial,
        settings: FitSettings,
        guide: NetworkGuide,
        state: FeedState | None = None,
        crew: Crew | None = None,
    ):
        """For the guide as it stands; from the start, or from where another feed stood."""
        data, self.settings = trial.data, settings
        self.num_rows = data.num_rows
        self.batch_rows = min(settings.batch_size, 1 << (self.num_rows - 1).bit_length())
        self.own, self.num_places = slice(0, self.batch_rows), self.batch_rows
        if crew is not None:
            self.own, self.num_places = crew.own_rows(self.batch_rows)
        rows_seed, noise_seed = np.random.SeedSequence(trial.seed).spawn(2)
        self.whole = data.whole() if self.num_rows <= self.batch_rows else None
        self.passes = data.passes(rows_seed, None if state is None else state.rows)
        self.noise_rng = np.random.default_rng(noise_seed)
        shapes = pass_noise_shapes(trial.guide, self.batch_rows, settings.objective)
        noise_floats = sum(leaf.size for leaf in jax.tree.leaves(shapes))
        floats = self.batch_rows * (data.num_features + data.num_targets) + noise_floats
        self.chunk_steps = int(np.clip(MAX_CHUNK_FLOATS // floats, 1, MAX_CHUNK_STEPS))
        if state is not None:
            self.noise_rng.bit_generator.state = json.loads(state.noise_rng)
        self.make_noise_for(guide)

    def make_noise_for(self, guide: NetworkGuide) -> None:
        """Shape the noise of the chunks to come for a guide."""
        self.shapes = pass_noise_shapes(guide, self.batch_rows, self.settings.objective)

    @property
    def state(self) -> FeedState:
        """Where it stands."""
        return FeedState(self.passes.state, json.dumps(self.noise_rng.bit_generator.state))

    def _batch(self, num_filled: int) -> Batch:
        """The rows of a chunk, a batch a step; those of steps that are never run hold nothing."""
        if self.whole is not None:
            pad = [(0, self.batch_rows - self.num_rows), (0, 0)]
            padded = (self._own_places(np.pad(part, pad[: part.ndim]), 0) for part in self.whole)
            return Batch(*(np.broadcast_to(part, (self.chunk_steps, *part.shape)) for part in padded))
        num_own, is_own = self.own.stop - self.own.start, None
        if num_own < self.batch_rows:
            is_own = np.zeros((num_filled, self.batch_rows), bool)
            is_own[:, self.own] = True
            is_own = is_own.ravel()
        rows = self.passes.take(num_filled * self.batch_rows, is_own)
        by_step = (part.reshape(num_filled, num_own, *part.shape[1:]) for part in rows)
        unused = [(0, self.chunk_steps - num_filled), (0, self.num_places - num_own), (0, 0)]
        return Batch(*(np.pad(part, unused[: part.ndim]) for part in by_step))

    def _own_places(self, part: np.ndarray, axis: int) -> np.ndarray:
        """The part of something that has an entry a row of the batch along an axis; places without a row are zero."""
        if self.num_places == self.batch_rows:
            return part
        if part.shape[axis] == 1:  # all rows share it
            return np.repeat(part, self.num_places, axis)
        own = part[(slice(None),) * axis + (self.own,)]
        return np.pad(own, [(0, self.num_places - own.shape[axis] if at == axis else 0) for at in range(own.ndim)])

    def _noise(self, num_filled: int) -> PassNoise:
        drawn = normals(self.noise_rng, self.shapes, self.chunk_steps, num_filled)
        by_row = {name: tuple(self._own_places(part, 1) for part in getattr(drawn, name)) for name in NOISE_BY_ROW}
        return drawn._replace(**by_row)

    def chunk(self, start: int) -> tuple[Steps, int]:
        """The inputs of the chunk that begins at step `start`, and how many of its steps are real."""
        settings = self.settings
        num_filled = min(self.chunk_steps, settings.num_steps - start)
        batch = self._batch(num_filled)
        step = start + np.arange(self.chunk_steps)
        progress = np.minimum(step / settings.num_steps, 1.0)
        rate = settings.learning_rate * (0.5 * (1 + np.cos(np.pi * progress)) if settings.schedule == "cosine" else 1.0)
        climbed = np.minimum(progress / settings.kl_warmup, 1.0) if settings.kl_warmup > 0 else np.ones_like(progress)
        kl_weights = (settings.kl_weight * np.maximum(climbed, settings.kl_start)).astype(np.float32)
        self._noise_state = self.noise_rng.bit_generator.state
        noise = self._noise(num_filled)
        rates = np.broadcast_to(rate, step.shape).astype(np.float32)
        decay = np.full_like(rates, settings.average) if settings.average else None
        return Steps(batch, noise, rates, kl_weights, progress.astype(np.float32), decay), num_filled

    def with_new_noise(self, chunk: tuple[Steps, int]) -> tuple[Steps, int]:
        """The chunk just made with its noise drawn anew, for a guide that has changed its shape since."""
        steps, num_filled = chunk
        self.noise_rng.bit_generator.state = self._noise_state
        return steps._replace(noise=self._noise(num_filled)), num_filled
