"""What a fit came to: members worth keeping, traces, what stays where it fails, a word where something is wrong."""

import dataclasses
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from pritchel.data.dataset import Dataset
from pritchel.data.passes import Rows
from pritchel.estimators.fitted import FittedEstimator
from pritchel.infer.members import MemberFit, fit_members, hold_out
from pritchel.infer.options import Options
from pritchel.infer.trial import FitResult
from pritchel.posterior.convergence import SamplingReport
from pritchel.posterior.diagnostics import FitWarning, rising_remark, warn_if_collapsed
from pritchel.posterior.predict import Posterior
from pritchel.processes import of_first

MAX_COLLAPSE_ROWS = 400
BY_HEART = 0.5  # of the noise's variance: less is left of rows that are known by heart
STEPS_TO_KNOW, JUDGE_STEPS = 1000, 2000  # before it can know anything by heart; of the further fit
TO_CALLER_OF_FIT = 4  # stack levels from here


@contextmanager
def as_it_was(estimator: Any) -> Iterator[None]:
    """Leave an estimator whose fit fails, or is stopped before there is one, with all that it knew before."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def usable_fits(fits: list[MemberFit], num_asked: int, num_steps: int, learning_rate: float) -> list[MemberFit]:
    """The fits that can be mixed, with warnings about what befell them; a FloatingPointError if one diverged.

    An interrupt leaves out those that had hardly begun: members less than half as far along as the furthest would blur
    the mixture.
    """
    statuses = {fit.result.status for fit in fits}
    if "diverged" in statuses:
        raise FloatingPointError(
            "The fit diverged: no step of a whole chunk had a finite gradient. Lower the learning_rate of training "
            f"(now {learning_rate:g}), or look for extreme values among the inputs."
        )
    num_skipped = sum(fit.result.num_skipped for fit in fits)
    if "interrupted" in statuses or len(fits) < num_asked:
        furthest = max(_num_steps(fit.result) for fit in fits)
        fits = [fit for fit in fits if 2 * _num_steps(fit.result) >= furthest]
        warnings.warn(
            f"Interrupted: the estimator holds {len(fits)} of {num_asked} member(s), fitted for "
            f"{[_num_steps(fit.result) for fit in fits]} of {num_steps} steps. To go on, set warm_start=True, "
            f"num_members={len(fits)} and fit again.",
            FitWarning,
            stacklevel=TO_CALLER_OF_FIT,
        )
    if num_skipped:
        warnings.warn(
            f"{num_skipped} step(s) had a gradient that was not finite and were skipped; a lower learning_rate "
            f"(now {learning_rate:g}) avoids that.",
            FitWarning,
            stacklevel=TO_CALLER_OF_FIT,
        )
    return fits


def warn_of_chains(report: SamplingReport) -> None:
    """Say what is wrong with the chains, where something is."""
    if report.complaint is not None:
        warnings.warn(report.complaint, FitWarning, stacklevel=TO_CALLER_OF_FIT)


def warn_of_limits(fitted: FittedEstimator, num_rows: float) -> None:
    """Say where the units offered, or the steps, were too few; no bound is looked at where chains went on from it."""
    if fitted.is_interrupted_:
        return
    is_sampled = bool(fitted.sampling_report_.chains)
    for remark in (fitted.width_remark_, None if is_sampled else rising_remark(fitted.elbo_, num_rows)):
        if remark is not None:
            warnings.warn(remark, FitWarning, stacklevel=TO_CALLER_OF_FIT)


def _num_steps(result: FitResult) -> int:
    return len(result.history.likelihood)


def describe_fits(results: list[FitResult]) -> dict[str, Any]:
    """Fitted attributes that speak of the training: one row, or entry, a member."""
    traces = [np.asarray(result.history.total) for result in results]
    shortest = min(map(len, traces))
    return {
        "elbo_": np.stack([trace[:shortest] for trace in traces]),
        "status_": [result.status for result in results],
        "num_skipped_steps_": sum(result.num_skipped for result in results),
        "n_iter_": max(map(len, traces)),
    }


def collapse(posterior: Posterior, fitted: Rows, options: Options, seed: int, *, may_refit: bool) -> bool:
    """Whether the fit predicts no better than a constant does; warns where it is so.

    Of rows that it was not fitted to, where early stopping kept some, or where it may know its own by heart: then one
    more member is fitted, briefly, without a fifth of them. Chains do not learn noise by heart.
    """
    data, (_, unseen) = fitted.sample, hold_out(fitted, options, seed)
    rows = _at_most(data if unseen is None else unseen, MAX_COLLAPSE_ROWS)
    judged = _judge(posterior, rows)
    may_refit = may_refit and unseen is None and posterior.members[0].draws is None
    may_refit = may_refit and options.fit_settings(len(data.inputs)).num_steps >= STEPS_TO_KNOW
    if may_refit and _may_know_by_heart(posterior, rows, judged.mean):
        is_left_out = np.random.default_rng(np.random.SeedSequence((seed, 5))).permutation(len(data.inputs)) % 5 == 0
        seen, left_out = (data.take(np.flatnonzero(part)) for part in (~is_left_out, is_left_out))
        if fits := fit_members(seen, _brief(options, len(seen.inputs)), seed):
            unseen = rows = _at_most(left_out, MAX_COLLAPSE_ROWS)
            judged = _judge(Posterior([fits[0].member], posterior.standardizer, seed, posterior.num_draws), rows)
    weights = rows.weights.astype(np.float64)
    return warn_if_collapsed(judged.observed, judged.mean, weights, judged.log_density, unseen is not None)


def slower(options: Options) -> Options:
    """The same with a quarter of the learning rate."""
    training = dataclasses.replace(options.training, learning_rate=options.training.learning_rate / 4)
    return dataclasses.replace(options, training=training)


def _brief(options: Options, num_rows: int) -> Options:
    """The same for one member and not many steps."""
    num_steps = min(options.fit_settings(num_rows).num_steps, JUDGE_STEPS)
    training = dataclasses.replace(options.training, num_steps=num_steps)
    return dataclasses.replace(options, num_members=1, training=training)


class _Judged(NamedTuple):
    """Rows beside what is predicted of them, in standard units; the density where the likelihood is of such."""

    observed: np.ndarray
    mean: np.ndarray
    log_density: np.ndarray | None


def _judge(posterior: Posterior, rows: Dataset) -> _Judged:
    standardizer = posterior.standardizer
    inputs, observed = standardizer.unscale_inputs(rows.inputs), rows.targets.astype(np.float64)
    if not posterior.likelihood.standardizes:
        mean, _ = posterior.mean_std(inputs)
        predictions = mean if posterior.likelihood.has_classes else standardizer.scale_targets(mean)
        return _Judged(posterior.likelihood.as_numbers(observed), predictions, None)
    told = posterior.compare(inputs, standardizer.target_mean + standardizer.target_scale * observed)
    log_density = told.log_density + np.log(standardizer.target_scale)
    return _Judged(observed, standardizer.scale_targets(told.mean), log_density)


def _may_know_by_heart(posterior: Posterior, rows: Dataset, mean: np.ndarray) -> bool:
    """Whether the fit is much nearer to its rows than the noise that it claims.

    One with p parameters' worth of freedom leaves a share 1 - p / n of the noise's variance. Where y is a function of
    the inputs a variational fit claims too much noise and leaves little of it too: that alone is no fault.
    """
    if not posterior.likelihood.standardizes:
        return False
    noise = posterior.noise(posterior.standardizer.unscale_inputs(rows.inputs))[0] / posterior.standardizer.target_scale
    share = rows.weights.astype(np.float64) / rows.weights.sum()
    return bool(of_first(np.any(share @ ((rows.targets - mean) / noise) ** 2 < BY_HEART)))


def _at_most(data: Dataset, num_rows: int) -> Dataset:
    return data.take(np.linspace(0, len(data.inputs) - 1, min(len(data.inputs), num_rows)).astype(int))
