"""A fitted estimator made smaller: units pruned, and the rest tuned a little further."""

import copy
import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pritchel import checks
from pritchel.data.dataset import Dataset, prepare
from pritchel.estimators.fitted import FittedEstimator
from pritchel.estimators.outcome import usable_fits
from pritchel.guide.member import Member
from pritchel.guide.prune_rule import THRESHOLD, rule_for
from pritchel.infer.members import fine_tune_members
from pritchel.infer.options import Options
from pritchel.infer.trial import Stage
from pritchel.posterior import diagnostics
from pritchel.posterior.prune import PruneReport, PruneReports, prune


class PrunedEstimator(FittedEstimator):
    """From a fitted posterior to a smaller one."""

    linear: bool

    @abstractmethod
    def options(self) -> Options:
        """All options, checked; a ValueError says which will not do, and what would."""

    @abstractmethod
    def _check_table(
        self, X: Any, y: Any, sample_weight: Any, is_fit: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Inputs, targets as the likelihood takes them and weights of a table to train on."""

    @abstractmethod
    def _execution(self, num_fits: int, num_steps: int, checkpoint: Any = None, stage: Stage = "fitting") -> Any:
        """How fits are run, with somebody to tell."""

    def prune(
        self,
        threshold: float | None = None,
        probability: float | None = None,
        fine_tune_steps: int = 0,
        *,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """A new fitted estimator without the units whose scale is below a threshold with more than some probability.

        Left open they are 0.001 and 0.9; with a prior that has inclusion variables, such as "spike_slab", the units
        that are out with a probability above a half go instead.

        `fine_tune_steps` more steps then move the weight means alone. They use the rows of the fit, which an estimator
        remembers until it is pickled; afterwards give them as X and y. The outcome is in `prune_report_`.
        """
        check_is_fitted(self)
        if threshold is not None:
            checks.check_number("threshold", threshold, above=0)
        if probability is not None:
            checks.check_number("probability", probability, above=0, at_most=1)
        checks.check_integer("fine_tune_steps", fine_tune_steps, at_least=0)
        if fine_tune_steps and self.posterior_.members[0].draws is not None:
            raise ValueError(
                "fine_tune_steps moves the means of a variational fit, and this one was sampled: its draws need no "
                "tuning. Leave fine_tune_steps out, or fit with inference='variational'."
            )
        members = [prune(member, threshold, probability) for member in self.posterior_.members]
        if fine_tune_steps:
            members = self._fine_tune(members, fine_tune_steps, self._tuning_data(X, y, sample_weight))
        smaller = copy.copy(self)
        vars(smaller)["_train_data"] = getattr(
            self, "_train_data", None
        )  # which a copy leaves behind, as a pickle does
        vars(smaller).pop("_before", None)  # partial_fit goes on from the smaller members
        smaller.posterior_ = self.posterior_.replace_members(members)
        rule = rule_for(members[0].model.prior, threshold, probability)
        smaller.prune_report_ = PruneReports(
            PruneReport(member.offered, tuple(map(len, member.kept)), *rule) for member in members
        )
        is_default = rule.threshold is None or rule.threshold <= THRESHOLD
        is_linear = self.linear and not self.is_collapsed_ and is_default  # which is an answer
        if any(0 in report.kept for report in smaller.prune_report_) and not is_linear:
            rest = "its linear path" if self.linear else "the constant in its output layer"
            warnings.warn(
                f"Pruning left a hidden layer with no unit, so the network is now {rest}. If that is not what the data "
                "say, lower the threshold or look at is_collapsed_.",
                diagnostics.FitWarning,
                stacklevel=2,
            )
        return smaller

    def __getstate__(self):
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_train_data", "_worth", "_crossed")}

    def _tuning_data(self, X: Any, y: Any, sample_weight: Any) -> Dataset:
        if X is not None:
            table = self._check_table(X, y, sample_weight, is_fit=False)
            return prepare(*table, standardizer=self.posterior_.standardizer)[0]
        data = getattr(self, "_train_data", None)
        if data is None:
            raise ValueError(
                "fine_tune_steps needs the training rows, which are not part of a pickled or loaded estimator: "
                "call prune(..., X=X, y=y)."
            )
        return data

    def _fine_tune(self, members: list[Member], num_steps: int, data: Dataset) -> list[Member]:
        options = self.options()
        with self._execution(len(members), num_steps) as execution:
            fits = fine_tune_members(members, data, options, self.posterior_.seed, num_steps, execution)
        usable = usable_fits(fits, len(members), num_steps, options.training.learning_rate)
        return [fit.member for fit in usable]
