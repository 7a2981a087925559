"""Early stopping: a judge that scores rows held out and remembers the best guide."""

from typing import NamedTuple

import numpy as np

from pritchel.data.dataset import Dataset
from pritchel.guide.network import NetworkGuide
from pritchel.infer.elbo import Batch
from pritchel.infer.feed import normals
from pritchel.infer.outputs import Objective, pass_noise_shapes
from pritchel.infer.step import held_out_score
from pritchel.infer.trial import FitSettings, Trial
from pritchel.lazy import jax
from pritchel.processes import of_first
from pritchel.serial import stored


@stored
class JudgeState(NamedTuple):
    """The best so far, and for how many looks it has been."""

    best_score: float | None = None
    best: tuple[NetworkGuide, tuple[np.ndarray, ...]] | None = None  # the guide, and the units it has
    num_worse: int = 0


class Judge:
    """Keeps the guide with the best held-out likelihood once the KL weight has reached its last."""

    def __init__(self, trial: Trial, data: Dataset, settings: FitSettings, patience: int, state: JudgeState):
        rows = 1 << (len(data.inputs) - 1).bit_length()
        pad = [(0, rows - len(data.inputs)), (0, 0)]
        self.batch = Batch(np.pad(data.inputs, pad), np.pad(data.targets, pad), np.pad(data.weights, pad[0]))
        self.seed, self.model, self.patience = trial.seed, trial.model, patience
        self.objective: Objective = settings.objective
        self.first_step = settings.kl_warmup * settings.num_steps
        self.state = state

    def should_stop(self, guide: NetworkGuide, kept: tuple[np.ndarray, ...], step: int) -> bool:
        """Score the guide; True once `patience` scores in a row brought nothing better."""
        if step < self.first_step:
            return False
        shapes = pass_noise_shapes(guide, len(self.batch.inputs), self.objective)
        drawn = normals(np.random.default_rng(np.random.SeedSequence(self.seed)), shapes, 1, 1)
        noise = jax.tree.map(lambda leaf: leaf[0], drawn)
        score = float(of_first(held_out_score(self.model, guide, self.batch, noise, self.objective)))
        if score > (-np.inf if self.state.best_score is None else self.state.best_score):  # one that is NaN never is
            self.state = JudgeState(score, (guide, kept), 0)
        else:
            self.state = self.state._replace(num_worse=self.state.num_worse + 1)
        return self.state.num_worse >= self.patience
