"""Everything a fit depends on besides its table and seed, checked once."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from pritchel import checks
from pritchel.guide import Family
from pritchel.guide.network import START_SD
from pritchel.guide.scale_starts import SCALE_STARTS
from pritchel.infer.outputs import OUTPUT_MOMENTS
from pritchel.infer.plan import SamplingPlan
from pritchel.infer.trial import FitSettings
from pritchel.model.likelihoods import LikelihoodSettings, LikelihoodStart
from pritchel.model.network import ACTIVATIONS, Activation, Model
from pritchel.model.priors import PRIORS, Prior
from pritchel.settings import Settings, of_kind

FIRST_OFFER = (100, 100)  # units, where the width is left open


def default_steps(num_rows: int, is_sampled: bool = False) -> tuple[int, int]:
    """Steps, and rows in a batch: 8,000 of 128 for a table of up to 10,000 rows, then slowly more of both.

    4,000 are enough to find the width of a table of up to 5,000 rows, where the posterior is then sampled.
    """
    is_brief = is_sampled and num_rows <= 5000
    growth = float(np.clip(np.sqrt(num_rows / 10_000), 1, 4))
    return 1000 * round((4 if is_brief else 8) * growth), 128 if num_rows < 20_000 else 256


@dataclasses.dataclass(frozen=True)
class Training(Settings):
    """How a network is trained.

    Parameters
    ----------
    num_steps, batch_size : "auto" or int
        Steps of Adam, and rows in each. "auto": 8,000 steps of 128 rows up to 10,000 rows, then slowly more of both;
        4,000 up to 5,000 rows where the posterior is then sampled.
    learning_rate : float
        Of Adam, at its largest.
    schedule : {"cosine", "constant"}
        Whether the rate falls to zero along a cosine or stays.
    objective : {"auto", "moments", "sampled", "batch_sampled"}
        The likelihood's expectation by the units' moments, in closed form (ReLU) or by quadrature, or by sampling:
        "batch_sampled" draws each unit's scale once for all rows of a batch, "sampled" once a row. "auto": moments.
    kl_warmup : float
        Part of the steps over which the KL weight climbs to its last; 0 for none. Guards against collapse.
    kl_weight : float
        The last KL weight; 1 is Bayes' rule. Below 1 the posterior is "cold", as if every row had been seen
        1 / kl_weight times: it keeps more units and is surer of them. Choose it by `log_prob` on rows held out.
    average : float
        Decay of a running (Polyak) average of the parameters that is then the fit, as 0.999; 0 for the last step.
    drop_dead_units : "auto" or bool
        Let units leave during training once the pruning rule has declared them dead. "auto": where the steps to come
        gain more by it than compiling the smaller network takes; True: whenever a layer can be halved. Outcomes agree.
    early_stopping : bool
        Hold out `validation_fraction` of the rows and stop after `patience` checks (one every few hundred steps, after
        the warm-up) without a better held-out log-likelihood.
    validation_fraction : float
        How many rows early stopping holds out.
    patience : int
        Checks without gain before it stops.
    cross_fit : bool or int
        Deal the rows out in parts, as many as members or the number given, and keep another from each member. Every row
        is then scored by members that did not see it (`cv_score_`, `evaluate_unseen`), and calibration needs no rows of
        its own; each member learns from fewer.
    scale_start : {"prior", "ones", "draws", "uniform"}
        Where the scales of units and layers begin. "prior": layers at their prior and the product with the units' at
        one; "ones": all at one; "draws": drawn from the prior; "uniform": logs uniform between -2 and 2. Another than
        the first can fail: a small product switches every unit off, and a layer's scale far from its prior stays there.
    scale_sd : float
        The standard deviation that the logs of unit scales begin with.
    buffer_rows : "auto" or int
        Rows that each member has in memory, and shuffles, of a source that is read in batches; "auto": 48 MB of them.

    Examples
    --------
    >>> from pritchel import HorseshoeRegressor, Training
    >>> model = HorseshoeRegressor(training=Training(num_steps=2000))
    >>> model.set_params(training__kl_warmup=0.2).training
    Training(num_steps=2000, kl_warmup=0.2)
    """

    num_steps: Literal["auto"] | int = "auto"
    batch_size: Literal["auto"] | int = "auto"
    learning_rate: float = 0.02
    schedule: Literal["cosine", "constant"] = "cosine"
    objective: Literal["auto", "moments", "sampled", "batch_sampled"] = "auto"
    kl_warmup: float = 0.5
    kl_weight: float = 1.0
    average: float = 0.0
    drop_dead_units: Literal["auto"] | bool = "auto"
    early_stopping: bool = False
    validation_fraction: float = 0.1
    patience: int = 5
    cross_fit: bool | int = False
    scale_start: Literal["prior", "ones", "draws", "uniform"] = "prior"
    scale_sd: float = START_SD
    buffer_rows: Literal["auto"] | int = "auto"

    def check(self) -> None:
        """Raise a ValueError that says what was wanted for the first value that is not."""
        for name in ("num_steps", "batch_size", "buffer_rows"):
            if isinstance(value := getattr(self, name), str):
                checks.check_choice(name, value, ("auto",))
            else:
                checks.check_integer(name, value, at_least=1)
        checks.check_number("learning_rate", self.learning_rate, above=0)
        checks.check_choice("schedule", self.schedule, ("cosine", "constant"))
        checks.check_choice("objective", self.objective, ("auto", *OUTPUT_MOMENTS))
        checks.check_number("kl_warmup", self.kl_warmup, at_least=0, at_most=1)
        checks.check_number("kl_weight", self.kl_weight, above=0)
        checks.check_number("average", self.average, at_least=0, at_most=0.9999)
        checks.check_choice("drop_dead_units", self.drop_dead_units, ("auto", True, False))
        checks.check_flag("early_stopping", self.early_stopping)
        checks.check_number("validation_fraction", self.validation_fraction, above=0, at_most=0.9)
        checks.check_integer("patience", self.patience, at_least=1)
        if not isinstance(self.cross_fit, bool):
            checks.check_integer("cross_fit", self.cross_fit, at_least=2)
        checks.check_choice("scale_start", self.scale_start, SCALE_STARTS)
        checks.check_number("scale_sd", self.scale_sd, above=0)


Inference = Literal["variational", "sampled", "auto"]
INFERENCES = ("variational", "sampled", "auto")
MAX_SAMPLED_ROWS = 20_000
MAX_CHAIN_SECONDS = 180.0  # beyond, "auto" does without
CHAIN_SECONDS = 20.0  # that a chain whose length is "auto" keeps to, if it can
MOST_DRAWS, FEWEST_DRAWS = 200, 100  # of such a chain,
WARMUP = 1.5  # and so many times as many iterations before them


@dataclasses.dataclass(frozen=True)
class Sampling(Settings):
    """How the posterior of a pruned network is sampled, by Hamiltonian Monte Carlo, one chain a member.

    Parameters
    ----------
    num_warmup : "auto" or int
        Iterations in which step size and metric adapt, and in which the chain leaves where the fit ended; at least 20.
        "auto": half as many again as `num_samples`.
    num_samples : "auto" or int
        Iterations from which draws are kept, evenly spaced, `num_draws` over all members. "auto": 200; down to 100
        where a table is so large that a chain would take more than twenty seconds.
    num_leapfrogs : int
        Mean number of leapfrog steps in an iteration. More get further; each takes a gradient of the whole table.
    target_acceptance : float
        Acceptance that the step size is chosen for.

    Examples
    --------
    >>> from pritchel import HorseshoeRegressor, Sampling
    >>> model = HorseshoeRegressor(inference="sampled", sampling=Sampling(num_warmup=600))
    >>> model.set_params(sampling__num_leapfrogs=64).sampling
    Sampling(num_warmup=600, num_leapfrogs=64)
    """

    num_warmup: Literal["auto"] | int = "auto"
    num_samples: Literal["auto"] | int = "auto"
    num_leapfrogs: int = 32
    target_acceptance: float = 0.85

    def check(self) -> None:
        """Raise a ValueError that says what was wanted for the first value that is not."""
        for name, least in (("num_warmup", 20), ("num_samples", 1)):
            if isinstance(value := getattr(self, name), str):
                checks.check_choice(name, value, ("auto",))
            else:
                checks.check_integer(name, value, at_least=least)
        checks.check_integer("num_leapfrogs", self.num_leapfrogs, at_least=1)
        checks.check_number("target_acceptance", self.target_acceptance, above=0, at_most=0.99)

    def plan(self, num_rows: int, num_weights: int) -> tuple[SamplingPlan, float]:
        """How to sample networks of so many weights, and about how many seconds a chain takes, compiling not counted.

        Keeps every draw.
        """
        chosen = int(self.num_leapfrogs), float(self.target_acceptance)
        iteration = SamplingPlan(0, 1, *chosen, 1).seconds(num_rows, num_weights)
        affordable = int(np.clip(CHAIN_SECONDS / (1 + WARMUP) / iteration, FEWEST_DRAWS, MOST_DRAWS))
        samples = affordable if self.num_samples == "auto" else int(self.num_samples)
        warmup = int(WARMUP * affordable) if self.num_warmup == "auto" else int(self.num_warmup)
        plan = SamplingPlan(warmup, samples, *chosen, samples)
        return plan, plan.seconds(num_rows, num_weights)


@dataclasses.dataclass(frozen=True)
class Options:
    """A checked choice of everything; `Options.of` makes one."""

    hidden: tuple[int, ...]
    grows: bool  # whether layers that end nearly full are offered more
    prior: Prior
    family: Family
    likelihood: LikelihoodSettings
    activation: Activation
    linear: bool
    training: Training
    inference: Inference
    sampling: Sampling
    num_members: int

    @classmethod
    def of(
        cls,
        *,
        hidden: Any,
        prior: Any,
        family: Any,
        likelihood: LikelihoodSettings,
        activation: Any,
        linear: Any,
        training: Any,
        num_members: Any,
        inference: Any = "auto",
        sampling: Any = None,
    ) -> "Options":
        """Options from what a user gave: names or settings objects; a ValueError for the first that will not do."""
        widths = checks.check_widths(hidden, FIRST_OFFER)
        checks.check_choice("activation", activation, ACTIVATIONS)
        checks.check_flag("linear", linear)
        checks.check_integer("num_members", num_members, at_least=1)
        if not isinstance(training, Training):
            raise ValueError(f"training must be a Training, as in Training(num_steps=2000); got {training!r}.")
        training.check()
        checks.check_choice("inference", inference, INFERENCES)
        sampling = Sampling() if sampling is None else sampling
        if not isinstance(sampling, Sampling):
            raise ValueError(f"sampling must be a Sampling, as in Sampling(num_warmup=600); got {sampling!r}.")
        sampling.check()
        likelihood.check()
        return cls(
            hidden=widths,
            grows=isinstance(hidden, str),
            prior=of_kind(PRIORS, prior, "prior").build(len(widths)),
            family=Family.of(family),
            likelihood=likelihood,
            activation=activation,
            linear=bool(linear),
            training=training,
            inference=inference,
            sampling=sampling,
            num_members=int(num_members),
        )

    def wider(self, layers: Sequence[int], num_steps: int) -> "Options":
        """The same with twice the units in some hidden layers, and twice as many steps."""
        hidden = tuple(2 * units if index in layers else units for index, units in enumerate(self.hidden))
        return dataclasses.replace(
            self, hidden=hidden, training=dataclasses.replace(self.training, num_steps=2 * num_steps)
        )

    def model(self, start: LikelihoodStart) -> Model:
        """The model for a table, or before there is any."""
        likelihood = self.likelihood.build(start)
        prior = self.prior.for_outputs(likelihood.output_scales(start.targets.shape[1]))
        return Model(prior, likelihood, self.activation, self.linear)

    def may_sample(self, num_rows: int) -> bool:
        """Whether chains may follow the fit to a table of so many distinct rows."""
        return self.inference == "sampled" or (self.inference == "auto" and num_rows <= MAX_SAMPLED_ROWS)

    def sampling_plan(self, num_rows: int, num_weights: int, num_draws: int) -> tuple[SamplingPlan | None, str]:
        """How to sample networks of so many weights for so many draws over all members, or not, and why, in words."""
        if self.inference == "variational":
            return None, "as asked for"
        plan, seconds = self.sampling.plan(num_rows, num_weights)
        plan = plan._replace(num_kept=min(-(-num_draws // self.num_members), plan.num_samples))
        if self.inference == "sampled":
            return plan, "as asked for"
        if num_rows > MAX_SAMPLED_ROWS:
            return None, f"{num_rows:,} rows are more than the {MAX_SAMPLED_ROWS:,} up to which chains are run"
        cost = f"with {num_rows:,} rows and {num_weights:,} weights a chain takes about {max(seconds, 1.0):,.0f} s"
        return (plan, cost) if seconds <= MAX_CHAIN_SECONDS else (None, f"{cost}, more than {MAX_CHAIN_SECONDS:g} s")

    def fit_settings(self, num_rows: int) -> FitSettings:
        """How to train on a table of so many distinct rows."""
        training, (num_steps, batch_size) = self.training, default_steps(num_rows, self.may_sample(num_rows))
        return FitSettings(
            num_steps=num_steps if training.num_steps == "auto" else int(training.num_steps),
            batch_size=batch_size if training.batch_size == "auto" else int(training.batch_size),
            learning_rate=float(training.learning_rate),
            schedule=training.schedule,
            kl_warmup=float(training.kl_warmup),
            kl_weight=float(training.kl_weight),
            objective="moments" if training.objective == "auto" else training.objective,
            patience=int(training.patience) if training.early_stopping else None,
            drop_dead_units=training.drop_dead_units,
            average=float(training.average),
        )
