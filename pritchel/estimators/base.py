"""What the estimators share: from a checked table, or batches, to fitted members."""

import os
import warnings
from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, validate_data

from pritchel import checks
from pritchel.data.dataset import Standardizer, distinct_rows, prepare
from pritchel.data.passes import Rows
from pritchel.data.split import Crossing, Unseen, leave_out
from pritchel.estimators.batches import is_source
from pritchel.estimators.crossed import Crossed, cross, num_parts
from pritchel.estimators.outcome import as_it_was, collapse, describe_fits, warn_of_chains, warn_of_limits
from pritchel.estimators.progress import progress_display
from pritchel.estimators.pruning import PrunedEstimator
from pritchel.estimators.remarks import table_remarks
from pritchel.estimators.scanned import ScannedBatches, scan_batches, streamed_options
from pritchel.estimators.stragglers import leave_out_stragglers
from pritchel.estimators.variational import Ready, fit_variational
from pritchel.estimators.warm_start import require_same_network
from pritchel.guide.member import Member
from pritchel.infer.members import MemberFit
from pritchel.infer.options import Options, Sampling, Training
from pritchel.infer.redundant import without_redundant
from pritchel.infer.sample import ChainResult, sample_members
from pritchel.infer.trial import Execution, Stage
from pritchel.jobs import num_at_once
from pritchel.model.likelihoods import LikelihoodSettings
from pritchel.posterior import diagnostics
from pritchel.posterior.answers import Fresh
from pritchel.posterior.calibration import Calibration
from pritchel.posterior.convergence import report_sampling
from pritchel.posterior.draws import max_draws
from pritchel.posterior.noise import report_noise
from pritchel.posterior.predict import Posterior
from pritchel.posterior.prune import prune
from pritchel.processes import of_first


