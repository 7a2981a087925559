"""The interface of a calibration: what unseen rows taught, and what that makes of each answer."""

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from pritchel import checks
from pritchel.model.likelihoods import Likelihood
from pritchel.model.likelihoods.base import Components
from pritchel.posterior.answers import Fresh
from pritchel.posterior.mixture import mixed_quantiles
from pritchel.settings import Settings

SMALLEST, LARGEST = 0.05, 20.0  # factors and temperatures
PULL = 5.0  # rows' worth of a wish to leave predictions as they are: ten rows can do little harm
MAX_ROWS = 2000  # that a factor is found from
TAIL = 1e-6  # beyond these levels distribution functions have few digits, and intervals are stretched instead
NO_CHANGE = 1.05  # up to a factor of this, predictions are said to have been about right
UNSEEN = "by members not fitted to them"


@dataclasses.dataclass(frozen=True, eq=False)
class FoundCalibration(ABC):
    """What calibration came to, and what it makes of answers; each kind changes some of them and leaves the others."""

    kind: ClassVar[str]
    is_for: ClassVar[str]  # targets that it suits, in words
    moves_draws: ClassVar[bool] = False  # towards the mean of all, or away
    uses_own_rows: ClassVar[bool] = False  # of the fit, and keeps none from it
    values: np.ndarray
    num_rows: int
    seed: int  # that chose them

    @classmethod
    @abstractmethod
    def suits(cls, likelihood: type[Likelihood]) -> bool:
        """Whether it can be had for targets of this kind."""

    @classmethod
    @abstractmethod
    def find(cls, unseen: Sequence[Fresh], seed: int) -> "FoundCalibration | None":
        """From rows beside uncalibrated members that were not fitted to them; `seed` chose which those are.

        One that uses the fit's own rows has those. None: answers are best left alone.
        """

    @abstractmethod
    def check(self, num_targets: int) -> None:
        """Raise a ValueError for values that could not have been found."""

    @abstractmethod
    def __str__(self) -> str: ...

    def components(self, parts: Components, center: np.ndarray) -> Components:
        """The draws' distributions as they count; `center` is the mean of all draws behind answers."""
        return parts

    def quantiles(self, parts: Components, levels: np.ndarray) -> np.ndarray:
        """Quantiles of a mixture, levels on the last axis."""
        return mixed_quantiles(parts, levels)

    def cdf(self, parts: Components, values: np.ndarray, cdf: np.ndarray) -> np.ndarray:
        """The level whose quantile a value is, where the mixture's distribution function has `cdf`."""
        return cdf

    @property
    def power(self) -> float:
        """Of the mixture's probabilities, by which those of every draw are multiplied."""
        return 0.0

    @property
    def factor(self) -> np.ndarray | float:
        """What the spread of predictions is multiplied by."""
        return 1.0

    def own_levels(self, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Levels of the mixture whose quantiles are the answers, (targets or 1, levels), and what to add to those.

        That is in widths of the mixture's interval of all but `2 * TAIL`, with a sign.
        """
        return levels[None], np.zeros((1, len(levels)))

    def steps(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Coverages in rising order, and how far intervals of up to each reach, (targets, steps); None: as they are."""
        return None

    def complaint(self, levels: np.ndarray) -> str | None:
        """What is wrong with quantiles at these levels, and what to do; None: nothing."""
        return None


CALIBRATIONS: dict[str, type[FoundCalibration]] = {}


def calibration(kind: type[FoundCalibration]) -> type[FoundCalibration]:
    """Register a kind of calibration; estimators and the command line then accept its name."""
    CALIBRATIONS[kind.kind] = kind
    return kind


def num_rows(unseen: Sequence[Fresh]) -> int:
    """Of all parts together."""
    return sum(len(own.rows.inputs) for own in unseen)


def at_most(unseen: Sequence[Fresh], most: int = MAX_ROWS) -> list[Fresh]:
    """As many of the rows as tell a factor, of each part its share."""
    share = min(1.0, most / num_rows(unseen))
    some = []
    for posterior, rows in unseen:
        count = len(rows.inputs)
        some.append(Fresh(posterior, rows.take(np.linspace(0, count - 1, max(1, round(share * count))).astype(int))))
    return some


def most_likely(unseen: Sequence[Fresh], made: Callable[[float], FoundCalibration], target: int) -> float:
    """The factor under which a target of the unseen rows is likeliest, pulled to one by a few rows' worth."""

    def loss(log_factor: float) -> float:
        calibration, total = made(math.exp(log_factor)), 0.0
        for posterior, rows in unseen:
            told = posterior.with_calibration(calibration).log_densities(rows.inputs, rows.targets)[:, target]
            total += float(rows.weights @ told)
        return PULL * log_factor**2 - total

    from scipy import optimize

    bounds = (math.log(SMALLEST), math.log(LARGEST))
    found: Any = optimize.minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-3})
    return math.exp(found.x)


