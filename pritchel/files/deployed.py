"""What an export carries: columns, standardization, stacked weight draws, and how outputs become answers."""

from typing import Any, NamedTuple

import jax
import numpy as np

from pritchel.files.expressions import Expression, ExpressionOps
from pritchel.model.network import Weights
from pritchel.posterior.draws import DrawBlock
from pritchel.tables.cells import MISSING
from pritchel.tables.columns import TablePlan
from pritchel.tables.spelling import PATTERNS


class Deployed(NamedTuple):
    """A model reduced to what predictions need; weights in single precision, one stack of draws a member."""

    plan: TablePlan
    activation: str
    stacks: list[Weights]
    input_mean: np.ndarray
    input_scale: np.ndarray
    target_mean: np.ndarray
    target_scale: np.ndarray
    mean: Expression  # of y given the outputs of all draws (draws, rows, outputs), in standard units
    var: Expression
    classes: tuple[str, ...] | None  # None: a regressor


def deployed(estimator: Any, plan: TablePlan) -> Deployed:
    """The draws that the estimator itself predicts from, so that exports agree with it up to rounding."""
    posterior = estimator.posterior_
    blocks: dict[int, list[DrawBlock]] = {}
    for member, block in posterior.weight_draws():
        blocks.setdefault(member, []).append(block)
    joined = [jax.tree.map(lambda *parts: np.concatenate(parts), *part) for part in blocks.values()]
    stacks = [jax.tree.map(lambda leaf: leaf.astype(np.float32), block.weights) for block in joined]
    values = {name: np.concatenate([block.noise[name] for block in joined]) for name in joined[0].noise}
    outputs = Expression("Outputs", (), posterior.members[0].guide.widths[-1])
    mean, var = posterior.likelihood.moments(outputs, values, ExpressionOps)
    classes = tuple(str(label) for label in estimator.classes_) if posterior.likelihood.has_classes else None
    scaling = posterior.standardizer._asdict()
    activation = posterior.members[0].model.activation
    return Deployed(plan, activation, stacks, **scaling, mean=mean, var=var, classes=classes)


def columns_as_json(plan: TablePlan) -> list[dict[str, Any]]:
    """The plan's columns as plain values."""
    keys = ("name", "kind", "fill", "is_missing_marked", "categories")
    columns = [{key: column[key] for key in keys} for column in plan.to_json()["columns"]]
    for column in columns:
        spelling = plan.spelling(column["name"])
        column |= {"missing": MISSING, "spelling": spelling, "pattern": PATTERNS.get(spelling, "")}
    return columns
