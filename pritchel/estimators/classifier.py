"""`HorseshoeClassifier`: the same priors, families and pruning for classes."""

import os
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from pritchel import checks
from pritchel.estimators.partial import PartialEstimator
from pritchel.estimators.presets import FAST_ARGUMENTS, paper_arguments
from pritchel.estimators.typed import Seed, seed_of
from pritchel.guide import Family
from pritchel.infer.options import Inference, Sampling, Training
from pritchel.infer.trial import Progress
from pritchel.model.likelihoods.categorical import Categorical
from pritchel.model.priors import PriorSettings
from pritchel.posterior.answers import Uncertainty
from pritchel.posterior.calibration import Calibration


class HorseshoeClassifier(ClassifierMixin, PartialEstimator):
    """Bayesian neural network classification that starts wide and keeps only the units the data ask for.

    Two classes or more; labels are texts, whole numbers, truth values or dates. Arguments and fitted attributes are
    those of :class:`~pritchel.HorseshoeRegressor` but for the likelihood and the calibration; besides those:

    Parameters
    ----------
    calibration : str or Calibration, optional
        "temperature": one power of all probabilities, found from rows that no member is fitted to, a fifth of them; see
        :class:`~pritchel.Calibration`. None: probabilities are the posterior's.
    class_weight : None, "balanced" or dict
        Weights of the labels, which multiply `sample_weight`.
    label_noise : float
        Share of the labels that may be wrong, drawn at random; 0 trusts all of them.

    Attributes
    ----------
    classes_ : array
        The labels, sorted; columns of `predict_proba` are in their order.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pritchel import HorseshoeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = HorseshoeClassifier.fast(hidden=(10,), random_state=0)
    >>> bool(model.fit(X, y).score(X, y) > 0.9)
    True
    """

    classes_: np.ndarray

    def __init__(
        self,
        *,
        hidden: Literal["auto"] | int | tuple[int, ...] = "auto",
        prior: str | PriorSettings = "regularized_horseshoe",
        family: str | Family = "structured",
        linear: bool = True,
        activation: Literal["swish", "relu", "tanh"] = "swish",
        input_limit: float | None = None,
        class_weight: Literal["balanced"] | dict[Any, float] | None = None,
        label_noise: float = 0.0,
        training: Training | None = None,
        inference: Inference = "auto",
        sampling: Sampling | None = None,
        calibration: str | Calibration | None = None,
        num_members: int = 3,
        num_draws: int = 200,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Seed = None,
        progress: bool | Callable[[Progress], None] = True,
        checkpoint: str | os.PathLike[str] | None = None,
    ):
        self.hidden = hidden
        self.prior = prior
        self.family = family
        self.linear = linear
        self.activation = activation
        self.input_limit = input_limit
        self.class_weight = class_weight
        self.label_noise = label_noise
        self.training = training
        self.inference = inference
        self.sampling = sampling
        self.calibration = calibration
        self.num_members = num_members
        self.num_draws = num_draws
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress
        self.checkpoint = checkpoint

    @classmethod
    def paper(cls, *, prior: str | PriorSettings = "regularized_horseshoe", **changes: Any) -> Self:
        """The settings of Ghosh, Yao and Doshi-Velez (2018); any argument, or setting inside one, can be changed."""
        arguments = paper_arguments(prior)
        del arguments["likelihood"]
        return cls(**arguments).set_params(**changes)

    @classmethod
    def fast(cls, **changes: Any) -> Self:
        """Settings for a first look: one network of 50 units, a quarter of the steps; any of them can be changed."""
        return cls(**FAST_ARGUMENTS).set_params(**changes)

    def likelihood_settings(self) -> Categorical:
        """Classes, with the label noise that was given."""
        return Categorical(label_noise=self.label_noise)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, averaged over the posterior."""
        inputs = self._check_inputs(X)
        return self.posterior_.mean_std(inputs)[0]

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class."""
        index = self.predict_proba(X).argmax(1)
        return self.classes_[index]

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logs of `predict_proba`."""
        return np.log(np.maximum(self.predict_proba(X), np.finfo(float).tiny))

    def predict_uncertainty(self, X: Any) -> Uncertainty:
        """Entropies in nats: total, aleatoric (the classes overlap), epistemic (what more rows would teach)."""
        inputs = self._check_inputs(X)
        return self.posterior_.entropies(inputs)

    def log_prob(self, X: Any, y: Any) -> np.ndarray:
        """Log predictive probability of each row's label as it is observed: with `label_noise` some are wrong."""
        inputs = self._check_inputs(X)
        return self.posterior_.log_density(inputs, self._known_targets(inputs, y))

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Seed = 0) -> np.ndarray:
        """Draws of labels: (rows, samples)."""
        checks.check_integer("n_samples", n_samples, at_least=1)
        inputs = self._check_inputs(X)
        draws = self.posterior_.sample_targets(inputs, int(n_samples), seed_of(random_state))
        return self.classes_[draws[:, 0].astype(int)]

    def sample_functions(self, X: Any, n_samples: int = 1, random_state: Seed = 0) -> np.ndarray:
        """Draws of the probabilities, one weight draw for all rows: (rows, classes, samples)."""
        checks.check_integer("n_samples", n_samples, at_least=1)
        inputs = self._check_inputs(X)
        return self.posterior_.sample_functions(inputs, int(n_samples), seed_of(random_state))

    def _labels(self) -> np.ndarray:
        return self.classes_

    def _target_values(self, y: Any, is_fit: bool) -> np.ndarray:
        """Indices of classes; those of a fit are learned from it, unless it goes on from another."""
        check_classification_targets(y)
        labels = column_or_1d(y, warn=True)
        if is_fit and not (self.warm_start and hasattr(self, "posterior_")):
            self.classes_ = np.unique(labels)
            if len(self.classes_) < 2:
                only = self.classes_[0]
                raise ValueError(f"y holds one class only, {only!r}; a classifier needs rows of at least two.")
        return checks.index_of_labels(labels, self.classes_)[:, None]

    def _know_targets(self, source: Any) -> np.ndarray:
        known = self.classes_ if self.warm_start and hasattr(self, "posterior_") else None
        self.classes_, codes = source.classes(known)
        return codes

    def _know_classes(self, classes: Any) -> None:
        self.classes_ = np.unique(column_or_1d(classes))

    def _row_weights(self, y: Any, weights: np.ndarray | None) -> np.ndarray | None:
        if self.class_weight is None:
            return weights
        balance = compute_sample_weight(self.class_weight, column_or_1d(y))
        if not np.all((balance >= 0) & np.isfinite(balance)):
            raise ValueError(f"class_weight must give every class a weight of zero or more; got {self.class_weight!r}.")
        return balance if weights is None else weights * balance

    def _known_targets(self, inputs: np.ndarray, y: Any) -> np.ndarray:
        targets = self._target_values(np.asarray(y), is_fit=False)
        if len(targets) != len(inputs):
            raise ValueError(f"y must have a label for each of the {len(inputs)} rows of X; got {len(targets)}.")
        return targets
