"""What is asked of a loaded model beyond the shape of its spec: that its parts are about each other, and answer."""

import itertools
import numbers
from typing import Any

import numpy as np

from pritchel import checks
from pritchel.model.network import ACTIVATIONS
from pritchel.posterior.predict import Posterior
from pritchel.serial import FileError

MAX_PROBED_WEIGHTS = 1_000_000  # of larger ones the first prediction is the probe


def check_arguments(estimator: Any) -> None:
    """Raise a ValueError for an argument that the options of a fit do not look at."""
    checks.check_integer("num_draws", estimator.num_draws, at_least=1)
    if estimator.input_limit is not None:
        checks.check_number("input_limit", estimator.input_limit, at_least=1)
    if estimator.random_state is not None:
        checks.check_integer("random_state", estimator.random_state, at_least=0)
    if estimator.n_jobs is not None and not isinstance(estimator.n_jobs, numbers.Integral):
        raise FileError("its n_jobs is not a whole number")
    weights = getattr(estimator, "class_weight", None)
    if isinstance(weights, dict):
        for weight in weights.values():
            checks.check_number("class_weight", weight, at_least=0)
    elif weights not in (None, "balanced"):
        raise FileError("its class_weight is neither balanced nor weights by label")


def check_table(posterior: Posterior, table: dict[str, Any] | None, notes: dict[str, Any]) -> None:
    """The columns and scores are about the targets of these networks."""
    num_targets = len(posterior.standardizer.target_mean)
    if table is not None:
        columns, targets = [column["name"] for column in table["columns"]], table["targets"]
        if len(targets) != num_targets or len({*columns, *targets}) != len(columns) + len(targets):
            raise FileError("its table names a column twice, or other targets than it has")
    scores = notes.get("scores", [])
    if any(("accuracy" in score) != posterior.likelihood.has_classes for score in scores):
        raise FileError("its scores are of another kind than its targets")
    if scores and (len(scores) != num_targets or "num_scored" not in notes):
        raise FileError("its scores are not one a target")


def check_answers(posterior: Posterior) -> None:
    """The members can be run, and answer a typical row with finite numbers."""
    for member in posterior.members:
        if member.model.activation not in ACTIVATIONS or not isinstance(member.model.linear, bool):
            raise FileError("its activation or linear path is none that this version knows")
        sizes = (member.guide.widths[0], *member.offered, member.guide.widths[-1])
        if sum((rows + 1) * columns for rows, columns in itertools.pairwise(sizes)) > MAX_PROBED_WEIGHTS:
            return
    probe = Posterior(posterior.members, posterior.standardizer, posterior.seed, len(posterior.members))
    with np.errstate(all="ignore"):
        mean, spread = probe.mean_std(posterior.standardizer.input_mean[None])
    if not np.isfinite(mean).all() or np.isnan(spread.total).any():
        raise FileError("its predictions are not finite")
