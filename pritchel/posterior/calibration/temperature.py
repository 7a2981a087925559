"""One power of the probabilities of classes."""

from typing import Any

import numpy as np
from scipy import special

from pritchel.model.likelihoods.categorical import ClassComponents
from pritchel.posterior.calibration.base import (
    UNSEEN,
    FoundCalibration,
    at_most,
    calibration,
    check_factors,
    in_words,
    most_likely,
    num_rows,
)


@calibration
class Temperature(FoundCalibration):
    r"""$p_d' \propto p_d\,\bar p^{\,1/T - 1}$: every draw's probabilities, moved with or against those of the mixture.

    Where draws agree this is the power $1/T$ of them, made to add up to one: the usual temperature. Where they do not,
    that would leave a mixture as undecided as its draws, however sure each; this makes them agree more, or less. They
    are still draws of one model: samples, functions and both kinds of uncertainty follow.
    """

    kind = "temperature"
    is_for = "classes"
    moves_draws = True

    @classmethod
    def suits(cls, likelihood):
        """Classes."""
        return likelihood.has_classes

    @classmethod
    def find(cls, unseen, seed):
        """The temperature of greatest likelihood."""
        unseen = at_most(unseen)

        def made(temperature: float) -> FoundCalibration:
            return cls(np.array([temperature]), num_rows(unseen), seed)

        return made(most_likely(unseen, made, 0))

    def check(self, num_targets):
        """One temperature."""
        check_factors(self.values, 1)

    @property
    def power(self):
        """None at a temperature of one."""
        return 1 / float(self.values[0]) - 1

    def components(self, parts: Any, center):
        """Moved with the mixture."""
        least = np.finfo(float).tiny
        logs = np.log(np.maximum(parts.mean, least)) + self.power * np.log(np.maximum(center, least))
        probabilities = special.softmax(logs, axis=-1)
        return ClassComponents(probabilities, probabilities * (1 - probabilities), parts.of_observed)

    def __str__(self) -> str:
        word = in_words(self.values[0], "too cautious", "too sure")
        return (
            f"temperature {self.values[0]:.2f}, found from {self.num_rows:,} rows {UNSEEN}: probabilities were {word}"
        )