def check_factors(values: np.ndarray, number: int) -> None:
    """So many factors that could have been found."""
    if values.shape != (number,) or not np.all((values >= SMALLEST) & (values <= LARGEST)):
        raise ValueError(f"its calibration is not {number} number(s) from {SMALLEST:g} to {LARGEST:g}")


def in_words(factor: float, below: str, above: str) -> str:
    """What predictions were, by the factor that sets them right."""
    if 1 / NO_CHANGE <= factor <= NO_CHANGE:
        return "about right"
    return below if factor < 1 else above


@dataclasses.dataclass(frozen=True)
class Calibration(Settings):
    """How predictions are set right, but for "auto" on rows that no member is fitted to.

    Parameters
    ----------
    name : str
        "spread": one factor on the distance of everything from the predictive mean, found by maximum likelihood.
        "conformal": intervals and quantiles hold as many new rows as they promise, whatever the model; density, mean
        and standard deviation stay. Both are for numbers. "temperature", for classes: one power of all probabilities.
        "auto": the factor of "spread" from the fit's own rows, where several sampled networks' mixture is clearly too
        wide for them; else nothing is changed.
    unseen_fraction : float
        The part of the rows that no member is fitted to (at most 10,000 of them), drawn at random; of classes evenly.
        "auto" keeps none.

    Examples
    --------
    >>> from pritchel import Calibration, HorseshoeRegressor
    >>> HorseshoeRegressor(calibration=Calibration("conformal", unseen_fraction=0.3)).calibration
    Calibration(name='conformal', unseen_fraction=0.3)
    """

    name: str
    unseen_fraction: float = 0.2

    @property
    def keeps_rows(self) -> bool:
        """Whether some rows are kept from the fit."""
        return not CALIBRATIONS[self.name].uses_own_rows

    @classmethod
    def of(cls, value: Any, likelihood: type[Likelihood]) -> "Calibration":
        """A calibration as given, or the one that a name stands for, checked against what targets are."""
        chosen = cls(value) if isinstance(value, str) else value
        if not isinstance(chosen, cls):
            names = ", ".join(map(repr, CALIBRATIONS))
            raise ValueError(f"calibration must be None, a name ({names}) or a Calibration; got {value!r}.")
        checks.check_choice("calibration", chosen.name, CALIBRATIONS)
        checks.check_number("unseen_fraction", chosen.unseen_fraction, above=0, at_most=0.9)
        found = CALIBRATIONS[chosen.name]
        if not found.suits(likelihood):
            suited = {name: kind for name, kind in CALIBRATIONS.items() if kind.suits(likelihood)}
            others = [repr(name) for name, kind in suited.items() if not kind.uses_own_rows]
            raise ValueError(
                f"calibration={chosen.name!r} is for {found.is_for}. For these targets there is "
                f"{' or '.join(others) or 'none'}; leave it out otherwise."
            )
        return chosen
