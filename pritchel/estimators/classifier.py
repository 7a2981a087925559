"""`HorseshoeClassifier`: the same priors, families and pruning for classes."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from pritchel import checks
from pritchel.estimators.arguments import with_arguments
from pritchel.estimators.base import HorseshoeEstimator
from pritchel.model.likelihoods import LIKELIHOODS, Likelihood
from pritchel.posterior.predict import Uncertainty
from pritchel.posterior.predictive_checks import Statistic, class_statistics


@with_arguments(without=("noise_prior",), class_weight=None, label_noise=0.0)
class HorseshoeClassifier(ClassifierMixin, HorseshoeEstimator):
    """Bayesian neural network classification that starts wide and keeps only the units the data ask for.

    Two classes or more, labels of any type. Options and fitted attributes are those of `HorseshoeRegressor` but for the
    noise; besides those:

    Parameters
    ----------
    class_weight : None, "balanced", or a dictionary from labels to weights, which multiply `sample_weight`.

    label_noise : share of the labels that may be wrong, drawn at random; 0 trusts all of them.

    Attributes
    ----------
    classes_ : the labels, sorted; columns of `predict_proba` are in their order.
    """

    noise_prior = (0.1, 0.01)  # classes have no noise; the shared code reads it
    class_weight: Any
    label_noise: float
    classes_: np.ndarray

    @property
    def _likelihood(self) -> type[Likelihood]:
        return LIKELIHOODS["categorical"]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to a table. A row of weight two counts as two rows; Ctrl-C keeps what is fitted so far."""
        try:
            inputs, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        except (ValueError, TypeError) as error:
            raise type(error)(checks.explain_bad_table(error, X, "X")) from None
        checks.check_number("label_noise", self.label_noise, at_least=0, at_most=0.9)
        check_classification_targets(labels)
        labels = column_or_1d(labels, warn=True)
        self.classes_, index = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y holds one class only, {self.classes_[0]!r}; a classifier needs rows of at least two.")
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, inputs, dtype=np.float64, ensure_non_negative=True)
        if self.class_weight is not None:
            balance = compute_sample_weight(self.class_weight, labels)
            weights = balance if weights is None else weights * balance
        if weights is not None and np.count_nonzero(weights) < 2:
            raise ValueError("sample_weight must leave at least two rows with a positive weight.")
        self._is_single_target = True
        self._fit_table(np.ascontiguousarray(inputs), index.astype(np.float64)[:, None], weights)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, averaged over the posterior."""
        return self._posterior.mean_std(self._check_inputs(X))[0]

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class."""
        index = self.predict_proba(X).argmax(1)
        return self.classes_[index]

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logs of `predict_proba`."""
        return np.log(np.maximum(self.predict_proba(X), np.finfo(float).tiny))

    def predict_uncertainty(self, X: Any) -> Uncertainty:
        """Entropies in nats: total, aleatoric (the classes overlap), epistemic (what more rows would teach)."""
        return self._posterior.entropies(self._check_inputs(X))

    def log_prob(self, X: Any, y: Any) -> np.ndarray:
        """Log predictive probability of each row's label."""
        inputs = self._check_inputs(X)
        return self._posterior.log_density(inputs, self._class_index(y)[:, None])

    def sample_y(self, X: Any, n_samples: int = 1, random_state: int = 0) -> np.ndarray:
        """Draws of labels: (rows, samples)."""
        checks.check_integer("n_samples", n_samples, at_least=1)
        draws = self._posterior.sample_targets(self._check_inputs(X), int(n_samples), int(random_state))
        return self.classes_[draws[:, 0].astype(int)]

    def sample_functions(self, X: Any, n_samples: int = 1, random_state: int = 0) -> np.ndarray:
        """Draws of the probabilities, one weight draw for all rows: (rows, classes, samples)."""
        checks.check_integer("n_samples", n_samples, at_least=1)
        return self._posterior.sample_functions(self._check_inputs(X), int(n_samples), int(random_state))

    def _known_targets(self, inputs: np.ndarray, y: Any) -> np.ndarray:
        return self.classes_[self._class_index(y).astype(int)][:, None]

    def _statistics(self) -> Mapping[str, Statistic]:
        return class_statistics(self.classes_)

    def _class_index(self, y: Any) -> np.ndarray:
        labels = np.asarray(y)
        index = np.searchsorted(self.classes_, labels)
        index = np.minimum(index, len(self.classes_) - 1)
        if np.any(unknown := self.classes_[index] != labels):
            wrong, known = labels[unknown].tolist()[0], self.classes_.tolist()
            raise ValueError(f"y holds {wrong!r}, a class that the fit has not seen; it knows {known}.")
        return index.astype(float)
