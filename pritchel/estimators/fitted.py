"""What every fitted estimator can do: answer, after scikit-learn's own checks of what it is asked, and be saved."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from pritchel import checks
from pritchel.data.dataset import Dataset
from pritchel.estimators.answering import Answering
from pritchel.estimators.nested import NestedSettings
from pritchel.estimators.typed import Seed, seed_of
from pritchel.guide.member import Member
from pritchel.posterior.evaluate import Evaluation
from pritchel.posterior.importance import importances
from pritchel.posterior.predictive_checks import PredictiveCheck, Statistic, check_posterior


class FittedEstimator(NestedSettings, Answering):
    """Answers from the fitted posterior that regression and classification share."""

    num_members: int
    _worth: np.ndarray | None = None  # as `feature_importances_` has worked it out

    @property
    def is_interrupted_(self) -> bool:
        """Whether Ctrl-C cut the fit short: of a member, or before there were as many as asked for."""
        num_made = len(self._fitted_members()) + self.num_left_out_
        return "interrupted" in self.status_ or num_made < self.num_members

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

    @property
    def unseen_rows_(self) -> list[np.ndarray]:
        """After a fit with `cross_fit`: which rows a part of the members did not see, an array a part; else none."""
        crossed: Any = getattr(self, "_crossed", None)
        return [] if crossed is None else crossed.places

    def evaluate_unseen(self, *, names: list[str] | None = None) -> Evaluation:
        """Scores of the rows of a fit with `cross_fit`, each by members that did not see it; in the order of the rows.

        A mixture of a part of the members knows less than that of all: the fit is somewhat better than these scores.
        """
        check_is_fitted(self)
        crossed: Any = getattr(self, "_crossed", None)
        if crossed is None:
            raise ValueError(
                "evaluate_unseen needs a fit with cross_fit=True, and its rows, which are not part of a pickled or "
                "loaded estimator; of that cv_score_ is left."
            )
        return crossed.evaluate(names or self._target_names(), self._labels())

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
