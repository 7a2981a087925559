"""From rows to fitted networks: a pure function of data, options and seed that knows no estimator."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pritchel.data.dataset import Dataset
from pritchel.data.passes import Rows
from pritchel.data.split import Crossing
from pritchel.guide.member import Member
from pritchel.guide.network import start_guide, trained_mask, weight_mean_mask
from pritchel.infer.checkpoint import Checkpoint
from pritchel.infer.options import Options
from pritchel.infer.trial import Execution, FitResult, FitSettings, Status, Trial
from pritchel.infer.trials import fit_trials, mark_of
from pritchel.model.likelihoods import LikelihoodStart
from pritchel.model.network import Model


class MemberFit(NamedTuple):
    """One fitted network and how its fit went."""

    member: Member
    result: FitResult
    number: int = 0  # of its random start

    def ended(self, status: Status) -> "MemberFit":
        """The same, but for an interrupt of what came after the steps."""
        return self if status != "interrupted" else self._replace(result=self.result._replace(status=status))


def fit_members(
    data: Rows,
    options: Options,
    seed: int,
    *,
    num_classes: int = 0,
    starts: Sequence[Member] = (),
    numbers: Sequence[int] | None = None,
    crossing: Crossing | None = None,
    execution: Execution = Execution(),  # noqa: B008 - an immutable value
) -> list[MemberFit]:
    """Fit `options.num_members` networks to standardized rows, each from its own random start.

    With `starts` each goes on from one of those, with no second warm-up. `numbers` are of the random starts: 0, 1, ...
    by default. With a `crossing` each is fitted to its own rows alone. An interrupt leaves fewer than were asked for.
    """
    settings = options.fit_settings(data.num_rows)
    if starts:
        settings = settings._replace(kl_warmup=0.0)
    train, held_out = hold_out(data, options, seed)
    of_all = None
    if crossing is not None:  # members are mixed as if they had one likelihood
        of_all = options.model(LikelihoodStart(train.sample.targets, train.sample.weights, num_classes)).likelihood
    trials, before = [], []
    for index in range(options.num_members) if numbers is None else numbers:
        own = train if crossing is None else train.sample.take(crossing.is_fitted(index))
        known = own.sample
        likelihood = starts[index].model.likelihood if starts else of_all
        model = options.model(LikelihoodStart(known.targets, known.weights, num_classes, likelihood))
        if starts:
            start = starts[index]._replace(model=model, draws=None)
        else:
            start = _begun(model, options, data, (seed, index, 0))
        before.append(start)
        trainable = trained_mask(model, start.guide)
        trials.append(Trial(model, start.guide, own, (seed, index, 1), held_out, trainable, index))
    return _run(before, trials, settings, execution)


def _begun(model: Model, options: Options, data: Rows, seed: Sequence[int]) -> Member:
    """A member before its first step."""
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    sizes = (data.num_features, data.num_targets)
    training = options.training
    scales = (training.scale_start, training.scale_sd)
    guide = start_guide(model, options.hidden, options.family, *sizes, rng, *scales)
    return Member.unpruned(model, guide)


class Before(NamedTuple):
    """What a fit that goes on, some rows at a time, goes on from."""

    members: Sequence[Member] = ()
    adams: Sequence[tuple[np.ndarray, ...]] = ()  # where the optimizers stood, if that is known
    num_rows: int = 0  # that were seen
    num_calls: int = 0


def fit_further(
    before: Before,
    data: Dataset,
    options: Options,
    seed: int,
    *,
    num_classes: int = 0,
    execution: Execution = Execution(),  # noqa: B008 - an immutable value
) -> tuple[list[MemberFit], Before]:
    """One pass over new rows, which stand for all that were seen: the rate stays, and no unit leaves."""
    plain = options.fit_settings(data.num_rows)
    num_steps, num_rows = -(-data.num_rows // plain.batch_size), before.num_rows + data.num_rows
    changes = {"schedule": "constant", "kl_warmup": 0.0, "patience": None, "drop_dead_units": False}
    settings = plain._replace(num_steps=num_steps, **changes)
    weights = data.weights * np.float32(num_rows / data.num_rows)
    likelihood = before.members[0].model.likelihood if before.members else None
    model = options.model(LikelihoodStart(data.targets, weights, num_classes, likelihood))
    known = [member._replace(model=model, draws=None) for member in before.members]
    members = known or [_begun(model, options, data, (seed, index, 0)) for index in range(options.num_members)]
    trials = [
        Trial(model, own.guide, data, (seed, index, 4, before.num_calls), None, trained_mask(model, own.guide), index)
        for index, own in enumerate(members)
    ]
    trials = [
        trial._replace(adam=(before.adams[index] or None) if before.adams else None, num_rows=num_rows)
        for index, trial in enumerate(trials)
    ]
    fits = _run(members, trials, settings, execution)
    after = Before([fit.member for fit in fits], [fit.result.adam for fit in fits], num_rows, before.num_calls + 1)
    return fits, after


def fine_tune_members(
    members: Sequence[Member],
    data: Dataset,
    options: Options,
    seed: int,
    num_steps: int,
    execution: Execution = Execution(),  # noqa: B008 - an immutable value
) -> list[MemberFit]:
    """The members after more steps that move the means of their weights alone."""
    settings = options.fit_settings(len(data.inputs))._replace(
        num_steps=num_steps, kl_warmup=0.0, patience=None, drop_dead_units=False
    )
    trials = [
        Trial(member.model, member.guide, data, (seed, index, 3), None, weight_mean_mask(member.guide), index)
        for index, member in enumerate(members)
    ]
    return _run(members, trials, settings, execution)


def hold_out(data: Rows, options: Options, seed: int) -> tuple[Rows, Dataset | None]:
    """Rows to train on, and those that early stopping looks at."""
    training = options.training
    if not training.early_stopping:
        return data, None
    train, held_out = data.set_aside(training.validation_fraction, seed)
    if train.num_rows < 2:
        raise ValueError(
            f"early_stopping needs at least two rows left to train on; {data.num_rows} distinct rows less "
            f"validation_fraction={training.validation_fraction} leave {train.num_rows}."
        )
    return train, held_out


def _run(before: Sequence[Member], trials: list[Trial], settings: FitSettings, execution: Execution) -> list[MemberFit]:
    checkpoints = None
    if execution.checkpoints is not None:
        checkpoints = _checkpoints(execution.checkpoints, trials, settings)
    results = fit_trials(
        trials, settings, n_jobs=execution.n_jobs, on_progress=execution.on_progress, checkpoints=checkpoints
    )
    return [
        MemberFit(member.reduced(result.guide, result.kept), result, trial.number)
        for member, trial, result in zip(before, trials, results, strict=False)
        if result is not None
    ]


def _checkpoints(folder: Path, trials: list[Trial], settings: FitSettings) -> list[Checkpoint]:
    """A file a member, marked with a digest of all that its fit depends on."""
    checkpoints, is_told = [], threading.Event()
    for trial in trials:
        mark = mark_of(trial, settings, len(trials))
        checkpoints.append(Checkpoint(folder / f"member-{trial.number + 1}.safetensors", mark, is_told))
    return checkpoints
