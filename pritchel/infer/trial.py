"""What a fit is given, what it tells on the way, and what comes out."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from pritchel.data.dataset import Dataset
from pritchel.data.passes import Rows
from pritchel.guide.network import NetworkGuide
from pritchel.infer.dead_units import DropDead
from pritchel.infer.elbo import Elbo
from pritchel.infer.outputs import Objective
from pritchel.model.network import Model

Status = Literal["finished", "stopped early", "interrupted", "diverged"]


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


class Trial(NamedTuple):
    """One fit: a model, a guide to start from, rows, a seed."""

    model: Model
    guide: NetworkGuide
    data: Rows
    seed: int | Sequence[int]
    held_out: Dataset | None = None
    trainable: NetworkGuide | None = None  # factors on the updates; None: everything moves
    number: int = 0  # of the member that it is of
    adam: tuple[np.ndarray, ...] | None = None  # where the optimizer stood after steps before these
    num_rows: int | None = None  # that the rows stand for; None: themselves


Stage = Literal["reading", "fitting", "fitting wider", "sampling"]


class Progress(NamedTuple):
    """What a progress callback is told after every few hundred steps of a member's fit, and a few of its chain.

    While a source of batches is first read, steps are rows, of 0 where nobody knows how many there are.

    Parameters
    ----------
    trial : int
        Which member it is of, counted from 0.
    step, num_steps : int
        Steps done, and steps in all.
    elbo : float
        The evidence lower bound over the last steps, or the log joint density of the last draw: a row's share of it.
    units : tuple of ints, optional
        Units alive in each hidden layer under the default pruning rule; None where the prior prunes none.
    stage : {"reading", "fitting", "sampling"}
        Which stage of inference the member is in, or all are.
    """

    trial: int
    step: int
    num_steps: int
    elbo: float
    units: tuple[int, ...] | None
    stage: Stage = "fitting"


class Execution(NamedTuple):
    """How fits are run, which changes nothing of what they come to."""

    n_jobs: int = 1
    on_progress: Callable[[Progress], None] | None = None
    checkpoints: Path | None = None  # a folder in which fits are kept every few seconds


class FitResult(NamedTuple):
    """A fitted guide (numpy leaves), the bound's parts at every step, and how the run ended."""

    guide: NetworkGuide
    kept: tuple[np.ndarray, ...]  # the units the guide still has, of those it began with
    history: Elbo
    status: Status
    num_skipped: int
    adam: tuple[np.ndarray, ...] = ()  # where the optimizer stands; after an interrupt nobody knows
