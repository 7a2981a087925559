"""`HorseshoeRegressor`: the whole method behind scikit-learn's interface."""

import os
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from pritchel import checks
from pritchel.estimators.partial import PartialEstimator
from pritchel.estimators.presets import FAST_ARGUMENTS, paper_arguments
from pritchel.estimators.prior_answers import prior_answers
from pritchel.estimators.typed import Seed, float_array, seed_of
from pritchel.guide import Family
from pritchel.infer.options import Inference, Sampling, Training
from pritchel.infer.trial import Progress
from pritchel.model.likelihoods import LIKELIHOODS, LikelihoodSettings
from pritchel.model.priors import PriorSettings
from pritchel.posterior.answers import Uncertainty
from pritchel.posterior.calibration import Calibration
from pritchel.settings import of_kind


class HorseshoeRegressor(RegressorMixin, PartialEstimator):
    """Bayesian neural network regression that starts wide and keeps only the units the data ask for.

    Inputs and targets are standardized inside; every answer is in the units of y. All arguments are keyword-only.
    Settings inside an argument can be searched and set by nested names: `prior__layer_scale`, `training__num_steps`,
    `likelihood__dof`, `family__rank`.

    Parameters
    ----------
    hidden : "auto", int or tuple of ints
        Units offered in each hidden layer. "auto": 100 in each of two, more where one ends nearly full.
    prior : str or PriorSettings
        :class:`~pritchel.RegularizedHorseshoe`, :class:`~pritchel.Horseshoe`, :class:`~pritchel.SpikeSlab`,
        :class:`~pritchel.GaussianPrior`; "regularized_horseshoe", "horseshoe", "spike_slab", "gaussian": with defaults.
    likelihood : str or LikelihoodSettings
        What noise is: :class:`~pritchel.AdaptiveNoise` ("auto": constant and Gaussian unless the rows say otherwise),
        :class:`~pritchel.Gaussian`, :class:`~pritchel.StudentT`, :class:`~pritchel.Heteroscedastic`,
        :class:`~pritchel.Mixture`, or for counts :class:`~pritchel.Poisson`, :class:`~pritchel.NegativeBinomial`,
        :class:`~pritchel.ZeroInflated` (with exposure, fit counts / exposure with `sample_weight=exposure`); or a
        name: "gaussian", "student_t", ...
    family : str or Family
        The posterior's shape: "structured", "semi_structured", "factorized", "tied" or "vmg", or a
        :class:`~pritchel.Family`.
    linear : bool
        Add a linear function of the inputs beside the hidden layers, with a half-Cauchy scale of its own. A table that
        needs no hidden unit can then end with none.
    activation : {"swish", "relu", "tanh"}
        Of the hidden units. "swish" is z / (1 + exp(-2z)), a ReLU whose corner is round.
    input_limit : float, optional
        How many standard deviations from its mean an input may lie; a column with values beyond is divided by more
        than its deviation, so that they lie there. None: every column by its deviation. 5 helps where columns are
        mostly zero (pixels, words); it harms where they have long tails, which are better given as logarithms.
    training : Training, optional
        How the networks are trained; None for the defaults of :class:`~pritchel.Training`.
    inference : {"variational", "sampled", "auto"}
        Whether the fitted networks answer by their variational posteriors or, pruned, by draws of their exact ones,
        which know their uncertainty better; "auto" samples up to 20,000 rows, where chains take three minutes at most.
    sampling : Sampling, optional
        How the posteriors are sampled; None for the defaults of :class:`~pritchel.Sampling`.
    calibration : str or Calibration, optional
        Set predictions right on rows that no member is fitted to, a fifth of them: "spread" (wider or narrower around
        the mean) or "conformal" (intervals hold what they promise); see :class:`~pritchel.Calibration`. "auto" keeps
        none, and narrows the mixture of sampled networks where it is clearly too wide for the fit's own rows.
    num_members : int
        Independent fits whose predictive distributions are mixed; 1 for a single network to deploy.
    num_draws : int
        Weight draws behind every prediction.
    warm_start : bool
        Go on from the last fit instead of starting anew (with no second warm-up).
    n_jobs : int, optional
        Members fitted at a time; None for as many as there are cores, or as a search or `joblib.parallel_config` says.
    random_state : int, RandomState or None
        Fixes the fit and every prediction.
    progress : bool or callable
        Show bars at a terminal, a line in a notebook; or a function, called with a :class:`~pritchel.Progress` every
        few hundred steps.
    checkpoint : path, optional
        A folder in which the fit is kept every few seconds. The same fit (data, options, an integer random_state) goes
        on from there after a crash, to the same result; another fit's files are refused.

    Attributes
    ----------
    units_kept_ : array of shape (members, layers)
        Units each hidden layer keeps under the default pruning rule.
    unit_scales_, inclusion_, weight_norms_ : list (members) of lists (layers) of arrays (units)
        Of each unit offered: posterior median scale, probability of being in, norm of its expected weights.
    elbo_ : array of shape (members, steps)
        The evidence lower bound at every step.
    posterior_ : Posterior
        The fitted predictive distribution.
    status_, num_skipped_steps_, num_left_out_ : list of str, int, int
        How each member's fit ended; steps skipped that were not finite; members left out, far behind the others.
    is_interrupted_ : bool
        Whether Ctrl-C cut the fit short.
    sampling_report_, noise_report_, calibration_ : SamplingReport, NoiseReport or None, FoundCalibration or None
        What inference was chosen and how the chains went; what noise and calibration came to. To print, or to read.
    is_collapsed_ : bool
        Whether the fit is no better than the constant predictor: on its own rows, or, where it may know them by
        heart, on rows left out.
    feature_importances_, cv_score_ : array of shape (features,), float
        What each input is worth, as shares; a row's log density by members that did not see it, with `cross_fit`.
    prune_report_ : PruneReports
        After `prune`: units offered and kept, a report a member.

    Examples
    --------
    >>> import numpy as np
    >>> from pritchel import HorseshoeRegressor
    >>> x = np.linspace(-3, 3, 40)[:, None]
    >>> model = HorseshoeRegressor.fast(hidden=(10,), random_state=0)
    >>> mean, sd = model.fit(x, np.sin(x[:, 0])).predict([[0.5]], return_std=True)
    >>> model.prune().predict_interval([[0.5]], coverage=0.9).shape
    (1, 2)
    """

    def __init__(
        self,
        *,
        hidden: Literal["auto"] | int | tuple[int, ...] = "auto",
        prior: str | PriorSettings = "regularized_horseshoe",
        likelihood: str | LikelihoodSettings = "auto",
        family: str | Family = "structured",
        linear: bool = True,
        activation: Literal["swish", "relu", "tanh"] = "swish",
        input_limit: float | None = None,
        training: Training | None = None,
        inference: Inference = "auto",
        sampling: Sampling | None = None,
        calibration: str | Calibration | None = "auto",
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
        self.likelihood = likelihood
        self.family = family
        self.linear = linear
        self.activation = activation
        self.input_limit = input_limit
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
    def paper(
        cls,
        *,
        prior: str | PriorSettings = "regularized_horseshoe",
        likelihood: str | LikelihoodSettings = "gaussian",
        **changes: Any,
    ) -> Self:
        """The settings of Ghosh, Yao and Doshi-Velez (2018); any argument, or setting inside one, can be changed.

        A prior or likelihood given by name gets the paper's settings; one given in full is taken as it is.

        Examples
        --------
        >>> from pritchel import HorseshoeRegressor
        >>> HorseshoeRegressor.paper(hidden=(500,), training__num_steps=2000).training.learning_rate
        0.005
        """
        return cls(**paper_arguments(prior, likelihood)).set_params(**changes)

    @classmethod
    def fast(cls, **changes: Any) -> Self:
        """Settings for a first look: one network of 50 units, a quarter of the steps; any of them can be changed."""
        return cls(**FAST_ARGUMENTS).set_params(**changes)

    def likelihood_settings(self) -> LikelihoodSettings:
        """What noise is, in full."""
        choices = {name: kind for name, kind in LIKELIHOODS.items() if not kind.kind.has_classes}
        return of_kind(choices, self.likelihood, "likelihood")

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predictive mean, and with `return_std` the standard deviation of a new observation."""
        mean, (total, *_) = self._answering().mean_std(self._check_inputs(X))
        return (self._shape(mean), self._shape(total)) if return_std else self._shape(mean)

    def predict_uncertainty(self, X: Any) -> Uncertainty:
        """Standard deviations: total, aleatoric (noise) and epistemic (what more rows would teach)."""
        _, spread = self._answering().mean_std(self._check_inputs(X))
        return Uncertainty(*map(self._shape, spread))

    def predict_quantiles(self, X: Any, alpha: Any = (0.05, 0.25, 0.5, 0.75, 0.95)) -> np.ndarray:
        """Quantiles of a new observation at the levels `alpha`, which become the last axis (none for one number)."""
        levels = np.atleast_1d(np.asarray(alpha, float))
        if levels.ndim != 1 or not np.all((levels > 0) & (levels < 1)):
            raise ValueError(f"alpha must be levels strictly between 0 and 1, as in (0.05, 0.5, 0.95); got {alpha!r}.")
        answer = self._shape(self._answering().quantiles(self._check_inputs(X), levels))
        return answer if np.ndim(alpha) else answer[..., 0]

    def predict_interval(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Central interval that holds a new observation with probability `coverage`: lower and upper, last axis."""
        share = checks.check_share("coverage", coverage)
        return self.predict_quantiles(X, ((1 - share) / 2, (1 + share) / 2))

    def predict_region(self, X: Any, coverage: float = 0.9) -> list[Any]:
        """Smallest set that holds a new observation with probability `coverage`: each row's intervals, (intervals, 2).

        Where the predictive distribution has humps, there may be several. Many targets: a list of them for each row.
        """
        if self._answering().likelihood.has_counts:
            raise ValueError("predict_region is for y on the real line; for counts there is predict_interval.")
        rows = self.posterior_.regions(self._check_inputs(X), checks.check_share("coverage", coverage))
        return [row[0] for row in rows] if self.is_single_target_ else rows

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Seed = 0) -> np.ndarray:
        """Draws of new observations: (rows, samples), or (rows, targets, samples)."""
        return self._sample(self._answering().sample_targets, X, n_samples, random_state)

    def sample_functions(self, X: Any, n_samples: int = 1, random_state: Seed = 0) -> np.ndarray:
        """Draws of the regression function, each from one draw of the weights for all rows; shaped like `sample_y`."""
        return self._sample(self._answering().sample_functions, X, n_samples, random_state)

    def log_prob(self, X: Any, y: Any, round_to: float | None = None) -> np.ndarray:
        """Log predictive density of each row's target (several targets: their joint density).

        Of targets on a grid, as whole numbers with `round_to=1`, the log probability: no density can outdo that by
        spikes.
        """
        inputs = self._check_inputs(X)
        targets = self._known_targets(inputs, y)
        if round_to is None or self.posterior_.likelihood.has_counts:
            return self.posterior_.log_density(inputs, targets)
        checks.check_number("round_to", round_to, above=0)
        return self.posterior_.log_cell(inputs, targets, float(round_to))

    def to_arviz(self, X: Any = None, y: Any = None, n_samples: int = 100) -> Any:
        """An ArviZ data tree of posterior draws; with X and y also predictions, log-likelihoods, observations."""
        from pritchel.posterior.arviz_tree import arviz_tree

        check_is_fitted(self)
        inputs = None if X is None else self._check_inputs(X)
        targets = None if y is None or inputs is None else self._known_targets(inputs, y)
        return arviz_tree(self.posterior_, inputs, targets, n_samples)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R squared of the predictive mean."""
        from sklearn.metrics import r2_score

        return float(r2_score(y, self.predict(X), sample_weight=sample_weight))

    def prior_predictive(
        self, X: Any, n_samples: int = 1, *, include_noise: bool = False, random_state: Seed = 0
    ) -> np.ndarray:
        """Functions (with `include_noise`, observations) drawn from the prior: (rows, samples).

        A fitted estimator answers in the units of y and for all its targets; before a fit, inputs are standardized by
        themselves and answers are for one target in standard units.
        """
        checks.check_integer("n_samples", n_samples, at_least=1)
        table = self._check_inputs(X) if hasattr(self, "posterior_") else float_array(X)
        draws = prior_answers(self, table, n_samples, include_noise, random_state)
        return self._shape(draws) if hasattr(self, "posterior_") else draws[:, 0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _answering(self) -> Any:
        check_is_fitted(self)
        return self.posterior_

    def _target_values(self, y: Any, is_fit: bool) -> np.ndarray:
        targets = np.asarray(y, np.float64)
        self.likelihood_settings().kind.check_targets(targets)
        if is_fit:
            self.is_single_target_ = targets.ndim == 1
        return targets.reshape(len(targets), -1)

    def _known_targets(self, inputs: np.ndarray, y: Any) -> np.ndarray:
        checks.check_numeric_targets(y)
        return checks.check_columns(float_array(y, name="y", ensure_2d=False), len(inputs), self._num_targets)

    def _sample(self, sampler: Callable, X: Any, n_samples: int, random_state: Seed) -> np.ndarray:
        checks.check_integer("n_samples", n_samples, at_least=1)
        return self._shape(sampler(self._check_inputs(X), int(n_samples), seed_of(random_state)))

    def _shape(self, answer: np.ndarray) -> np.ndarray:
        """Drop the target axis where y came as one column."""
        return answer[:, 0] if self.is_single_target_ else answer
