"""Fits that go on, some rows at a time: `partial_fit`."""

import warnings
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import validate_data

from pritchel.data.dataset import Dataset, prepare
from pritchel.estimators.base import HorseshoeEstimator
from pritchel.estimators.batches import is_source, open_batches
from pritchel.estimators.outcome import as_it_was, collapse, describe_fits, usable_fits
from pritchel.estimators.warm_start import require_same_network
from pritchel.infer.members import Before, fit_further
from pritchel.posterior.convergence import report_sampling
from pritchel.posterior.diagnostics import CollapseWarning
from pritchel.posterior.noise import report_noise
from pritchel.posterior.predict import Posterior


class PartialEstimator(HorseshoeEstimator):
    """Learns from rows as they come, each seen once."""

    _num_seen: int
    _before: Before

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, classes: Any = None) -> Self:
        """Go on from the fit so far, or begin one, with one pass over these rows: a table, or a source as in `fit`.

        The new rows stand for all that were seen, the rate of learning stays as it is, and no unit leaves. Inputs and
        targets are standardized as those of the first call were: begin with rows that are like those to come. `classes`
        are those of all rows, if the first have not all of them.
        """
        calibration = self.calibration_settings()
        if calibration is not None and calibration.keeps_rows:
            raise ValueError("calibration needs rows that no pass has seen: leave it out for partial_fit.")
        if self.training is not None and self.training.cross_fit:
            raise ValueError("cross_fit needs rows that some members never see: leave it False for partial_fit.")
        if not is_source(X, y):
            with as_it_was(self):
                return self._describe(self._one_pass(X, y, sample_weight, classes))
        data = None
        try:
            for batch in open_batches(X, y, sample_weight).read(None):
                if len(batch.inputs) and (batch.weights is None or np.any(batch.weights)):
                    inputs = batch.inputs if batch.names is None else pd.DataFrame(batch.inputs, columns=[*batch.names])
                    with as_it_was(self):
                        data = self._one_pass(inputs, batch.targets, batch.weights, classes)
        except BaseException:
            if data is not None:  # the batches before the one that failed stay learned
                self._describe(data)
            raise
        if data is None:
            raise ValueError("The source gave no rows.")
        return self._describe(data)

    def _one_pass(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> Dataset:
        begins = not hasattr(self, "posterior_")
        if not begins and not hasattr(self, "_num_seen"):
            raise ValueError(
                "partial_fit must know how many rows a fit has seen, which a model folder does not hold: fit anew, or "
                "go on with the estimator itself."
            )
        if begins and classes is not None:
            validate_data(self, X, dtype=np.float64)
            self._know_classes(classes)
        table = self._check_table(X, y, sample_weight, is_fit=begins and classes is None, goes_on=not begins)
        options = self._checked_options(table[0].shape[1])
        if not begins:
            require_same_network(self.posterior_, self.n_features_in_, table[1].shape[1], options)
        standardizes = options.likelihood.kind.standardizes
        standardizer = None if begins else self.posterior_.standardizer
        data, standardizer = prepare(
            *table, standardizer=standardizer, scale_targets=standardizes, input_limit=self.input_limit
        )
        seed = self._seed() if begins else self.posterior_.seed
        before = Before() if begins else getattr(self, "_before", Before(self.posterior_.members, (), self._num_seen))
        num_steps = -(-data.num_rows // options.fit_settings(data.num_rows).batch_size)
        with self._execution(options.num_members, num_steps) as execution:
            fits, self._before = fit_further(
                before, data, options, seed, num_classes=self._num_classes(), execution=execution
            )
        usable_fits(fits, options.num_members, num_steps, options.training.learning_rate)
        self._num_seen = self._before.num_rows
        trace = None if begins else self.elbo_
        vars(self).update(describe_fits([fit.result for fit in fits]))
        if trace is not None and len(trace) == len(self.elbo_):
            self.elbo_ = np.concatenate([trace, self.elbo_], axis=1)
            self.n_iter_ = self.elbo_.shape[1]
        self.num_left_out_ = 0
        self.posterior_ = Posterior([*self._before.members], standardizer, seed, int(self.num_draws))
        return data

    def _describe(self, data: Dataset) -> Self:
        """What there is to say of the fit so far, by the last rows."""
        vars(self).pop("prune_report_", None)
        self._train_data, self._worth = data, None
        self.sampling_report_ = report_sampling(self.posterior_.members, [], "rows were seen once each", data)
        self.noise_report_ = report_noise(self.posterior_, data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CollapseWarning)  # of fits that have hardly begun
            self.is_collapsed_ = collapse(self.posterior_, data, self.options(), self.posterior_.seed, may_refit=False)
        return self

    def _know_classes(self, classes: Any) -> None:
        """Learn what classes there are."""
        raise ValueError("classes are those of a classifier; these targets are numbers.")
