"""Members that would only blur the mixture: they know far less of the rows than the best, or have them by heart."""

import warnings
from collections.abc import Callable, Sequence

import numpy as np
from scipy import special

from pritchel.data.dataset import Dataset, Standardizer
from pritchel.data.split import Crossing
from pritchel.guide.member import Member
from pritchel.infer.members import MemberFit
from pritchel.infer.sample import ChainResult
from pritchel.model.likelihoods import Likelihood
from pritchel.model.likelihoods.base import Components
from pritchel.posterior.diagnostics import FitWarning
from pritchel.posterior.mixture import log_mean_exp
from pritchel.posterior.predict import Posterior
from pritchel.processes import of_first

MAX_ROWS, MAX_DRAWS = 400, 60
LAST_STEPS, LEAST_STEPS = 200, 100  # that the bound is taken over; before which nobody can be said to be behind
FAR = 1.0  # nats a row behind the best; with hardly any noise, members of sound fits differ by up to half of that
BY_HEART = 0.6  # effective weights a row, where another member manages with half of that
LITTLE, TELLING = 0.02, 0.1  # of what the best says beyond a constant; nats a row that are worth speaking of


def mend_stragglers(
    fits: list[MemberFit],
    standardizer: Standardizer,
    seed: int,
    data: Dataset,
    fit_anew: Callable[[list[int]], list[MemberFit]],
    num_starts: int,
) -> list[MemberFit]:
    """The fits with stragglers fitted once more, from other starts, and left out where that is no better; says so.

    `fit_anew` makes members by the numbers of their random starts, of which `num_starts` are taken; so many further on
    a member sees the same rows.
    """
    num_steps = min(len(fit.result.history.likelihood) for fit in fits)
    if len(fits) < 2 or num_steps < LEAST_STEPS or "interrupted" in {fit.result.status for fit in fits}:
        return fits
    told, constant = _log_densities([fit.member for fit in fits], standardizer, seed, data)
    behind = _far_behind(told, constant, fits)
    if not len(behind):
        return fits
    try:
        again = fit_anew([num_starts + fits[index].number for index in behind])
    except KeyboardInterrupt:
        again = []
    if len(again) < len(behind) or "interrupted" in {fit.result.status for fit in again}:
        return [fit.ended("interrupted") for fit in fits]
    tried = [*fits, *(fit for fit in again if fit.result.status != "diverged")]
    still_behind = _far_behind(
        _log_densities([fit.member for fit in tried], standardizer, seed, data)[0], constant, tried
    )
    fresh = [index for index in range(len(fits), len(tried)) if index not in still_behind]
    kept = [index for index in range(len(fits)) if index not in behind] + fresh
    warnings.warn(
        f"{_of(behind, told)} Fitted anew from other starts, {len(fresh)} of {len(behind)} came up to the rest"
        + (f"; the mixture is of {len(kept)} instead of {len(fits)}." if len(kept) < len(fits) else "."),
        FitWarning,
        stacklevel=4,
    )
    return [tried[index] for index in kept]


def leave_out_stragglers(
    fits: list[MemberFit],
    chains: list[ChainResult],
    standardizer: Standardizer,
    seed: int,
    data: Dataset,
    crossing: Crossing | None = None,
) -> tuple[list[MemberFit], list[ChainResult]]:
    """The sampled fits and their chains without those that predict the rows worse than a constant; says so.

    Nor are those kept whose chains have not forgotten the noise of their own rows, where others have.
    """
    if len(fits) < 2 or not chains:
        return fits, chains
    members = [fit.member for fit in fits]
    told, constant = _log_densities(members, standardizer, seed, data)
    behind = np.flatnonzero((told < constant - TELLING) & (told.max() > constant))
    what = _of(behind, told)
    if not len(behind):
        seen = [data if crossing is None else data.take(np.flatnonzero(crossing.is_fitted(fit.number))) for fit in fits]
        own = of_first(_worth_of_own_rows(members, standardizer, seed, seen))
        behind = np.flatnonzero((own > BY_HEART) & (own.min() < BY_HEART / 2))
        what = _by_heart(behind, own)
    if not len(behind):
        return fits, chains
    warnings.warn(
        f"{what} The mixture is of the other {len(fits) - len(behind)}. Longer chains may help "
        "(sampling__num_warmup), or another random_state.",
        FitWarning,
        stacklevel=4,
    )
    kept = [index for index in range(len(fits)) if index not in behind]
    return [fits[index] for index in kept], [chains[index] for index in kept]


