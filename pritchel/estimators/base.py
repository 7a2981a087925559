"""What every estimator shares: the options, the way from a table to fitted members, pruning, descriptions."""

import copy
import hashlib
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from pritchel import checks
from pritchel.data.dataset import Dataset, prepare
from pritchel.estimators.progress import progress_display
from pritchel.guide import FAMILIES
from pritchel.guide.member import Member
from pritchel.guide.network import GuideSpec, held_layer_scale_mask, start_guide, weight_mean_mask
from pritchel.guide.prune_rule import DELTA, P0, surviving_units
from pritchel.infer.checkpoint import Checkpoint
from pritchel.infer.fit import FitResult, FitSettings, Trial, fit_trials
from pritchel.infer.outputs import OUTPUTS, Objective
from pritchel.model.likelihoods import LIKELIHOODS, Likelihood, LikelihoodStart
from pritchel.model.network import ACTIVATIONS, Model
from pritchel.model.priors import PRIORS, make_prior
from pritchel.model.scales import HALF_CAUCHY
from pritchel.posterior import diagnostics
from pritchel.posterior.predict import Posterior
from pritchel.posterior.predictive_checks import PredictiveCheck, Statistic, predictive_checks
from pritchel.posterior.prune import PruneReport, PruneReports, prune
from pritchel.serial import encode, versions

MAX_COLLAPSE_ROWS = 400
MAX_CHECKED_ROWS = 20_000


def default_steps(num_rows: int) -> tuple[int, int]:
    """Steps, and rows in a batch: 8,000 of 128 for a table of up to 10,000 rows, then slowly more of both."""
    growth = float(np.clip(np.sqrt(num_rows / 10_000), 1, 4))
    return 1000 * round(8 * growth), 128 if num_rows < 20_000 else 256


def _without_stragglers(results: dict[int, FitResult]) -> dict[int, FitResult]:
    """The members that an interrupt left at least half as far along as the furthest; others would blur the mixture."""
    furthest = max(len(result.history.likelihood) for result in results.values())
    return {index: result for index, result in results.items() if 2 * len(result.history.likelihood) >= furthest}


