"""`HorseshoeRegressor`: the whole method behind scikit-learn's interface."""

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted

from pritchel import checks
from pritchel.data.dataset import prepare
from pritchel.estimators.arguments import with_arguments
from pritchel.estimators.base import HorseshoeEstimator
from pritchel.model.likelihoods import LIKELIHOODS, Likelihood
from pritchel.model.network import forward
from pritchel.model.prior_draws import draw_prior_weights
from pritchel.posterior.predict import Uncertainty
from pritchel.posterior.predictive_checks import COUNTS, NUMBERS, Statistic


@with_arguments(likelihood="gaussian", student_dof=4.0)
class HorseshoeRegressor(RegressorMixin, HorseshoeEstimator):
    """Bayesian neural network regression that starts wide and keeps only the units the data ask for.

    Inputs and targets are standardized inside; every answer is in the units of y. All arguments are keyword-only.

    Parameters
    ----------
    hidden : units offered in each hidden layer. Offer many: unused ones are switched off.
    prior : "regularized_horseshoe", "horseshoe", or "gaussian" (every weight N(0, 1), nothing to prune).
    family : the posterior's shape: "structured" (weights and their unit's scale coupled), "semi_structured",
        "factorized" or "tied"; or "vmg", the matrix normal with pseudo data that the paper compares with, which goes
        with prior="gaussian" and linear=False.
    rank : rank of the low-rank part of the (semi-)structured covariance; the paper's is 1.
    linear : add a linear function of the inputs beside the hidden layers, with a half-Cauchy scale of its own. A table
        that needs no hidden unit can then end with none.
    activation : "relu" or "tanh".
    input_limit : how many standard deviations from its mean an input may lie; a column with values beyond is divided by
        more than its deviation, so that they lie there. None: every column by its deviation. 5 helps where columns are
        mostly zero (pixels, words); it harms where they have long tails, which are better given as logarithms.
    unit_scale_prior, layer_scale_prior : half-Cauchy scales b_0 and b_g, one number or one a hidden layer.
        A smaller `layer_scale_prior` switches more units off.
    output_scale_prior, linear_scale_prior : half-Cauchy scales of the weights of the output layer and linear path.
    slab : (shape, rate) of the inverse-gamma prior on the slab variance that caps large weights.
    slab_sharing : one slab a "network", a "layer" or a "unit".
    likelihood : "gaussian"; "student_t" (outliers); "heteroscedastic" (noise that depends on the inputs); "poisson" or
        "negative_binomial" (counts; with exposure, fit counts / exposure with sample_weight=exposure).
    student_dof : degrees of freedom of Student-t noise.
    noise_prior : (shape, rate) of the gamma prior on the noise precision, targets standardized.
    half_cauchy : "auxiliary" (the paper's bound) or "exact" (tighter, by quadrature).
    unit_norm : divide the covariance vectors of the (semi-)structured families by their norms.
    learn_layer_scale : learn each layer's shared scale, as the paper does, or hold it at `layer_scale_prior`. Only the
        product of layer and unit scale reaches the data; left to learn, the layer scale climbs for as long as training
        goes on and takes the switched-off units past any fixed threshold with it.
    objective : the likelihood's expectation by closed-form "moments" (ReLU) or "sampled"; "auto" for moments where
        there are any.
    num_steps, batch_size, learning_rate, schedule : Adam's. "auto": 8,000 steps of 128 rows up to 10,000 rows, then
        slowly more of both. The rate follows a "cosine" to zero or stays "constant".
    average : decay of a running (Polyak) average of the parameters that is then the fit, as 0.999; 0 for the last step.
    kl_warmup : part of the steps over which the KL weight climbs to its last; 0 for none. Guards against collapse.
    kl_weight : its last; 1 is Bayes' rule. Below 1 the posterior is "cold", as if every row had been seen 1 / kl_weight
        times: it keeps more units and is surer of them. Choose it by `log_prob` on rows held out.
    drop_dead_units : let units leave during training once the pruning rule has declared them dead. "auto": where the
        steps to come gain more by it than compiling the smaller network takes; True: whenever a layer can be halved;
        False: never. Outcomes agree; see benchmarks/results/dead_units.md.
    early_stopping, validation_fraction, patience : hold out a part of the rows and stop after `patience` checks
        (one every few hundred steps, after the warm-up) without a better held-out log-likelihood.
    warm_start : go on from the last fit instead of starting anew (with no second warm-up).
    num_members : independent fits whose predictive distributions are mixed; 1 for a single network to deploy.
    num_draws : weight draws behind every prediction.
    n_jobs : members fitted at a time; None for as many as there are cores.
    random_state : int, RandomState or None. Fixes the fit and every prediction.
    progress : show a bar on a terminal; or a function that is called with a `Progress` after every few hundred steps.
    checkpoint : a folder in which the fit is kept every few seconds. The same fit (data, options, an integer
        random_state) goes on from there after a crash, to the same result; another fit's files are refused.

    Attributes
    ----------
    units_kept_ : units each hidden layer keeps under the default pruning rule; one row a member if there are several.
    elbo_ : the evidence lower bound at every step; one row a member if there are several.
    unit_scales_ : posterior median scale of each unit, one array a hidden layer (first member).
    weight_norms_ : norm of each unit's expected weights, one array a hidden layer (first member).
    posterior_ : the fitted predictive distribution.
    status_ : how each member's fit ended.
    num_skipped_steps_ : steps skipped because they were not finite.
    is_collapsed_ : whether the fit is no better than the constant predictor on its training rows.
    """

    likelihood: str
    student_dof: float

    @property
    def _likelihood(self) -> type[Likelihood]:
        choices = [name for name, kind in LIKELIHOODS.items() if not kind.has_classes]
        checks.check_choice("likelihood", self.likelihood, choices)
        checks.check_number("student_dof", self.student_dof, above=1)
        return LIKELIHOODS[self.likelihood]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to a table. A row of weight two counts as two rows; Ctrl-C keeps what is fitted so far."""
        self._fit_table(*self._check_training_table(X, y, sample_weight))
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
        """Central interval that holds a new observation with probability `coverage`: lower and upper, last axis."""
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
        return self._posterior.log_density(inputs, self._known_targets(inputs, y))

    def to_arviz(self, X: Any = None, y: Any = None, num_draws: int = 100) -> Any:
        """An ArviZ data tree of posterior draws; with X and y also predictions, log-likelihoods, observations."""
        from pritchel.files.arviz_export import to_arviz

        check_is_fitted(self)
        return to_arviz(self, X, y, num_draws)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R squared of the predictive mean."""
        return float(r2_score(y, self.predict(X), sample_weight=sample_weight))

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
            rows = np.arange(len(table), dtype=float)[:, None]
            inputs = prepare(table, rows, input_limit=self.input_limit)[1].scale_inputs(table)
        rng = np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))
        num_targets = self._num_targets if is_fitted else 1
        self._fit_settings(2)
        model = self._posterior.members[0].model if is_fitted else self._model(None, num_targets)
        likelihood = model.likelihood
        widths = (inputs.shape[1], *checks.check_widths(self.hidden), likelihood.num_outputs(num_targets))
        outputs = forward(draw_prior_weights(model, widths, n_samples, rng), inputs, model.activation)
        location, scale = np.zeros(num_targets), np.ones(num_targets)
        if is_fitted:
            location, scale = self._posterior.standardizer[2:]
        values = likelihood.prior_noise_values(rng, n_samples, num_targets)
        components = likelihood.components(outputs, values, location, scale)
        draws = components.sample(rng) if include_noise else components.mean
        return np.moveaxis(draws, 0, -1)[:, 0] if not is_fitted else self._shape(np.moveaxis(draws, 0, -1))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _known_targets(self, inputs: np.ndarray, y: Any) -> np.ndarray:
        targets = np.asarray(check_array(y, ensure_2d=False, dtype=np.float64, input_name="y"))
        targets = targets[:, None] if targets.ndim == 1 else targets
        wanted = (len(inputs), self._num_targets)
        if targets.shape != wanted:
            raise ValueError(
                f"y must have {wanted[0]} rows and {wanted[1]} target(s), as X and the fit have; got {targets.shape}."
            )
        return targets

    def _statistics(self) -> Mapping[str, Statistic]:
        return NUMBERS if self._posterior.likelihood.is_scaled else COUNTS

    def _sample(self, sampler: Callable, X: Any, n_samples: int, random_state: Any) -> np.ndarray:
        checks.check_integer("n_samples", n_samples, at_least=1)
        seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
        return self._shape(sampler(self._check_inputs(X), int(n_samples), seed))

    def _shape(self, answer: np.ndarray) -> np.ndarray:
        """Drop the target axis where y came as one column."""
        return answer[:, 0] if self._is_single_target else answer
