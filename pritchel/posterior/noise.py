"""What the noise of a fit came to: how wide it is, whether that depends on the inputs, and how heavy its tails are."""

from typing import NamedTuple

import numpy as np

from pritchel.data.dataset import Dataset
from pritchel.posterior.predict import Posterior

MAX_ROWS = 1000
STEADY = 1.25  # the widest nine tenths of rows may differ by so much and still be called the same
ONE_HUMP = 1.05  # up to here rows are said to have one
GAUSSIAN_DOF = 15.0  # from here on tails are called Gaussian


class TargetNoise(NamedTuple):
    """The noise of one target, over the rows that were fitted and in its units."""

    spread: float  # standard deviation, of the middle row; where there is none, half of what holds the middle 68 %
    least: float  # a row in twenty has less
    most: float  # a row in twenty has more
    dof: float | None  # degrees of freedom of the tails; None: they are Gaussian
    humps: float = 1.0  # of a row, on average

    @property
    def is_constant(self) -> bool:
        """Whether it hardly depends on the inputs."""
        return self.most <= STEADY * self.least

    def __str__(self) -> str:
        where = ", the same for all rows"
        if not self.is_constant:
            where = f" for the middle row, {self.least:.3g} to {self.most:.3g} for nine in ten"
        name = "half the width of the middle 68 %" if self.dof is not None and self.dof <= 2 else "standard deviation"
        tails = "Gaussian tails" if self.dof is None else f"tails of {self.dof:.1f} degrees of freedom"
        humps = f"; {self.humps:.1f} humps a row" if self.humps > ONE_HUMP else ""
        return f"{name} {self.spread:.3g}{where}; {tails}{humps}"


class NoiseReport(tuple):
    """What the noise came to, a target each.

    Examples
    --------
    >>> from pritchel import NoiseReport
    >>> from pritchel.posterior.noise import TargetNoise
    >>> print(NoiseReport([TargetNoise(0.2, 0.1, 0.9, 4.0)]))
    standard deviation 0.2 for the middle row, 0.1 to 0.9 for nine in ten; tails of 4.0 degrees of freedom
    """

    def __str__(self) -> str:
        if len(self) == 1:
            return str(self[0])
        return "; ".join(f"target {index + 1}: {target}" for index, target in enumerate(self))


def report_noise(posterior: Posterior, data: Dataset) -> NoiseReport | None:
    """Over some of the rows that were fitted; None for counts and classes, whose noise follows from their mean."""
    if not posterior.likelihood.standardizes:
        return None
    rows = np.linspace(0, len(data.inputs) - 1, min(len(data.inputs), MAX_ROWS)).astype(int)
    spread, humps, dof = posterior.noise(posterior.standardizer.unscale_inputs(data.inputs[rows]))
    least, middle, most = np.quantile(spread, (0.05, 0.5, 0.95), axis=0)
    tails = [None if of_target >= GAUSSIAN_DOF else float(of_target) for of_target in dof]
    figures = zip(*(part.tolist() for part in (middle, least, most)), tails, humps.mean(0).tolist(), strict=True)
    return NoiseReport([TargetNoise(*of_target) for of_target in figures])
