"""Rows that some members were not fitted to, and what those say of them: honest scores of a fit to all rows."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pritchel.data.dataset import Standardizer, Table
from pritchel.data.split import Crossing
from pritchel.infer.members import MemberFit
from pritchel.infer.options import Options
from pritchel.posterior.answers import Fresh
from pritchel.posterior.calibration import FoundCalibration
from pritchel.posterior.evaluate import Evaluation, evaluate_unseen
from pritchel.posterior.predict import Posterior


class Crossed(NamedTuple):
    """The rows of each part beside the members that did not see it, and where they stand among those given."""

    unseen: list[Fresh]
    places: list[np.ndarray]

    @classmethod
    def of(
        cls,
        fits: Sequence[MemberFit],
        crossing: Crossing,
        standardizer: Standardizer,
        seed: int,
        num_draws: int,
    ) -> "Crossed | None":
        """Parts whose members are all gone, left out or interrupted, are gone with them; None: there is none."""
        unseen, places = [], []
        for part in range(crossing.num_parts):
            own = [fit.member for fit in fits if fit.number % crossing.num_parts == part]
            rows = np.flatnonzero(crossing.part == part)
            if own and len(rows):
                draws = max(1, num_draws * len(own) // len(fits))
                unseen.append(Fresh(Posterior(own, standardizer, seed, draws), crossing.rows.take(rows)))
                places.append(rows)
        return cls(unseen, places) if unseen else None

    def score(self) -> float:
        """The mean log density of a row, by its weight; of several targets together."""
        told = np.concatenate([own.log_density(rows.inputs, rows.targets) for own, rows in self.unseen])
        weights = np.concatenate([rows.weights for _, rows in self.unseen])
        return float(weights @ told / weights.sum())

    def calibrated(self, calibration: FoundCalibration | None) -> "Crossed":
        """The same with answers set right as those of the whole fit are."""
        unseen = [Fresh(own.with_calibration(calibration), rows) for own, rows in self.unseen]
        return self._replace(unseen=unseen)

    def evaluate(self, names: list[str], labels: np.ndarray | None) -> Evaluation:
        """Scores, and the answers behind them in the order of the rows."""
        return evaluate_unseen(self.unseen, self.places, names, labels=labels)


def num_parts(options: Options, *, goes_on: bool) -> int:
    """How many parts the rows are dealt out in, 0 for none; a ValueError where that cannot be."""
    cross_fit = options.training.cross_fit
    if cross_fit is False:
        return 0
    number = options.num_members if cross_fit is True else int(cross_fit)
    if not 2 <= number <= options.num_members:
        raise ValueError(
            f"cross_fit={cross_fit!r} needs at least two parts, and a member for each that is not fitted to it; there "
            f"are num_members={options.num_members}."
        )
    if options.training.early_stopping:
        raise ValueError("cross_fit and early_stopping both keep rows from members: leave one of them out.")
    if goes_on:
        raise ValueError(
            "cross_fit needs members that have not seen some rows, and with warm_start they have: fit anew, or set "
            "cross_fit=False."
        )
    return number


def cross(
    table: tuple[np.ndarray, np.ndarray, np.ndarray | None], number: int, seed: int, has_classes: bool
) -> Crossing | None:
    """The rows of a table dealt out in so many parts; None for none."""
    if not number:
        return None
    inputs, targets, weights = table
    rows = Table(inputs, targets, np.ones(len(inputs)) if weights is None else weights)
    return Crossing.of(rows, number, seed, has_classes)