class HorseshoeEstimator(BaseEstimator, ABC):
    """Options and fitting; subclasses put questions to the fitted posterior."""

    n_features_in_: int
    prune_report_: Any  # a PruneReport, or PruneReports for several members

    def __init__(
        self,
        *,
        hidden: int | tuple[int, ...] = (100, 100),
        prior: str = "regularized_horseshoe",
        family: str = "structured",
        rank: int = 1,
        linear: bool = True,
        activation: str = "relu",
        input_limit: float | None = None,
        unit_scale_prior: float | tuple[float, ...] = 1.0,
        layer_scale_prior: float | tuple[float, ...] = 1e-5,
        output_scale_prior: float = 5.0,
        linear_scale_prior: float = 1.0,
        slab: tuple[float, float] = (2.0, 6.0),
        slab_sharing: Literal["network", "layer", "unit"] = "network",
        noise_prior: tuple[float, float] = (0.1, 0.01),
        half_cauchy: Literal["auxiliary", "exact"] = "auxiliary",
        unit_norm: bool = True,
        learn_layer_scale: bool = False,
        objective: Literal["auto", "moments", "sampled"] = "auto",
        num_steps: Literal["auto"] | int = "auto",
        batch_size: Literal["auto"] | int = "auto",
        learning_rate: float = 0.02,
        schedule: Literal["cosine", "constant"] = "cosine",
        average: float = 0.0,
        kl_warmup: float = 0.5,
        kl_weight: float = 1.0,
        drop_dead_units: Literal["auto"] | bool = "auto",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 5,
        warm_start: bool = False,
        num_members: int = 3,
        num_draws: int = 200,
        n_jobs: int | None = None,
        random_state: Any = None,
        progress: bool | Callable = True,
        checkpoint: str | os.PathLike | None = None,
    ):
        self.hidden = hidden
        self.prior = prior
        self.family = family
        self.rank = rank
        self.linear = linear
        self.activation = activation
        self.input_limit = input_limit
        self.unit_scale_prior = unit_scale_prior
        self.layer_scale_prior = layer_scale_prior
        self.output_scale_prior = output_scale_prior
        self.linear_scale_prior = linear_scale_prior
        self.slab = slab
        self.slab_sharing = slab_sharing
        self.noise_prior = noise_prior
        self.half_cauchy = half_cauchy
        self.unit_norm = unit_norm
        self.learn_layer_scale = learn_layer_scale
        self.objective = objective
        self.num_steps = num_steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.average = average
        self.kl_warmup = kl_warmup
        self.kl_weight = kl_weight
        self.drop_dead_units = drop_dead_units
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.warm_start = warm_start
        self.num_members = num_members
        self.num_draws = num_draws
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress
        self.checkpoint = checkpoint

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """The settings of Ghosh, Yao and Doshi-Velez (2018); any argument can be changed."""
        settings: dict[str, Any] = {
            "hidden": (50,),
            "prior": "regularized_horseshoe",
            "family": "structured",
            "rank": 1,
            "linear": False,
            "activation": "relu",
            "unit_scale_prior": 1.0,
            "layer_scale_prior": 1e-5,
            "output_scale_prior": 5.0,
            "slab": (2.0, 6.0),
            "slab_sharing": "network",
            "noise_prior": (6.0, 6.0),
            "half_cauchy": "auxiliary",
            "unit_norm": True,
            "learn_layer_scale": True,
            "objective": "sampled",
            "num_steps": 8000,  # the paper does not say; enough for all its sets but the largest
            "batch_size": 128,
            "learning_rate": 0.005,
            "schedule": "constant",
            "kl_warmup": 0.0,
            "drop_dead_units": False,
            "num_members": 1,
        }
        known = set(cls._get_param_names())
        return cls(**({name: value for name, value in settings.items() if name in known} | changes))

    @classmethod
    def fast(cls, **changes: Any) -> Self:
        """Settings for a first look: one network of 50 units, a quarter of the steps; any argument can be changed."""
        return cls(**({"hidden": (50,), "num_members": 1, "num_steps": 2000} | changes))

    def save(self, path: str | os.PathLike, *, overwrite: bool = False) -> Path:
        """Write the fitted model to a folder: spec.json, weights.safetensors and a README.md card."""
        from pritchel.files.folder import save_model

        check_is_fitted(self)
        return save_model(Path(path), self, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike) -> Self:
        """A fitted model from a folder that `save` or the command line wrote; no code in it is run."""
        from pritchel.files.folder import load_model

        estimator = load_model(Path(path)).estimator
        if not isinstance(estimator, cls):
            raise TypeError(f"{path} holds a {type(estimator).__name__}, not a {cls.__name__}.")
        return estimator

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
        if fine_tune_steps:
            members = self._fine_tune(members, fine_tune_steps, X, y, sample_weight)
        smaller: Any = copy.copy(self)
        smaller.posterior_ = posterior.replace_members(members)
        smaller._train_data = getattr(self, "_train_data", None)
        reports = PruneReports(
            PruneReport(member.offered, tuple(map(len, member.kept)), delta, p0) for member in members
        )
        smaller.prune_report_ = reports[0] if len(reports) == 1 else reports
        smaller._describe_units()
        if any(0 in report.kept for report in reports):
            rest = "its linear path" if self.linear else "the constant in its output layer"
            warnings.warn(
                f"Pruning left a hidden layer with no unit, so the network is now {rest}. If that is not what the data "
                "say, lower delta or look at is_collapsed_.",
                diagnostics.FitWarning,
                stacklevel=2,
            )
        return smaller

    def check_predictions(
        self,
        X: Any,
        y: Any,
        statistics: Mapping[str, Statistic] | None = None,
        *,
        n_samples: int = 200,
        random_state: int = 0,
    ) -> list[PredictiveCheck]:
        """Posterior-predictive checks: statistics of y beside those of `n_samples` tables made up by the model for X.

        A statistic is a function from a column of targets to a number, given by name; by default mean, spread and
        extremes, for counts also the share of zeros and the variance over the mean, for classes every share. Of more
        than 20,000 rows that many are taken at random.
        """
        observed = self._known_targets(self._check_inputs(X), y)
        rows = np.arange(len(observed))
        if len(rows) > MAX_CHECKED_ROWS:
            rows = np.sort(np.random.default_rng(random_state).choice(rows, MAX_CHECKED_ROWS, replace=False))
        chosen = X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]
        made_up = self.sample_y(chosen, n_samples, random_state)
        names = ["y"] if observed.shape[1] == 1 else [f"y{index + 1}" for index in range(observed.shape[1])]
        made_up = made_up.reshape(len(rows), observed.shape[1], n_samples)
        return predictive_checks(observed[rows], made_up, names, statistics or self._statistics())

    def __getstate__(self):
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_train_data"}

    @property
    def _posterior(self) -> Posterior:
        check_is_fitted(self)
        return self.posterior_

    @property
    def _num_targets(self) -> int:
        return len(self.posterior_.standardizer.target_mean)

    def _fit_settings(self, num_rows: int) -> FitSettings:
        """Check every option, and gather those of the training loop for a table of so many distinct rows."""
        checks.check_widths(self.hidden)
        checks.check_choice("prior", self.prior, PRIORS)
        checks.check_choice("family", self.family, FAMILIES)
        checks.check_choice("activation", self.activation, ACTIVATIONS)
        checks.check_choice("half_cauchy", self.half_cauchy, HALF_CAUCHY)
        checks.check_choice("objective", self.objective, ("auto", *OUTPUTS))
        if self.objective == "moments" and self.activation != "relu":
            raise ValueError(
                f"objective='moments' has closed forms for activation='relu' only; got activation={self.activation!r}. "
                "Use objective='auto' or 'sampled'."
            )
        checks.check_choice("schedule", self.schedule, ("cosine", "constant"))
        checks.check_choice("drop_dead_units", self.drop_dead_units, ("auto", True, False))
        checks.check_choice("slab_sharing", self.slab_sharing, ("network", "layer", "unit"))
        for name in ("rank", "patience", "num_members", "num_draws"):
            checks.check_integer(name, getattr(self, name), at_least=1)
        for name in ("num_steps", "batch_size"):
            if isinstance(value := getattr(self, name), str):
                checks.check_choice(name, value, ("auto",))
            else:
                checks.check_integer(name, value, at_least=1)
        num_steps, batch_size = default_steps(num_rows)
        checks.check_number("learning_rate", self.learning_rate, above=0)
        checks.check_number("average", self.average, at_least=0, at_most=0.9999)
        checks.check_number("kl_warmup", self.kl_warmup, at_least=0, at_most=1)
        checks.check_number("kl_weight", self.kl_weight, above=0)
        if self.input_limit is not None:
            checks.check_number("input_limit", self.input_limit, at_least=1)
        checks.check_number("validation_fraction", self.validation_fraction, above=0, at_most=0.9)
        return FitSettings(
            num_steps=num_steps if self.num_steps == "auto" else int(self.num_steps),
            batch_size=batch_size if self.batch_size == "auto" else int(self.batch_size),
            learning_rate=float(self.learning_rate),
            schedule=self.schedule,
            kl_warmup=float(self.kl_warmup),
            kl_weight=float(self.kl_weight),
            objective=self._objective(),
            patience=int(self.patience) if self.early_stopping else None,
            drop_dead_units=self.drop_dead_units,
            average=float(self.average),
        )

    def _objective(self) -> Objective:
        if self.objective == "auto":
            return "moments" if self.activation == "relu" else "sampled"
        return "moments" if self.objective == "moments" else "sampled"

    @property
    def _likelihood(self) -> type[Likelihood]:
        """The kind of likelihood; an estimator that offers a choice of them says which."""
        return LIKELIHOODS["gaussian"]

    def _model(self, data: Dataset | None, num_targets: int = 1) -> Model:
        """The model for a table, or before there is any."""
        num_hidden = len(checks.check_widths(self.hidden))
        checks.check_number("output_scale_prior", self.output_scale_prior, above=0)
        checks.check_number("linear_scale_prior", self.linear_scale_prior, above=0)
        prior = make_prior(
            self.prior,
            num_hidden,
            unit_scale=checks.check_scales("unit_scale_prior", self.unit_scale_prior, num_hidden),
            layer_scale=checks.check_scales("layer_scale_prior", self.layer_scale_prior, num_hidden),
            output_scale=float(self.output_scale_prior),
            linear_scale=float(self.linear_scale_prior),
            slab=checks.check_pair("slab", self.slab, "shape and rate of an inverse gamma"),
            slab_sharing=self.slab_sharing,
        )
        noise_prior = checks.check_pair("noise_prior", self.noise_prior, "shape and rate of a gamma")
        targets = np.zeros((0, num_targets)) if data is None else data.targets
        weights = np.zeros(0) if data is None else data.weights
        num_classes = len(getattr(self, "classes_", ()))
        dof, label_noise = float(getattr(self, "student_dof", 4.0)), float(getattr(self, "label_noise", 0.0))
        likelihood = self._likelihood.create(
            LikelihoodStart(noise_prior, dof, targets, weights, num_classes, label_noise)
        )
        return Model(prior, likelihood, self.activation, self.half_cauchy, bool(self.linear))  # pyright: ignore[reportArgumentType]

    def _guide_spec(self) -> GuideSpec:
        return GuideSpec(
            checks.check_widths(self.hidden),
            self.family,
            int(self.rank),
            bool(self.unit_norm),
            bool(self.learn_layer_scale),
        )

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
        self._likelihood.check_targets(targets)
        self._is_single_target = targets.ndim == 1
        return np.ascontiguousarray(inputs), targets.reshape(len(targets), -1), weights

    @abstractmethod
    def sample_y(self, X: Any, n_samples: int = 1, random_state: int = 0) -> np.ndarray:
        """Draws of observations."""

    @abstractmethod
    def _known_targets(self, inputs: np.ndarray, y: Any) -> np.ndarray:
        """Targets to compare predictions with: (rows, targets), checked against the fit."""

    @abstractmethod
    def _statistics(self) -> Mapping[str, Statistic]:
        """What a predictive check looks at unless told otherwise."""

    def _check_inputs(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        try:
            return np.ascontiguousarray(validate_data(self, X, dtype=np.float64, reset=False))
        except (ValueError, TypeError) as error:
            raise type(error)(checks.explain_bad_table(error, X, "X")) from None

    def _check_warm_start(self, num_targets: int) -> list[Member]:
        members = self.posterior_.members
        before = (members[0].guide.widths[0], self._num_targets, len(members))
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

    def _fit_table(self, inputs: np.ndarray, targets: np.ndarray, weights: np.ndarray | None) -> None:
        """Fit all members to a checked table and describe the outcome."""
        self._fit_settings(len(inputs))
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        starts: list[Member] = []
        old_standardizer = None
        if self.warm_start and hasattr(self, "posterior_"):
            starts, old_standardizer = self._check_warm_start(targets.shape[1]), self.posterior_.standardizer
        is_scaled = self._likelihood.is_scaled
        data, standardizer = prepare(
            inputs,
            targets,
            weights,
            standardizer=old_standardizer,
            scale_targets=is_scaled,
            input_limit=self.input_limit,
        )
        settings = self._fit_settings(len(data.inputs))
        train, held_out = self._hold_out(data, seed)
        if starts:
            settings = settings._replace(kl_warmup=0.0)
        trials = []
        for member in range(self.num_members):
            model = self._model(train)
            member_seed = (seed, member)
            if starts:
                guide = starts[member].guide
            else:
                rng = np.random.default_rng(np.random.SeedSequence((*member_seed, 0)))
                guide = start_guide(model, self._guide_spec(), inputs.shape[1], targets.shape[1], rng)
            trainable = None if self.learn_layer_scale else held_layer_scale_mask(guide)
            trials.append(Trial(model, guide, train, (*member_seed, 1), held_out, trainable))
        results = self._run(trials, settings, self._checkpoints(trials, settings))
        members = []
        for index, result in results.items():
            trial = trials[index]
            start = starts[index] if starts else Member.unpruned(trial.model, trial.guide)
            members.append(start.reduced(result.guide, result.kept)._replace(model=trial.model))
        self.posterior_ = Posterior(members, standardizer, seed, self.num_draws)
        self._train_data = data
        self._describe(list(results.values()))
        self._warn_if_collapsed(data)

    def _checkpoints(self, trials: list[Trial], settings: FitSettings) -> list[Checkpoint] | None:
        """A file a member, marked with a digest of all that its fit depends on."""
        if self.checkpoint is None:
            return None
        folder = Path(self.checkpoint)
        folder.mkdir(parents=True, exist_ok=True)
        checkpoints = []
        for index, trial in enumerate(trials):
            arrays: dict[str, np.ndarray] = {}
            parts = [trial.model, trial.guide, tuple(trial.data), tuple(trial.held_out or ()), trial.trainable]
            text = repr((encode(parts, arrays, ""), settings, trial.seed, len(trials), versions()))
            digest = hashlib.sha256(text.encode())
            for array in arrays.values():
                digest.update(array.tobytes())
            checkpoints.append(Checkpoint(folder / f"member-{index + 1}.safetensors", digest.hexdigest()))
        return checkpoints

    def _run(
        self, trials: list[Trial], settings: FitSettings, checkpoints: list[Checkpoint] | None = None
    ) -> dict[int, FitResult]:
        """The outcome of each trial, by its index; an interrupt leaves out those that had hardly begun."""
        n_jobs = int(self.n_jobs) if self.n_jobs is not None and self.n_jobs > 0 else os.cpu_count() or 1
        with progress_display(self.progress, len(trials), settings.num_steps) as on_progress:
            fits = fit_trials(trials, settings, n_jobs=n_jobs, on_progress=on_progress, checkpoints=checkpoints)
        results = dict(enumerate(fits))
        num_skipped = sum(result.num_skipped for result in results.values())
        statuses = {result.status for result in results.values()}
        if "diverged" in statuses:
            raise FloatingPointError(
                "The fit diverged: no step of a whole chunk had a finite gradient. Lower learning_rate "
                f"(now {self.learning_rate:g}), or look for extreme values among the inputs."
            )
        if "interrupted" in statuses:
            results = _without_stragglers(results)
            steps = [len(result.history.likelihood) for result in results.values()]
            warnings.warn(
                f"Interrupted: the estimator holds {len(results)} of {len(trials)} member(s), fitted for {steps} of "
                f"{settings.num_steps} steps. To go on, set warm_start=True, num_members={len(results)} and fit again.",
                diagnostics.FitWarning,
                stacklevel=4,
            )
        if num_skipped:
            warnings.warn(
                f"{num_skipped} step(s) had a gradient that was not finite and were skipped; a lower learning_rate "
                f"(now {self.learning_rate:g}) avoids that.",
                diagnostics.FitWarning,
                stacklevel=4,
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
        first = members[0]
        self.unit_scales_ = first.per_offered_unit(diagnostics.unit_scales(first.guide))
        self.weight_norms_ = first.per_offered_unit(diagnostics.weight_norms(first.model, first.guide))

    def _warn_if_collapsed(self, data: Dataset) -> None:
        rows = np.linspace(0, len(data.inputs) - 1, min(len(data.inputs), MAX_COLLAPSE_ROWS)).astype(int)
        sample = data.take(rows)
        standardizer = self.posterior_.standardizer
        inputs = sample.inputs.astype(np.float64) * standardizer.input_scale + standardizer.input_mean
        mean, _ = self.posterior_.mean_std(inputs)
        likelihood = self.posterior_.likelihood
        predictions = mean if likelihood.has_classes else standardizer.scale_targets(mean)
        observed = likelihood.as_numbers(sample.targets.astype(np.float64))
        self.is_collapsed_ = diagnostics.warn_if_collapsed(observed, predictions, sample.weights.astype(np.float64))

    def _fine_tune(self, members: list[Member], num_steps: int, X: Any, y: Any, sample_weight: Any) -> list[Member]:
        if X is None:
            data = getattr(self, "_train_data", None)
            if data is None:
                raise ValueError(
                    "fine_tune_steps needs the training rows, which are not part of a pickled or loaded estimator: "
                    "call prune(..., X=X, y=y)."
                )
        else:
            table = copy.copy(self)._check_training_table(X, y, sample_weight)
            data, _ = prepare(*table, standardizer=self.posterior_.standardizer)
        settings = self._fit_settings(len(data.inputs))._replace(
            num_steps=num_steps, kl_warmup=0.0, patience=None, drop_dead_units=False
        )
        trials = [
            Trial(
                member.model,
                member.guide,
                data,
                (self.posterior_.seed, index, 3),
                None,
                weight_mean_mask(member.guide),
            )
            for index, member in enumerate(members)
        ]
        results = self._run(trials, settings)
        return [members[index]._replace(guide=result.guide) for index, result in results.items()]
