"""What fitted members say of themselves, whoever holds them: units, scores, what inputs are worth. No scikit-learn."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pritchel.guide.member import Member
from pritchel.guide.prune_rule import inclusion_probabilities, surviving_units_of
from pritchel.posterior import diagnostics
from pritchel.posterior.calibration import FoundCalibration
from pritchel.posterior.convergence import SamplingReport
from pritchel.posterior.evaluate import Evaluation, evaluate
from pritchel.posterior.importance import Importance, importances
from pritchel.posterior.noise import NoiseReport
from pritchel.posterior.predict import Posterior
from pritchel.posterior.prune import PruneReports


class Answering(ABC):
    """Answers from a fitted posterior, the same of an estimator as of a folder that was read to ask it something."""

    posterior_: Posterior
    prune_report_: PruneReports
    n_features_in_: int
    sampling_report_: SamplingReport
    noise_report_: NoiseReport | None
    is_collapsed_: bool
    elbo_: np.ndarray
    status_: list[str]
    n_iter_: int
    num_skipped_steps_: int
    num_left_out_: int
    cv_score_: float

    @property
    def units_kept_(self) -> np.ndarray:
        """Units each hidden layer keeps under the default pruning rule: (members, layers)."""
        members = self._fitted_members()
        if not members[0].guide.has_unit_scales():
            return np.asarray([member.guide.widths[1:-1] for member in members])
        return np.asarray([[len(units) for units in surviving_units_of(member)] for member in members])

    @property
    def width_remark_(self) -> str | None:
        """What to do about hidden layers that are nearly full; None: there is room in all of them."""
        member = self._fitted_members()[0]
        if not member.guide.has_unit_scales():
            return None
        return diagnostics.width_remark(self.units_kept_, member.offered, self.n_iter_, member.model.activation)

    @property
    def unit_scales_(self) -> list[list[np.ndarray]]:
        """Posterior median scale of every unit offered (0: it has left), a list a member of an array a layer."""
        members = self._fitted_members()
        return [member.per_offered_unit(diagnostics.unit_scales(member)) for member in members]

    @property
    def inclusion_(self) -> list[list[np.ndarray]]:
        """P(in) of every unit offered (0: it has left), a list a member of an array a layer; 1 where the prior has all
        units in.
        """
        members = self._fitted_members()
        return [member.per_offered_unit(inclusion_probabilities(member)) for member in members]

    @property
    def weight_norms_(self) -> list[list[np.ndarray]]:
        """Norm of every unit's expected weights (0: it has left), a list a member of an array a layer."""
        members = self._fitted_members()
        return [member.per_offered_unit(diagnostics.weight_norms(member)) for member in members]

    @property
    def calibration_(self) -> FoundCalibration | None:
        """What calibration came to; its text says it in words. None: there is none."""
        self._fitted_members()
        return self.posterior_.calibration

    def known_rows(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and targets, (rows, targets), as `posterior_` takes them, checked."""
        inputs = self._check_inputs(X)
        return inputs, self._known_targets(inputs, y)

    def evaluate(self, X: Any, y: Any, *, names: list[str] | None = None, train_y: Any = None) -> Evaluation:
        """Scores on rows with known targets, beside the constant predictor's, with predictive checks.

        `names` are the targets' for the scores. The constant predictor knows `train_y`; without it what the fit
        standardized by, or, of classes and counts, which are not standardized, the rows that are scored.
        """
        inputs, targets = self.known_rows(X, y)
        train = None if train_y is None else self._target_values(np.asarray(train_y), is_fit=False)
        return evaluate(
            self.posterior_,
            inputs,
            targets,
            names or self._target_names(),
            labels=self._labels(),
            train_targets=train,
        )

    def importances(self, X: Any, y: Any, groups: Mapping[str, Sequence[int]] | None = None) -> list[Importance]:
        """What each input is worth: what predictions of these rows lose when it is shuffled among them; most first.

        `groups` are inputs, by number, that are shuffled together; by default each is on its own, under its name.
        """
        inputs, targets = self.known_rows(X, y)
        names = getattr(self, "feature_names_in_", [f"x{index + 1}" for index in range(self.n_features_in_)])
        own = {str(name): [index] for index, name in enumerate(names)} if groups is None else groups
        return importances(self.posterior_, inputs, targets, own)

    def _fitted_members(self) -> list[Member]:
        return self.posterior_.members

    @abstractmethod
    def _check_inputs(self, X: Any) -> np.ndarray:
        """Inputs as `posterior_` takes them, checked."""

    @abstractmethod
    def _known_targets(self, inputs: np.ndarray, y: Any) -> np.ndarray:
        """Targets to compare predictions with, (rows, targets) as the likelihood takes them, checked."""

    @abstractmethod
    def _target_values(self, y: Any, is_fit: bool) -> np.ndarray:
        """Targets as the likelihood takes them, (rows, targets); with `is_fit`, what there is to learn of them is."""

    @property
    def _num_targets(self) -> int:
        return len(self.posterior_.standardizer.target_mean)

    def _target_names(self) -> list[str]:
        return ["y"] if self._num_targets == 1 else [f"y{index + 1}" for index in range(self._num_targets)]

    def _labels(self) -> np.ndarray | None:
        """What indices of classes stand for; None: targets are numbers."""
        return None
