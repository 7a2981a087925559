"""A mixture of sampled networks drawn together where it is too wide for the very rows that they were fitted to."""

import numpy as np
from scipy import special

from pritchel.model.likelihoods.base import Components
from pritchel.posterior.answers import Fresh
from pritchel.posterior.calibration.base import PULL, at_most, calibration
from pritchel.posterior.calibration.spread import Spread, SpreadComponents
from pritchel.posterior.mixture import log_mean_exp

FACTORS = np.geomspace(0.25, 1.25, 25)  # that are tried; between them lies a parabola
CLEARLY = 0.9  # factors above this are chance as often as not, and change nothing
SURE, UNSURE = 0.15, 0.4  # nats
NUM_ROWS = 1000


@calibration
class PooledSpread(Spread):
    r"""The spread of several networks' mixture, found from the rows of the fit; None unless it is clearly too wide.

    Where each network by itself is as wide as its errors, their mixture is too wide: its mean errs less than any of
    theirs, and their differences count as spread. Rows of the fit tell that, once they are taken for rows that were
    not seen. Of a row left out, a chain's draws count by $1 / p(y_i \mid \theta)$, which gives $\ell_{-i}(s)$ for a
    factor $s$ beside $\ell_i(s)$ with the row. Chains move too little to forget a row, so the difference is taken
    twice: $s$ is where $\sum_i 2\ell_{-i}(s) - \ell_i(s)$ is greatest. Where a row by itself matters much for its own
    density, $\ell_i(1) - \ell_{-i}(1)$ of `SURE` to `UNSURE` nats, that is believed less and less.
    """

    kind = "auto"
    is_for = "any targets"
    uses_own_rows = True

    @classmethod
    def suits(cls, likelihood):
        """Any, and does nothing where there is nothing to do."""
        return True

    @classmethod
    def find(cls, unseen, seed):
        """One factor a target; None where there is one network, no chain, or nothing clearly too wide."""
        (own,) = at_most(unseen, NUM_ROWS)
        members, kind = own.posterior.members, type(own.posterior.likelihood)
        if len(members) < 2 or members[0].draws is None or not Spread.suits(kind):
            return None
        seen, left_out = _log_likelihoods(own)
        matters = _at_one(seen - left_out) / own.rows.weights.sum()
        belief = np.clip((UNSURE - matters) / (UNSURE - SURE), 0, 1)
        values = _summit(2 * left_out - seen - PULL * np.log(FACTORS) ** 2) ** belief
        if np.all(values > CLEARLY):
            return None
        return cls(np.where(values > CLEARLY, 1.0, values), len(own.rows.inputs), seed)

    def __str__(self) -> str:
        factors = ", ".join(f"{factor:.2f}" for factor in self.values)
        return (
            f"spread {factors}, found from {self.num_rows:,} rows of the fit, each as if it had been left out: the "
            "networks' mixture was too wide"
        )


def _log_likelihoods(own: Fresh) -> np.ndarray:
    """That of the rows as they are, and of each left out, under every factor: (2, targets, factors)."""
    posterior, (inputs, targets, weights) = own

    def answer(parts: Components, rows: np.ndarray) -> np.ndarray:
        values, once = rows[:, :-1], np.minimum(rows[:, -1], 1)  # of a row that counts twice, one is left out
        seen = np.zeros(parts.mean.shape[:2])
        left_out = _left_out(once * parts.log_density(values).sum(-1), len(posterior.members))
        return np.stack([_under_factors(parts, values, log_counts) for log_counts in (seen, left_out)], 1)

    found = posterior.over_rows(inputs, np.column_stack([targets, weights]), answer)
    return np.einsum("i,iajk->ajk", weights, found)


def _left_out(log_density: np.ndarray, num_members: int) -> np.ndarray:
    """ln of what draws count for, (draws, rows), had a row not been seen: one on average, over each member's too."""
    counts = np.empty_like(log_density)
    for member in range(num_members):  # they take turns over the draws
        own = log_density[member::num_members]
        counts[member::num_members] = special.log_softmax(-own, axis=0) + np.log(len(own))
    return counts


def _under_factors(parts: Components, values: np.ndarray, log_counts: np.ndarray) -> np.ndarray:
    """Log densities of draws that count so much, drawn together or apart: (rows, targets, factors)."""
    log_counts = log_counts[..., None]
    center = (np.exp(log_counts) * parts.mean).mean(0)
    moved = (SpreadComponents(parts, center, np.full(values.shape[1], factor)) for factor in FACTORS)
    return np.stack([log_mean_exp(own.log_density(values) + log_counts) for own in moved], -1)


def _at_one(curves: np.ndarray) -> np.ndarray:
    """Each curve's height where the factor is one."""
    return np.array([np.interp(0.0, np.log(FACTORS), curve) for curve in curves])


def _summit(curves: np.ndarray) -> np.ndarray:
    """The factor where each curve is highest, by the parabola through the three points around there."""
    top = np.clip(curves.argmax(-1), 1, len(FACTORS) - 2)
    before, at, after = (curves[np.arange(len(curves)), top + step] for step in (-1, 0, 1))
    bend = np.minimum(before - 2 * at + after, -1e-12)
    shift = np.clip(0.5 * (before - after) / bend, -1, 1)
    return FACTORS[top] * (FACTORS[1] / FACTORS[0]) ** shift
