"""One power of the probabilities of classes."""

import numpy as np

from pritchel.posterior.calibration.base import (
    UNSEEN,
    FoundCalibration,
    at_most,
    calibration,
    check_factors,
    in_words,
    most_likely,
)


@calibration
class Temperature(FoundCalibration):
    r"""$\mathrm{softmax}(f/T)$ of every draw: of its probabilities the power $1/T$, made to add up to one.

    Each draw has its own, rather than their mixture, so that samples, functions and both kinds of uncertainty are still
    those of one model. A class that was the likeliest by a hair need not stay so.
    """

    kind = "temperature"
    is_for = "classes"

    @classmethod
    def suits(cls, likelihood):
        """Classes."""
        return likelihood.has_classes

    @classmethod
    def find(cls, posterior, unseen, seed):
        """The temperature of greatest likelihood."""
        unseen = at_most(unseen)

        def made(temperature: float) -> FoundCalibration:
            return cls(np.array([temperature]), len(unseen.inputs), seed)

        return made(most_likely(posterior, unseen, made, 0))

    def check(self, num_targets):
        """One temperature."""
        check_factors(self.values, 1)

    def outputs(self, outputs):
        """Divided by the temperature."""
        return outputs / self.values[0]

    def __str__(self) -> str:
        word = in_words(self.values[0], "too cautious", "too sure")
        return (
            f"temperature {self.values[0]:.2f}, found from {self.num_rows:,} rows {UNSEEN}: probabilities were {word}"
        )