def _worth_of_own_rows(
    members: Sequence[Member], standardizer: Standardizer, seed: int, seen: Sequence[Dataset]
) -> np.ndarray:
    r"""By how much a row that a sampled member has seen adds to its own log density there: effective weights a row.

    Without the row its density is the mean under weights $1 / p(y_i \mid \theta)$ of the draws. Pure noise that default
    fits learned by heart had 0.80 to 0.95, fits that had forgotten it 0.01 to 0.11, sound ones of yacht, energy and
    boston 0.17 to 0.44.
    """

    def answer(parts: Components, values: np.ndarray) -> np.ndarray:
        log_density = parts.log_density(values).sum(-1)
        return log_mean_exp(log_density) + log_mean_exp(-log_density)

    found = []
    for member, data in zip(members, seen, strict=True):
        inputs, targets, share = _own_rows(standardizer, data)
        alone = Posterior([member], standardizer, seed, MAX_DRAWS)
        found.append(share @ alone.over_rows(inputs, targets, answer))
    return np.asarray(found)


def _far_behind(told: np.ndarray, constant: float, fits: Sequence[MemberFit]) -> np.ndarray:
    """Members a nat behind the best, or that say no more than a constant where the best does.

    Their bound must be lower, too: the best may be the one that has learned most noise by heart, and the bound knows.
    """
    bounds = np.asarray([np.mean(np.asarray(fit.result.history.total)[-LAST_STEPS:]) for fit in fits])
    best = told.argmax()
    ahead = told[best] - constant
    says_little = (ahead > TELLING) & (told - constant < LITTLE * ahead)
    return np.flatnonzero(((told[best] - told > FAR) | says_little) & ~(bounds >= bounds[best]))


def _log_densities(
    members: Sequence[Member], standardizer: Standardizer, seed: int, data: Dataset
) -> tuple[np.ndarray, float]:
    """Each member's log density of the training rows, a row's mean share of it; and a constant predictor's."""
    inputs, targets, share = _own_rows(standardizer, data)
    alone = (Posterior([member], standardizer, seed, MAX_DRAWS) for member in members)
    told = np.asarray([share @ posterior.log_density(inputs, targets) for posterior in alone])
    constant = _constant(members[0].model.likelihood, targets, share)
    return of_first(np.where(np.isnan(told), -np.inf, told)), float(of_first(constant))


def _own_rows(standardizer: Standardizer, data: Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Some of the rows in their own units: inputs, targets and each one's share."""
    rows = data.take(np.linspace(0, len(data.inputs) - 1, min(len(data.inputs), MAX_ROWS)).astype(int))
    targets = standardizer.target_mean + standardizer.target_scale * rows.targets.astype(np.float64)
    return standardizer.unscale_inputs(rows.inputs), targets, rows.weights.astype(np.float64) / rows.weights.sum()


def _constant(likelihood: Likelihood, targets: np.ndarray, share: np.ndarray) -> float:
    """The rows' mean log density under a distribution that is the same for all; NaN for counts, which have none."""
    if likelihood.has_classes:
        of_class = np.bincount(targets[:, 0].astype(int), share)
        return float(-special.entr(of_class).sum())
    if not likelihood.standardizes:
        return float("nan")
    var = share @ (targets - share @ targets) ** 2
    return float(-0.5 * (1 + np.log(2 * np.pi * np.maximum(var, np.finfo(float).tiny))).sum())


def _of(behind: np.ndarray, told: np.ndarray) -> str:
    which = ", ".join(str(index + 1) for index in behind)
    worst = ", ".join(f"{told[index]:.3g}" for index in behind)
    return (
        f"Of {len(told)} members, number {which} ended far behind: a log-likelihood of {worst} a training row, where "
        f"the best has {told.max():.3g}."
    )


def _by_heart(behind: np.ndarray, own: np.ndarray) -> str:
    which = ", ".join(str(index + 1) for index in behind)
    worth = ", ".join(f"{own[index]:.2f}" for index in behind)
    return (
        f"Of {len(own)} members, number {which} learned the rows by heart, noise and all, and did not forget them: "
        f"a row adds {worth} nats to its own log-likelihood, where the soundest member has {own.min():.2f}."
    )
