"""Counts: what Poisson and negative binomial noise share."""

from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float
from scipy import special

from pritchel.model.likelihoods.base import Likelihood, LikelihoodStart
from pritchel.shapes import AnyArray, Scalar

Count = TypeVar("Count", bound="CountLikelihood")


MANY = 1e15  # a count that is no longer told from its neighbours; a Poisson's spread is nothing beside it
LARGEST = 1e300


def poisson_counts(rng: np.random.Generator, rate: np.ndarray) -> np.ndarray:
    """Counts of any rate, also where numpy's own sampler has none: there a normal distribution's."""
    rate = np.minimum(rate, LARGEST)
    counts = rng.poisson(np.minimum(rate, MANY)).astype(float)
    is_many = rate > MANY
    if is_many.any():
        counts[is_many] = np.rint(rate[is_many] + np.sqrt(rate[is_many]) * rng.standard_normal(is_many.sum()))
    return counts


class CountLikelihood(Likelihood):
    r"""A rate $e^{f + o}$ with $o$ the log of the mean count, so that $f$ starts from there.

    Exposure goes into the sample weights: counts divided by exposure as y, exposure as `sample_weight`. The term
    $-\ln y!$, which no parameter moves, is added up once, on the host.
    """

    standardizes = False
    has_counts = True
    log_rate: Float[AnyArray, " targets"]
    log_factorials: Scalar

    @classmethod
    def of_counts(cls: type[Count], start: LikelihoodStart) -> Count:
        """The likelihood for the given counts; a mean count of 1 where there are no data or only zeros.

        What f is added to stays as it was where a fit goes on, and is that of all rows where members see other ones.
        """
        mean = start.weights @ start.targets / max(start.num_rows, 1.0)
        log_rate = np.log(np.where(mean > 0, mean, 1.0)).astype(float)
        if isinstance(start.before, CountLikelihood):
            log_rate = np.asarray(start.before.log_rate)
        total = (start.weights @ special.gammaln(start.targets.astype(float) + 1)).sum()
        return cls(log_rate, np.asarray(float(total)))

    @classmethod
    def check_targets(cls, targets: np.ndarray) -> None:
        """Counts, or counts divided by exposure, are not negative."""
        if np.any(targets < 0):
            row = int(np.argwhere(targets < 0)[0][0])
            raise ValueError(f"y must hold counts, which are not negative; row {row} is {targets[row]}.")

    def rate(self, outputs: Any, ops: Any) -> Any:
        """Expected counts."""
        return ops.exp(outputs + np.asarray(self.log_rate, float))
