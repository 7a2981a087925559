"""What a fit came to: members worth keeping, traces, and a word where something is wrong."""

import warnings
from typing import Any

import numpy as np

from pritchel.data.dataset import Dataset
from pritchel.infer.members import MemberFit
from pritchel.infer.trial import FitResult
from pritchel.posterior.convergence import SamplingReport
from pritchel.posterior.diagnostics import FitWarning, warn_if_collapsed
from pritchel.posterior.predict import Posterior

MAX_COLLAPSE_ROWS = 400
TO_CALLER_OF_FIT = 4  # stack levels from here


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
        warnings.warn(report.complaint, FitWarning, stacklevel=3)


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


def collapse(posterior: Posterior, data: Dataset) -> bool:
    """Whether the fit predicts its own rows no better than a constant does; warns where it is so."""
    rows = np.linspace(0, len(data.inputs) - 1, min(len(data.inputs), MAX_COLLAPSE_ROWS)).astype(int)
    sample, standardizer = data.take(rows), posterior.standardizer
    inputs, observed = standardizer.unscale_inputs(sample.inputs), sample.targets.astype(np.float64)
    weights = sample.weights.astype(np.float64)
    if not posterior.likelihood.standardizes:
        mean, _ = posterior.mean_std(inputs)
        predictions = mean if posterior.likelihood.has_classes else standardizer.scale_targets(mean)
        return warn_if_collapsed(posterior.likelihood.as_numbers(observed), predictions, weights)
    told = posterior.compare(inputs, standardizer.target_mean + standardizer.target_scale * observed)
    log_density = told.log_density + np.log(standardizer.target_scale)
    return warn_if_collapsed(observed, standardizer.scale_targets(told.mean), weights, log_density)
