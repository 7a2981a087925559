"""What an export carries: columns, standardization, stacked weight draws, and how outputs become answers."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pritchel import checks
from pritchel.files.expressions import Expression, ExpressionOps
from pritchel.files.tails import Tails, student_tails
from pritchel.model.network import Weights
from pritchel.posterior.calibration import FoundCalibration
from pritchel.posterior.calibration.base import TAIL
from pritchel.posterior.draws import DrawBlock
from pritchel.posterior.predict import Posterior
from pritchel.tables.cells import MISSING
from pritchel.tables.columns import TablePlan
from pritchel.tables.spelling import PATTERNS
from pritchel.tree import map_leaves


class Deployed(NamedTuple):
    """A model reduced to what predictions need; weights in single precision, one stack of draws a member."""

    plan: TablePlan
    activation: str
    stacks: list[Weights]
    input_mean: np.ndarray
    input_scale: np.ndarray
    target_mean: np.ndarray
    target_scale: np.ndarray
    parts: list[tuple[Any, Any, Any]]  # of y given the outputs of all draws (draws, rows, outputs), in standard units
    tails: Tails | None  # None: the parts are not Student-t, and there are no quantiles
    calibration: FoundCalibration | None
    has_one_answer: bool  # one target that was given as a column of its own: answers are (rows,)
    classes: tuple[str, ...] | None  # None: a regressor

    @property
    def factor(self) -> np.ndarray:
        """What the spread of every target is multiplied by."""
        return np.ones_like(self.target_mean) * (1.0 if self.calibration is None else self.calibration.factor)

    @property
    def power(self) -> float:
        """Of the mixture's probabilities, by which those of every draw are multiplied."""
        return 0.0 if self.calibration is None else self.calibration.power

    def own_levels(self, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As those of a calibration: (targets, levels) each."""
        own, beyond = (
            (levels[None], np.zeros_like(levels)) if self.calibration is None else self.calibration.own_levels(levels)
        )
        shape = (len(self.target_mean), len(levels))
        return np.broadcast_to(own, shape), np.broadcast_to(beyond, shape)

    def check_levels(self, levels: Sequence[float]) -> np.ndarray:
        """Levels that quantiles can be had for; a ValueError says why not."""
        if len(levels) and (why := self.why_no_quantiles()) is not None:
            raise ValueError(f"{why} Leave --quantile out.")
        if not all(TAIL <= level <= 1 - TAIL for level in levels):
            raise ValueError(f"--quantile must be a level between {TAIL:g} and {1 - TAIL:g}; got {list(levels)}.")
        return np.asarray(levels, float)

    def why_no_quantiles(self) -> str | None:
        """In a sentence; None: there are."""
        if self.classes is not None:
            return "An export of classes has probabilities, and no quantiles."
        if self.tails is None:
            return "An export of this likelihood has mean and sd only: quantiles need Gaussian or Student-t humps."
        return None


def deployed(estimator: Any, plan: TablePlan, num_draws: int | None = None) -> Deployed:
    """The draws that the estimator itself predicts from, so that exports agree with it up to rounding.

    With `num_draws` as many as it would predict from with fewer.
    """
    posterior: Posterior = estimator.posterior_
    if num_draws is not None:
        checks.check_integer("num_draws", num_draws, at_least=1)
        checks.check_number("num_draws", num_draws, at_most=posterior.num_draws)
        posterior = posterior.with_draws(num_draws)
    blocks: dict[int, list[DrawBlock]] = {}
    for member, block in posterior.weight_draws():
        blocks.setdefault(member, []).append(block)
    joined = [map_leaves(lambda *parts: np.concatenate(parts), *part) for part in blocks.values()]
    stacks = [map_leaves(lambda leaf: leaf.astype(np.float32), block.weights) for block in joined]
    values = {name: np.concatenate([block.noise[name] for block in joined]) for name in joined[0].noise}
    outputs = Expression("Outputs", (), posterior.members[0].guide.widths[-1])
    return Deployed(
        plan,
        posterior.members[0].model.activation,
        stacks,
        **posterior.standardizer._asdict(),
        parts=posterior.likelihood.parts(outputs, values, ExpressionOps),
        tails=student_tails(posterior.likelihood.student_dof(values)),
        calibration=posterior.calibration,
        has_one_answer=getattr(estimator, "is_single_target_", False),
        classes=tuple(str(label) for label in estimator.classes_) if posterior.likelihood.has_classes else None,
    )


def columns_as_json(plan: TablePlan) -> list[dict[str, Any]]:
    """The plan's columns as plain values."""
    keys = ("name", "kind", "fill", "is_missing_marked", "categories")
    columns = [{key: column[key] for key in keys} for column in plan.to_json()["columns"]]
    for column in columns:
        spelling = plan.spelling(column["name"])
        column |= {"missing": MISSING, "spelling": spelling, "pattern": PATTERNS.get(spelling, "")}
    return columns
