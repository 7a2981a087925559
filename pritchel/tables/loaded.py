"""A model folder that answers for tables, and no more: what the commands that ask a model load."""

import os
from pathlib import Path
from typing import Any, Self

import numpy as np

from pritchel.estimators.saved import Saved, load_to_ask
from pritchel.serial import FileError
from pritchel.tables.baselines import line_of
from pritchel.tables.columns import TablePlan
from pritchel.tables.fitted import FittedTable
from pritchel.tables.group_folder import require_one_model
from pritchel.tables.messages import TableError
from pritchel.tables.plan import plan_arrays

KINDS = ("HorseshoeRegressor", "HorseshoeClassifier")


class LoadedTable(FittedTable):
    """The answers of a `TableModel`, read in a second: it has no settings, and cannot be fitted, pruned or saved."""

    def __init__(
        self,
        estimator: Any,
        plan: TablePlan,
        notes: dict[str, Any],
        arrays: dict[str, np.ndarray],
        spec: dict[str, Any],
    ):
        self.estimator_, self.plan_, self.notes_, self.arrays_, self.spec_ = estimator, plan, notes, arrays, spec

    @classmethod
    def load(cls, path: str | os.PathLike) -> Self:
        """A model folder; of an estimator fitted to arrays, with columns x1, x2, ... and a target y."""
        require_one_model(Path(path))
        return cls.of_saved(load_to_ask(Path(path)), path)

    @classmethod
    def of_saved(cls, saved: Saved, path: str | os.PathLike) -> Self:
        """The model of a folder that has been read."""
        return cls(saved.model, plan_of(saved, path), saved.notes, saved.arrays, saved.spec)

    def _require_fitted(self) -> None:
        """It is."""


def plan_of(saved: Saved, path: str | os.PathLike) -> TablePlan:
    """How the columns of tables become the inputs of a model that was read; its parts are seen to fit together."""
    if saved.spec["kind"] not in KINDS:
        raise TableError(f"{path} holds a {saved.spec['kind']}, which does not predict from tables.")
    plan = plan_arrays(saved.model) if saved.table is None else TablePlan.from_json(saved.table)
    if len(plan.feature_names()) != saved.model.n_features_in_:
        raise FileError(f"{path} cannot be loaded: its columns do not make the inputs of the network.")
    line_of(saved.model, saved.arrays)
    return plan