class HorseshoeEstimator(PrunedEstimator):
    """From rows to a fitted posterior; subclasses say what targets are."""

    hidden: Any
    prior: Any
    family: Any
    activation: Any
    linear: bool
    input_limit: float | None
    training: Training | None
    inference: Any
    sampling: Sampling | None
    calibration: str | Calibration | None
    num_members: int
    num_draws: int
    warm_start: bool
    n_jobs: int | None
    random_state: Any
    progress: bool | Callable
    checkpoint: str | os.PathLike | None

    @abstractmethod
    def likelihood_settings(self) -> LikelihoodSettings:
        """The likelihood that the estimator's arguments ask for."""

    def calibration_settings(self) -> Calibration | None:
        """How predictions are set right on rows of their own, in full; None: they are not."""
        kind = self.likelihood_settings().kind
        return None if self.calibration is None else Calibration.of(self.calibration, kind)

    def _row_weights(self, y: Any, weights: np.ndarray | None) -> np.ndarray | None:
        return weights

    def options(self) -> Options:
        """All options, checked; a ValueError says which will not do, and what would."""
        self.calibration_settings()
        return Options.of(
            hidden=self.hidden,
            prior=self.prior,
            family=self.family,
            likelihood=self.likelihood_settings(),
            activation=self.activation,
            linear=self.linear,
            training=Training() if self.training is None else self.training,
            num_members=self.num_members,
            inference=self.inference,
            sampling=self.sampling,
        )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to a table, or to a source of rows that is read in batches and need not fit into memory.

        A row of weight two counts as two rows; Ctrl-C keeps what is fitted so far. A source is an object that gives
        batches (X, y) or (X, y, weight) each time that it is iterated over; or a folder, a pattern or a list of Parquet
        files, a pyarrow dataset, a polars lazy frame, a Dask data frame or a Ray dataset: y, and sample_weight if
        there is one, are then names of columns.
        """
        given, in_batches = (X, y, sample_weight), isinstance(X, ScannedBatches) or is_source(X, y)
        with as_it_was(self):
            return self._fit_rows(self._streamed(*given) if in_batches else self._tabled(*given))

    def _tabled(self, X: Any, y: Any, sample_weight: Any) -> Ready:
        """A table, ready to be fitted to."""
        inputs, targets, weights = self._check_table(X, y, sample_weight, is_fit=True)
        options, seed = self._checked_options(inputs.shape[1]), self._seed()
        starts, standardizer = self._warm_start(targets.shape[1], options)
        number, kind = num_parts(options, goes_on=bool(starts)), options.likelihood.kind
        crossing = cross((inputs, targets, weights), number, seed, kind.has_classes)
        rows, unseen = self._split((inputs, targets, weights), seed, bool(starts), crossing is not None)
        data, standardizer = prepare(
            *rows,
            standardizer=standardizer,
            scale_targets=kind.standardizes,
            input_limit=self.input_limit,
        )
        return Ready(data, standardizer, options, seed, starts, unseen, crossing)

    def _streamed(self, X: Any, y: Any, sample_weight: Any) -> Ready:
        """A source of batches, read once and ready to be fitted to."""
        kind = self.likelihood_settings().kind
        source = X if isinstance(X, ScannedBatches) else scan_batches(X, y, sample_weight, kind, self.progress)
        options, seed = streamed_options(self._checked_options(source.num_features), self), self._seed()
        self._know_features(source)
        codes = self._know_targets(source)
        starts, standardizer = self._warm_start(source.num_targets, options)
        stream = source.stream(standardizer, self.input_limit, options.training.buffer_rows, codes)
        for remark in table_remarks(*stream.known.table[:2], kind):
            warnings.warn(remark, diagnostics.FitWarning, stacklevel=4)
        calibration, unseen = self.calibration_settings(), None
        if calibration is not None and calibration.keeps_rows:
            stream, rows = stream.leave_out(float(calibration.unseen_fraction))
            unseen = Unseen(calibration.name, rows, seed)
        return Ready(stream, stream.standardizer, options, seed, starts, unseen)

    def _fit_rows(self, ready: Ready) -> Self:
        """Fit to rows, and say what it came to."""
        rows, standardizer, _, seed, *_, crossing = ready
        first, options, num_left_out = fit_variational(ready, self._num_classes(), self._execution, self.checkpoint)
        data = rows.sample
        for name in ("prune_report_", "_before", "_crossed", "cv_score_"):
            vars(self).pop(name, None)
        self._num_seen = rows.num_rows
        sampled, chains, why = self._sampled(first, rows, options, seed, crossing)
        fits, chains = leave_out_stragglers(sampled, chains, standardizer, seed, data, crossing)
        self.num_left_out_ = num_left_out + len(sampled) - len(fits)
        members = [fit.member for fit in fits]
        vars(self).update(describe_fits([fit.result for fit in fits]))
        plain = Posterior(members, standardizer, seed, int(self.num_draws))
        self.posterior_ = self._set_right(plain, fits, ready)
        self._train_data, self._worth = data, None
        self.sampling_report_ = report_sampling(members, chains, why, data, have_same_rows=crossing is None)
        warn_of_chains(self.sampling_report_)
        warn_of_limits(self, float(data.weights.sum()))
        self.noise_report_ = report_noise(self.posterior_, data)
        self.is_collapsed_ = collapse(plain, rows, options, seed, may_refit="interrupted" not in self.status_)
        return self

    def _set_right(self, plain: Posterior, fits: list[MemberFit], ready: Ready) -> Posterior:
        """The posterior, calibrated if it is to be, by rows that no member, or some, did not see; those are scored."""
        calibration, unseen = self.calibration_settings(), ready.unseen
        if calibration is not None and not calibration.keeps_rows:
            rows = plain.standardizer.unscale(ready.rows.sample)
            unseen, calibration = Unseen(calibration.name, rows, plain.seed), None
        if ready.crossing is None:
            return plain if unseen is None else plain.calibrated(unseen.name, [Fresh(plain, unseen.rows)], unseen.seed)
        crossed = Crossed.of(fits, ready.crossing, plain.standardizer, plain.seed, plain.num_draws)
        if crossed is None:
            return plain
        done = plain if calibration is None else plain.calibrated(calibration.name, crossed.unseen, plain.seed)
        self._crossed = crossed.calibrated(done.calibration)
        self.cv_score_ = self._crossed.score()
        return done

    def _checked_options(self, num_features: int) -> Options:
        """All options, for inputs of so many columns."""
        options = self.options()
        checks.check_integer("num_draws", self.num_draws, at_least=1)
        checks.check_number("num_draws", self.num_draws, at_most=max_draws((num_features, *options.hidden, 1)))
        if self.input_limit is not None:
            checks.check_number("input_limit", self.input_limit, at_least=1)
        return options

    def _seed(self) -> int:
        return int(of_first(check_random_state(self.random_state).randint(np.iinfo(np.int32).max)))

    def _know_features(self, source: ScannedBatches) -> None:
        """Learn of a source how many inputs there are, and their names."""
        self.n_features_in_ = source.num_features
        vars(self).pop("feature_names_in_", None)
        if source.names is not None:
            self.feature_names_in_ = np.asarray(source.names, object)

    def _know_targets(self, source: ScannedBatches) -> np.ndarray | None:
        """Learn of a source what its targets are; the numbers of classes that it met in another order."""
        self.is_single_target_ = source.is_single_target

    def _split(self, table: Any, seed: int, goes_on: bool, is_crossed: bool) -> tuple[Any, Unseen | None]:
        """The rows to fit to, and those that calibration keeps from the fit; a fit that goes on keeps them too."""
        calibration = self.calibration_settings()
        if calibration is None or is_crossed or not calibration.keeps_rows:
            return table, None
        before = self.posterior_.calibration if goes_on else None
        if goes_on and (before is None or before.uses_own_rows):
            raise ValueError(
                "calibration needs rows that no member has seen, and the fit that warm_start goes on from has seen "
                "all: set warm_start=False, or calibration as it was."
            )
        seed = seed if before is None else before.seed
        has_classes = self.likelihood_settings().kind.has_classes
        rows, unseen = leave_out(distinct_rows(*table), float(calibration.unseen_fraction), seed, has_classes)
        return rows, Unseen(calibration.name, unseen, seed)

    def _num_classes(self) -> int:
        labels = self._labels()
        return 0 if labels is None else len(labels)

    def _sampled(
        self, fits: list[MemberFit], rows: Rows, options: Options, seed: int, crossing: Crossing | None
    ) -> tuple[list[MemberFit], list[ChainResult], str]:
        """The fits with their members pruned and sampled, where that is the inference chosen, their chains, and why.

        After an interrupt those whose chains had hardly begun are left out, unless all had.
        """
        if "interrupted" in {fit.result.status for fit in fits}:
            return fits, [], "the fit was interrupted"
        if (data := rows.table) is None:
            return fits, [], "chains need all rows in memory, and these came in batches"
        members = [prune(fit.member) if fit.member.guide.has_unit_scales() else fit.member for fit in fits]
        is_fitted = None if crossing is None else [crossing.is_fitted(fit.number) for fit in fits]
        if options.may_sample(data.num_rows):
            shares = [1.0] * len(members) if is_fitted is None else is_fitted
            own = [data._replace(weights=data.weights * share) for share in shares]
            members = [without_redundant(member, rows) for member, rows in zip(members, own, strict=True)]
        num_weights = max(member.guide.num_weights for member in members)
        plan, why = options.sampling_plan(len(data.inputs), num_weights, int(self.num_draws))
        if plan is None:
            return fits, [], why
        try:
            num_iterations = plan.num_warmup + plan.num_samples
            with self._execution(len(members), num_iterations, self.checkpoint, "sampling") as execution:
                outcome = sample_members(members, data, plan, seed, execution, is_fitted)
        except KeyboardInterrupt:  # before any chain had begun
            return [fit.ended("interrupted") for fit in fits], [], "the fit was interrupted"
        if all(member.draws is None for member, _ in outcome):
            return [fit.ended("interrupted") for fit in fits], [chain for _, chain in outcome], why
        sampled = [
            (fit._replace(member=member).ended(chain.status), chain)
            for fit, (member, chain) in zip(fits, outcome, strict=True)
            if member.draws is not None
        ]
        return [fit for fit, _ in sampled], [chain for _, chain in sampled], why

    def _check_table(
        self, X: Any, y: Any, sample_weight: Any, is_fit: bool, goes_on: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Inputs, targets as the likelihood takes them and weights of a table to train on; one row goes on, too."""
        is_numeric = not self.likelihood_settings().kind.has_classes
        (checks.check_numeric_targets if is_numeric else checks.check_labels)(y)
        rules = {"multi_output": is_numeric, "y_numeric": is_numeric, "ensure_min_samples": 1 if goes_on else 2}
        try:
            inputs, values = cast(Any, validate_data)(self, X, y, dtype=np.float64, reset=is_fit, **rules)
        except (ValueError, TypeError) as error:
            text = explained if (explained := checks.explain_bad_table(error, X, "X")) != str(error) else None
            raise type(error)(text or (checks.explain_bad_table(error, y, "y") if is_numeric else str(error))) from None
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, inputs, dtype=np.float64, ensure_non_negative=True)
        targets = self._target_values(values, is_fit)
        weights = self._row_weights(values, weights)
        for name, table in (("X", inputs), ("y", targets)):
            checks.check_magnitude(name, table)
        for remark in table_remarks(inputs, targets, self.likelihood_settings().kind):
            warnings.warn(remark, diagnostics.FitWarning, stacklevel=4)
        if weights is not None:
            checks.check_total_weight("sample_weight", weights) if goes_on else checks.check_weights(weights)
        return np.ascontiguousarray(inputs), targets, weights

    def _warm_start(self, num_targets: int, options: Options) -> tuple[list[Member], Standardizer | None]:
        if not self.warm_start or not hasattr(self, "posterior_"):
            return [], None
        require_same_network(self.posterior_, self.n_features_in_, num_targets, options)
        return self.posterior_.members, self.posterior_.standardizer

    def _execution(self, num_fits: int, num_steps: int, checkpoint: Any = None, stage: Stage = "fitting") -> Any:
        folder = None if checkpoint is None else Path(checkpoint)
        execution = Execution(num_at_once(self.n_jobs), None, folder)
        return progress_display(self.progress, num_fits, num_steps, execution, stage)
