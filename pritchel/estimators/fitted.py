"""What every fitted estimator can say of itself: units, scores, checks, files."""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from pritchel import checks
from pritchel.data.dataset import Dataset
from pritchel.estimators.nested import NestedSettings
from pritchel.estimators.typed import Seed, seed_of
from pritchel.guide.member import Member
from pritchel.guide.prune_rule import surviving_units_of
from pritchel.posterior import diagnostics
from pritchel.posterior.calibration import FoundCalibration
from pritchel.posterior.convergence import SamplingReport
from pritchel.posterior.evaluate import Evaluation, evaluate
from pritchel.posterior.importance import Importance, importances
from pritchel.posterior.noise import NoiseReport
from pritchel.posterior.predict import Posterior
from pritchel.posterior.predictive_checks import PredictiveCheck, Statistic, check_posterior
from pritchel.posterior.prune import PruneReports


class FittedEstimator(NestedSettings, ABC):
    """Answers from the fitted posterior that regression and classification share."""

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
    num_members: int
    _worth: np.ndarray | None = None  # as `feature_importances_` has worked it out

    @property
    def is_interrupted_(self) -> bool:
        """Whether Ctrl-C cut the fit short: of a member, or before there were as many as asked for."""
        num_made = len(self._fitted_members()) + self.num_left_out_
        return "interrupted" in self.status_ or num_made < self.num_members

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
        return diagnostics.width_remark(self.units_kept_, member.offered, self.n_iter_)

    @property
    def unit_scales_(self) -> list[list[np.ndarray]]:
        """Posterior median scale of every unit offered (0: it has left), a list a member of an array a layer."""
        members = self._fitted_members()
        return [member.per_offered_unit(diagnostics.unit_scales(member)) for member in members]

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

    def check_predictions(
        self,
        X: Any,
        y: Any,
        statistics: Mapping[str, Statistic] | None = None,
        *,
        n_samples: int = 200,
        random_state: Seed = 0,
    ) -> list[PredictiveCheck]:
        """Posterior-predictive checks: statistics of y beside those of `n_samples` tables made up by the model for X.

        A statistic is a function from a column of targets to a number, given by name; by default mean, spread and
        extremes, for counts also the share of zeros and the variance over the mean, for classes every share. Of more
        than 20,000 rows that many are taken at random.
        """
        checks.check_integer("n_samples", n_samples, at_least=1)
        inputs = self._check_inputs(X)
        return check_posterior(
            self.posterior_,
            inputs,
            self._known_targets(inputs, y),
            self._target_names(),
            labels=self._labels(),
            statistics=statistics,
            num_tables=n_samples,
            seed=seed_of(random_state),
        )

    def importances(self, X: Any, y: Any, groups: Mapping[str, Sequence[int]] | None = None) -> list[Importance]:
        """What each input is worth: what predictions of these rows lose when it is shuffled among them; most first.

        `groups` are inputs, by number, that are shuffled together; by default each is on its own, under its name.
        """
        inputs, targets = self.known_rows(X, y)
        names = getattr(self, "feature_names_in_", [f"x{index + 1}" for index in range(self.n_features_in_)])
        own = {str(name): [index] for index, name in enumerate(names)} if groups is None else groups
        return importances(self.posterior_, inputs, targets, own)

    @property
    def feature_importances_(self) -> np.ndarray:
        """What each input is worth on the rows of the fit, as shares: what predictions lose when it is shuffled.

        Log-likelihood, of which a gain counts as nothing; worked out when first asked for. Rows of the fit flatter an
        input that was learned by heart: `importances` tells what inputs are worth on other rows, and how sure that is.
        """
        check_is_fitted(self)
        data: Dataset | None = getattr(self, "_train_data", None)
        if data is None:
            raise AttributeError(
                "feature_importances_ needs the rows of the fit, which are not part of a pickled or loaded estimator: "
                "call importances(X, y)."
            )
        worth = self._worth
        if worth is None:
            standardizer, groups = self.posterior_.standardizer, {str(i): [i] for i in range(self.n_features_in_)}
            rows = standardizer.unscale_inputs(data.inputs), standardizer.unscale_targets(data.targets)
            found = {own.name: max(own.log_likelihood, 0.0) for own in importances(self.posterior_, *rows, groups)}
            worth = np.asarray([found[name] for name in groups])
            self._worth = worth = worth / worth.sum() if worth.sum() > 0 else worth
        return worth.copy()

    def save(self, path: str | os.PathLike, *, overwrite: bool = False) -> Path:
        """Write the fitted model to a folder: spec.json, weights.safetensors and a README.md card."""
        from pritchel.estimators.saved import save_estimator

        check_is_fitted(self)
        return save_estimator(Path(path), self, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike) -> Self:
        """A fitted model from a folder that `save` or the command line wrote; no code in it is run."""
        from pritchel.estimators.saved import load_saved

        return load_saved(Path(path)).of_kind(cls)

    def _fitted_members(self) -> list[Member]:
        check_is_fitted(self, "posterior_")
        return self.posterior_.members

    def _check_inputs(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        try:
            inputs = np.ascontiguousarray(validate_data(self, X, dtype=np.float64, reset=False))
        except (ValueError, TypeError) as error:
            raise type(error)(checks.explain_bad_table(error, X, "X")) from None
        checks.check_magnitude("X", inputs)
        return inputs

    @abstractmethod
    def _known_targets(self, inputs: np.ndarray, y: Any) -> np.ndarray:
        """Targets to compare predictions with, (rows, targets) as the likelihood takes them, checked."""

    @property
    def _num_targets(self) -> int:
        return len(self.posterior_.standardizer.target_mean)

    def _target_names(self) -> list[str]:
        return ["y"] if self._num_targets == 1 else [f"y{index + 1}" for index in range(self._num_targets)]

    def _labels(self) -> np.ndarray | None:
        """What indices of classes stand for; None: targets are numbers."""
        return None

    @abstractmethod
    def _target_values(self, y: Any, is_fit: bool) -> np.ndarray:
        """Targets as the likelihood takes them, (rows, targets); with `is_fit`, what there is to learn of them is."""
