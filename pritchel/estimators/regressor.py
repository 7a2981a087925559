"""`HorseshoeRegressor`: the whole method behind scikit-learn's interface."""

import os
import warnings
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.metrics import r2_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_array, check_is_fitted, validate_data

from pritchel.data.dataset import Dataset, prepare
from pritchel.estimators import checks
from pritchel.estimators.progress import progress_display
from pritchel.guide import FAMILIES
from pritchel.guide.network import GuideSpec, start_guide, weight_mean_mask
from pritchel.infer.fit import FitResult, FitSettings, Trial, fit_trials
from pritchel.model.likelihoods import GaussianLikelihood
from pritchel.model.network import ACTIVATIONS, Model, forward
from pritchel.model.prior_draws import draw_prior_weights
from pritchel.model.priors import PRIORS, make_prior
from pritchel.model.scales import HALF_CAUCHY
from pritchel.posterior import diagnostics
from pritchel.posterior.draws import Member
from pritchel.posterior.predict import Posterior, Uncertainty
from pritchel.posterior.prune import DELTA, P0, PruneReport, prune, surviving_units

MAX_COLLAPSE_ROWS = 2000


class HorseshoeRegressor(RegressorMixin, BaseEstimator):
    """Bayesian neural network regression that starts wide and keeps only the units the data ask for.

    Inputs and targets are standardized inside; every answer is in the units of y. All arguments are keyword-only.

    Parameters
    ----------
    hidden : units offered in each hidden layer. Offer many: unused ones are switched off.
    prior : "regularized_horseshoe", "horseshoe", or "gaussian" (every weight N(0, 1), nothing to prune).
    family : the posterior's shape: "structured" (weights and their unit's scale coupled), "semi_structured",
        "factorized" or "tied".
    rank : rank of the low-rank part of the (semi-)structured covariance; the paper's is 1.
    activation : "relu" or "tanh".
    unit_scale_prior, layer_scale_prior : half-Cauchy scales b_0 and b_g, one number or one a hidden layer.
        A smaller `layer_scale_prior` switches more units off.
    output_scale_prior : half-Cauchy scale of the output layer's weights.
    slab : (shape, rate) of the inverse-gamma prior on the slab variance that caps large weights.
    slab_sharing : one slab a "network", a "layer" or a "unit".
    noise_prior : (shape, rate) of the gamma prior on the noise precision, targets standardized.
    half_cauchy : "auxiliary" (the paper's bound) or "exact" (tighter, by quadrature).
    unit_norm : divide the covariance vectors of the (semi-)structured families by their norms.
    num_steps, batch_size, learning_rate, schedule : Adam's; the rate follows a "cosine" to zero or stays "constant".
    kl_warmup : part of the steps over which the KL weight climbs from 0 to 1; 0 for none. Guards against collapse.
    early_stopping, validation_fraction, patience : hold out a part of the rows and stop after `patience` checks
        (one every few hundred steps, after the warm-up) without a better held-out log-likelihood.
    warm_start : go on from the last fit instead of starting anew (with no second warm-up).
    num_members : independent fits whose predictive distributions are mixed.
    num_draws : weight draws behind every prediction.
    n_jobs : members fitted at a time; None for as many as there are cores.
    random_state : int, RandomState or None. Fixes the fit and every prediction.
    progress : show a bar on a terminal; or a function that is called with a `Progress` after every few hundred steps.

    Attributes
    ----------
    units_kept_ : units each hidden layer keeps under the default pruning rule; one row a member if there are several.
    elbo_ : the evidence lower bound at every step; one row a member if there are several.
    unit_scales_ : posterior median scale of each unit, one array a hidden layer (first member).
    weight_norms_ : norm of each unit's expected weights, one array a hidden layer (first member).
    posterior_ : the fitted predictive distribution.
    status_ : how each member's fit ended. num_skipped_steps_ : steps skipped because they were not finite.
    is_collapsed_ : whether the fit is no better than the constant predictor on its training rows.
    """

    def __init__(
        self,
        *,
        hidden: int | tuple[int, ...] = (50,),
        prior: str = "regularized_horseshoe",
        family: str = "structured",
        rank: int = 1,
        activation: str = "relu",
        unit_scale_prior: float | tuple[float, ...] = 1.0,
        layer_scale_prior: float | tuple[float, ...] = 1e-5,
        output_scale_prior: float = 5.0,
        slab: tuple[float, float] = (2.0, 6.0),
        slab_sharing: Literal["network", "layer", "unit"] = "network",
        noise_prior: tuple[float, float] = (0.1, 0.1),
        half_cauchy: Literal["auxiliary", "exact"] = "auxiliary",
        unit_norm: bool = True,
        num_steps: int = 8000,
        batch_size: int = 128,
        learning_rate: float = 0.02,
        schedule: Literal["cosine", "constant"] = "cosine",
        kl_warmup: float = 0.5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 5,
        warm_start: bool = False,
        num_members: int = 1,
        num_draws: int = 200,
        n_jobs: int | None = None,
        random_state: Any = None,
        progress: bool | Callable = True,
    ):
        self.hidden = hidden
        self.prior = prior
        self.family = family
        self.rank = rank
        self.activation = activation
        self.unit_scale_prior = unit_scale_prior
        self.layer_scale_prior = layer_scale_prior
        self.output_scale_prior = output_scale_prior
        self.slab = slab
        self.slab_sharing = slab_sharing
        self.noise_prior = noise_prior
        self.half_cauchy = half_cauchy
        self.unit_norm = unit_norm
        self.num_steps = num_steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.kl_warmup = kl_warmup
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.warm_start = warm_start
        self.num_members = num_members
        self.num_draws = num_draws
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """The settings of Ghosh, Yao and Doshi-Velez (2018); any argument can be changed."""
        settings: dict[str, Any] = {
            "prior": "regularized_horseshoe",
            "family": "structured",
            "rank": 1,
            "activation": "relu",
            "unit_scale_prior": 1.0,
            "layer_scale_prior": 1e-5,
            "output_scale_prior": 5.0,
            "slab": (2.0, 6.0),
            "slab_sharing": "network",
            "noise_prior": (6.0, 6.0),
            "half_cauchy": "auxiliary",
            "unit_norm": True,
            "num_steps": 8000,  # the paper does not say; enough for all its sets but the largest
            "batch_size": 128,
            "learning_rate": 0.005,
            "schedule": "constant",
            "kl_warmup": 0.0,
        }
        return cls(**(settings | changes))

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to a table. A row of weight two counts as two rows; Ctrl-C keeps what is fitted so far."""
        settings = self._fit_settings()
        inputs, targets, weights = self._check_training_table(X, y, sample_weight)
        data, standardizer = prepare(inputs, targets, weights)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        starts: list[Member] = []
        if self.warm_start and hasattr(self, "posterior_"):
            starts = self._check_warm_start(targets.shape[1])
            settings = settings._replace(kl_warmup=0.0)
        train, held_out = self._hold_out(data, seed)
        trials = []
        for member in range(self.num_members):
            model = self._model(train.weights.sum())
            member_seed = (seed, member)
            if starts:
                guide = starts[member].guide
            else:
                rng = np.random.default_rng(np.random.SeedSequence((*member_seed, 0)))
                guide = start_guide(model, self._guide_spec(), inputs.shape[1], targets.shape[1], rng)
            trials.append(Trial(model, guide, train, (*member_seed, 1), held_out))
        results = self._run(trials, settings)
        members = []
        for index, (trial, result) in enumerate(zip(trials, results, strict=False)):
            fresh = Member.unpruned(trial.model, result.guide)
            members.append(starts[index]._replace(model=trial.model, guide=result.guide) if starts else fresh)
        self.posterior_ = Posterior(members, standardizer, seed, self.num_draws)
        self._train_data = data
        self._describe(results)
        self._warn_if_collapsed(data)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predictive mean, and with `return_std` the standard deviation of a new observation."""
        mean, spread = self._posterior.mean_std(self._check_inputs(X))
        return (self._shape(mean), self._shape(spread.total)) if return_std else self._shape(mean)

    def predict_uncertainty(self, X: Any) -> Uncertainty:
        """Standard deviations: total, aleatoric (noise) and epistemic (what more rows would teach)."""
        _, spread = self._posterior.mean_std(self._check_inputs(X))
        return Uncertainty(*map(self._shape, spread))

    def predict_quantiles(self, X: Any, alpha: Any = (0.05, 0.25, 0.5, 0.75, 0.95)) -> np.ndarray:
        """Quantiles of a new observation at the levels `alpha`, which become the last axis (none for one number)."""
        levels = np.atleast_1d(np.asarray(alpha, float))
        if levels.ndim != 1 or not np.all((levels > 0) & (levels < 1)):
            raise ValueError(f"alpha must be levels strictly between 0 and 1, as in (0.05, 0.5, 0.95); got {alpha!r}.")
        answer = self._shape(self._posterior.quantiles(self._check_inputs(X), levels))
        return answer[..., 0] if np.ndim(alpha) == 0 else answer

    def predict_interval(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Central interval that holds a new observation with probability `coverage`: lower and upper on the last axis."""
        if not isinstance(coverage, (float, int)) or not 0 < coverage < 1:
            raise ValueError(f"coverage must be a number strictly between 0 and 1, as in 0.9; got {coverage!r}.")
        return self.predict_quantiles(X, ((1 - coverage) / 2, (1 + coverage) / 2))

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Draws of new observations: (rows, samples), or (rows, targets, samples)."""
        return self._sample(self._posterior.sample_targets, X, n_samples, random_state)

    def sample_functions(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Draws of the regression function, each from one draw of the weights for all rows; shaped like `sample_y`."""
        return self._sample(self._posterior.sample_functions, X, n_samples, random_state)

    def log_prob(self, X: Any, y: Any) -> np.ndarray:
        """Log predictive density of each row's target (several targets: their joint density)."""
        inputs = self._check_inputs(X)
        targets = np.asarray(check_array(y, ensure_2d=False, dtype=np.float64, input_name="y"))
        targets = targets[:, None] if targets.ndim == 1 else targets
        wanted = (len(inputs), self._num_targets)
        if targets.shape != wanted:
            raise ValueError(f"y must have {wanted[0]} rows and {wanted[1]} target(s), as X and the fit have; got {targets.shape}.")
        return self._posterior.log_density(inputs, targets)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R squared of the predictive mean."""
        return float(r2_score(y, self.predict(X), sample_weight=sample_weight))

    def prune(
        self,
        delta: float = DELTA,
        p0: float = P0,
        fine_tune_steps: int = 0,
        *,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """A new fitted estimator without the units whose scale is below `delta` with probability above `p0`.

        `fine_tune_steps` more steps then move the weight means alone. They use the rows of the fit, which an estimator
        remembers until it is pickled; afterwards give them as X and y. The outcome is in `prune_report_`.
        """
        posterior = self._posterior
        checks.check_number("delta", delta, above=0)
        checks.check_number("p0", p0, above=0, at_most=1)
        checks.check_integer("fine_tune_steps", fine_tune_steps, at_least=0)
        members = [prune(member, delta, p0) for member in posterior.members]
        smaller = clone(self)
        for name, value in vars(self).items():
            if name.endswith("_") or name.startswith("_"):
                setattr(smaller, name, value)
        if fine_tune_steps:
            members = self._fine_tune(members, fine_tune_steps, X, y, sample_weight)
        smaller.posterior_ = posterior.replace_members(members)
        sizes = np.asarray([[len(units) for units in member.kept] for member in members])
        smaller.prune_report_ = PruneReport(
            members[0].offered, tuple(sizes.sum(0).tolist()), delta, p0
        ) if len(members) == 1 else [PruneReport(m.offered, tuple(map(len, m.kept)), delta, p0) for m in members]
        smaller._describe_units()
        if np.any(sizes == 0):
            warnings.warn(
                "Pruning left a hidden layer with no unit, so the network is now the constant in its output layer. "
                "If that is not what the data say, lower delta or look at is_collapsed_.",
                diagnostics.FitWarning,
                stacklevel=2,
            )
        return smaller

    def prior_predictive(
        self, X: Any, n_samples: int = 1, *, include_noise: bool = False, random_state: Any = 0
    ) -> np.ndarray:
        """Functions (with `include_noise`, observations) drawn from the prior: (rows, samples).

        A fitted estimator answers in the units of y and for all its targets; before a fit, inputs are standardized by
        themselves and answers are for one target in standard units.
        """
        checks.check_integer("n_samples", n_samples, at_least=1)
        is_fitted = hasattr(self, "posterior_")
        if is_fitted:
            inputs = self._posterior.standardizer.scale_inputs(self._check_inputs(X))
        else:
            table = np.asarray(check_array(X, dtype=np.float64))
            inputs = prepare(table, np.arange(len(table), dtype=float)[:, None])[1].scale_inputs(table)
        rng = np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))
        num_targets = self._num_targets if is_fitted else 1
        self._fit_settings()
        model = self._model(0.0)
        widths = (inputs.shape[1], *checks.check_widths(self.hidden), num_targets)
        weights = draw_prior_weights(model, widths, n_samples, rng)
        functions = forward(weights, inputs, model.activation)
        if include_noise:
            precision = rng.gamma(self.noise_prior[0], 1 / self.noise_prior[1], (n_samples, 1, num_targets))
            functions = functions + rng.standard_normal(functions.shape) / np.sqrt(precision)
        if not is_fitted:
            return functions[..., 0].T
        return self._shape(np.moveaxis(self._posterior.standardizer.unscale_targets(functions), 0, -1))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def __getstate__(self):
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_train_data"}

    # -- checks and set-up --------------------------------------------------------------------------------------

    @property
    def _posterior(self) -> Posterior:
        check_is_fitted(self)
        return self.posterior_

    @property
    def _num_targets(self) -> int:
        return len(self.posterior_.standardizer.target_mean)

    def _fit_settings(self) -> FitSettings:
        """Check every option, and gather those of the training loop."""
        checks.check_widths(self.hidden)
        checks.check_choice("prior", self.prior, PRIORS)
        checks.check_choice("family", self.family, FAMILIES)
        checks.check_choice("activation", self.activation, ACTIVATIONS)
        checks.check_choice("half_cauchy", self.half_cauchy, HALF_CAUCHY)
        checks.check_choice("schedule", self.schedule, ("cosine", "constant"))
        checks.check_choice("slab_sharing", self.slab_sharing, ("network", "layer", "unit"))
        for name in ("rank", "num_steps", "batch_size", "patience", "num_members", "num_draws"):
            checks.check_integer(name, getattr(self, name), at_least=1)
        checks.check_number("learning_rate", self.learning_rate, above=0)
        checks.check_number("kl_warmup", self.kl_warmup, at_least=0, at_most=1)
        checks.check_number("validation_fraction", self.validation_fraction, above=0, at_most=0.9)
        return FitSettings(
            num_steps=int(self.num_steps),
            batch_size=int(self.batch_size),
            learning_rate=float(self.learning_rate),
            schedule=self.schedule,
            kl_warmup=float(self.kl_warmup),
            patience=int(self.patience) if self.early_stopping else None,
        )

    def _model(self, num_rows: float) -> Model:
        num_hidden = len(checks.check_widths(self.hidden))
        checks.check_number("output_scale_prior", self.output_scale_prior, above=0)
        prior = make_prior(
            self.prior,
            num_hidden,
            unit_scale=checks.check_scales("unit_scale_prior", self.unit_scale_prior, num_hidden),
            layer_scale=checks.check_scales("layer_scale_prior", self.layer_scale_prior, num_hidden),
            output_scale=float(self.output_scale_prior),
            slab=checks.check_pair("slab", self.slab, "shape and rate of an inverse gamma"),
            slab_sharing=self.slab_sharing,
        )
        noise_prior = checks.check_pair("noise_prior", self.noise_prior, "shape and rate of a gamma")
        likelihood = GaussianLikelihood.create(noise_prior, float(num_rows))
        return Model(prior, likelihood, self.activation, self.half_cauchy)  # pyright: ignore[reportArgumentType]

    def _guide_spec(self) -> GuideSpec:
        return GuideSpec(checks.check_widths(self.hidden), self.family, int(self.rank), bool(self.unit_norm))

    def _check_training_table(self, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, Any]:
        try:
            inputs, targets = validate_data(
                self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, ensure_min_samples=2
            )
        except (ValueError, TypeError) as error:
            text = explained if (explained := checks.explain_bad_table(error, X, "X")) != str(error) else None
            raise type(error)(text or checks.explain_bad_table(error, y, "y")) from None
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, inputs, dtype=np.float64, ensure_non_negative=True)
            if np.count_nonzero(weights) < 2:
                raise ValueError("sample_weight must leave at least two rows with a positive weight.")
        targets = np.asarray(targets, np.float64)
        self._is_single_target = targets.ndim == 1
        return inputs, targets.reshape(len(targets), -1), weights

    def _check_inputs(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        try:
            return np.asarray(validate_data(self, X, dtype=np.float64, reset=False))
        except (ValueError, TypeError) as error:
            raise type(error)(checks.explain_bad_table(error, X, "X")) from None

    def _check_warm_start(self, num_targets: int) -> list[Member]:
        members = self.posterior_.members
        before = (members[0].guide.widths[0], members[0].guide.widths[-1], len(members))
        now = (self.n_features_in_, num_targets, self.num_members)
        if before != now:
            raise ValueError(
                f"warm_start goes on from a fit with (features, targets, members) = {before}; this one has {now}. "
                "Set warm_start=False to start anew."
            )
        return members

    def _hold_out(self, data: Dataset, seed: int) -> tuple[Dataset, Dataset | None]:
        if not self.early_stopping:
            return data, None
        num_rows = len(data.inputs)
        num_held = int(np.ceil(self.validation_fraction * num_rows))
        if num_rows - num_held < 2:
            raise ValueError(
                f"early_stopping needs at least two rows left to train on; {num_rows} distinct rows less "
                f"validation_fraction={self.validation_fraction} leave {num_rows - num_held}."
            )
        order = np.random.default_rng(np.random.SeedSequence((seed, 2))).permutation(num_rows)
        return data.take(np.sort(order[num_held:])), data.take(np.sort(order[:num_held]))

    # -- running and describing -----------------------------------------------------------------------------------

    def _run(self, trials: list[Trial], settings: FitSettings) -> list[FitResult]:
        n_jobs = os.cpu_count() or 1 if self.n_jobs is None or self.n_jobs < 1 else int(self.n_jobs)
        with progress_display(self.progress, len(trials), settings.num_steps) as on_progress:
            results = fit_trials(trials, settings, n_jobs=n_jobs, on_progress=on_progress)
        num_skipped = sum(result.num_skipped for result in results)
        statuses = {result.status for result in results}
        if "diverged" in statuses:
            raise FloatingPointError(
                "The fit diverged: no step of a whole chunk had a finite gradient. Lower learning_rate "
                f"(now {self.learning_rate:g}), or look for extreme values among the inputs."
            )
        if "interrupted" in statuses:
            steps = [len(result.history.likelihood) for result in results]
            warnings.warn(
                f"Interrupted: the estimator holds {len(results)} of {len(trials)} member(s), fitted for {steps} of "
                f"{settings.num_steps} steps. Set warm_start=True and call fit again to go on.",
                diagnostics.FitWarning,
                stacklevel=3,
            )
        if num_skipped:
            warnings.warn(
                f"{num_skipped} step(s) had a gradient that was not finite and were skipped; a lower learning_rate "
                f"(now {self.learning_rate:g}) avoids that.",
                diagnostics.FitWarning,
                stacklevel=3,
            )
        return results

    def _describe(self, results: list[FitResult]) -> None:
        traces = [np.asarray(result.history.total) for result in results]
        shortest = min(map(len, traces))
        self.elbo_ = traces[0] if len(traces) == 1 else np.stack([trace[:shortest] for trace in traces])
        self.status_ = [result.status for result in results]
        self.num_skipped_steps_ = sum(result.num_skipped for result in results)
        self.n_iter_ = max(map(len, traces))
        self._describe_units()

    def _describe_units(self) -> None:
        members = self.posterior_.members
        if self.prior == "gaussian":
            kept = np.asarray([member.guide.widths[1:-1] for member in members])
        else:
            kept = np.asarray([[len(units) for units in surviving_units(member.guide)] for member in members])
        self.units_kept_ = kept[0] if len(members) == 1 else kept
        self.unit_scales_ = diagnostics.unit_scales(members[0].guide)
        self.weight_norms_ = diagnostics.weight_norms(members[0].model, members[0].guide)

    def _warn_if_collapsed(self, data: Dataset) -> None:
        rows = np.linspace(0, len(data.inputs) - 1, min(len(data.inputs), MAX_COLLAPSE_ROWS)).astype(int)
        sample = data.take(rows)
        standardizer = self.posterior_.standardizer
        inputs = sample.inputs.astype(np.float64) * standardizer.input_scale + standardizer.input_mean
        mean, _ = self.posterior_.mean_std(inputs)
        predictions = standardizer.scale_targets(mean)
        self.is_collapsed_ = diagnostics.warn_if_collapsed(
            sample.targets.astype(np.float64), predictions, sample.weights.astype(np.float64)
        )

    def _fine_tune(self, members: list[Member], num_steps: int, X: Any, y: Any, sample_weight: Any) -> list[Member]:
        settings = self._fit_settings()._replace(num_steps=num_steps, kl_warmup=0.0, patience=None)
        if X is None:
            data = getattr(self, "_train_data", None)
            if data is None:
                raise ValueError(
                    "fine_tune_steps needs the training rows, which are not part of a pickled or loaded estimator: "
                    "call prune(..., X=X, y=y)."
                )
        else:
            inputs, targets, weights = clone(self)._check_training_table(X, y, sample_weight)
            scale = self.posterior_.standardizer
            data, _ = prepare(inputs, targets, weights)
            raw = prepare(inputs, targets, weights)[1]
            data = Dataset(
                scale.scale_inputs(data.inputs * raw.input_scale + raw.input_mean).astype(np.float32),
                scale.scale_targets(raw.unscale_targets(data.targets)).astype(np.float32),
                data.weights,
            )
        trials = [
            Trial(member.model, member.guide, data, (self.posterior_.seed, index, 3), None, weight_mean_mask(member.guide))
            for index, member in enumerate(members)
        ]
        results = self._run(trials, settings)
        return [member._replace(guide=result.guide) for member, result in zip(members, results, strict=False)]

    def _sample(self, sampler: Callable, X: Any, n_samples: int, random_state: Any) -> np.ndarray:
        checks.check_integer("n_samples", n_samples, at_least=1)
        seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
        return self._shape(sampler(self._check_inputs(X), int(n_samples), seed))

    def _shape(self, answer: np.ndarray) -> np.ndarray:
        """Drop the target axis where y came as one column."""
        return answer[:, 0] if self._is_single_target else answer
