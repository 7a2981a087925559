"""What an export carries: the columns, the standardization, and the stacked weight draws behind every prediction."""

from typing import Any, NamedTuple

import jax
import numpy as np

from pritchel.data.tables import MISSING, TablePlan
from pritchel.model.network import Weights


class Deployed(NamedTuple):
    """A model reduced to what predictions need; weights in single precision, one stack of draws a member."""

    plan: TablePlan
    activation: str
    stacks: list[Weights]
    input_mean: np.ndarray
    input_scale: np.ndarray
    target_mean: np.ndarray
    target_scale: np.ndarray
    noise_var: np.ndarray  # in the units of the targets

    @property
    def num_floats(self) -> int:
        """How many weights an export holds."""
        return sum(leaf.size for leaf in jax.tree.leaves(self.stacks))


def deployed(estimator: Any, plan: TablePlan) -> Deployed:
    """The draws that the estimator itself predicts from, so that exports agree with it up to rounding."""
    posterior = estimator.posterior_
    blocks: dict[tuple, list[Weights]] = {}
    for weights in posterior.weight_draws():
        shapes = tuple(leaf.shape[1:] for leaf in jax.tree.leaves(weights))
        blocks.setdefault(shapes, []).append(weights)
    stacks = [jax.tree.map(lambda *parts: np.concatenate(parts).astype(np.float32), *part) for part in blocks.values()]
    scaling = posterior.standardizer._asdict()
    activation = posterior.members[0].model.activation
    return Deployed(plan, activation, stacks, **scaling, noise_var=posterior.mean_noise_var())


def columns_as_json(plan: TablePlan) -> list[dict[str, Any]]:
    """The plan's columns as plain values."""
    keys = ("name", "kind", "fill", "is_missing_marked", "categories")
    columns = plan.to_json()["columns"]
    return [{key: column[key] for key in keys} | {"missing": MISSING} for column in columns]
