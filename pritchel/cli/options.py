"""The estimator's arguments as command-line options: one table, from which the options of `pritchel fit` are made."""

import inspect
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import typer


class EstimatorOption(NamedTuple):
    """One argument of the estimator, or a setting inside one: what its text means, and what to say about it."""

    name: str  # as `set_params` takes it
    parse: Callable[[str], Any] | type
    help: str
    panel: str

    @property
    def flag(self) -> str:
        """The option's name on the command line: the setting's own."""
        return f"--{self.name.rpartition('__')[2].replace('_', '-')}"


def _numbers(text: str) -> Any:
    """One number, or several between commas."""
    try:
        values = tuple(float(part) if any(c in part for c in ".eE") else int(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number, or numbers between commas, as in 100,100.") from None
    return values[0] if len(values) == 1 else values


def _count_or_auto(text: str) -> Any:
    try:
        return text if text == "auto" else _numbers(text)
    except typer.BadParameter as error:
        raise typer.BadParameter(f"{error.message.rstrip('.')}; nor is it auto.") from None


def _yes_no_auto(text: str) -> Any:
    known = {"auto": "auto", "yes": True, "no": False}
    if text not in known:
        raise typer.BadParameter(f"{text!r} is not one of auto, yes, no.")
    return known[text]


NETWORK, PRIOR, TRAINING, SAMPLING = "Network and posterior", "Priors", "Training", "Sampling"
CALIBRATION = "Calibration"
ESTIMATOR_OPTIONS = (
    EstimatorOption(
        "hidden", _count_or_auto, "Units offered in each hidden layer, as in 100,100; auto: 100,100, or more.", NETWORK
    ),
    EstimatorOption("family", str, "structured, semi_structured, factorized, tied or vmg.", NETWORK),
    EstimatorOption("family__rank", int, "Rank of the low-rank part of the covariance.", NETWORK),
    EstimatorOption("family__unit_norm", bool, "Divide the covariance vectors by their norms.", NETWORK),
    EstimatorOption("family__squared_scales", bool, "Log-normals over squared unit scales.", NETWORK),
    EstimatorOption("linear", bool, "A linear path beside the hidden layers.", NETWORK),
    EstimatorOption("activation", str, "swish (a ReLU whose corner is round), relu or tanh.", NETWORK),
    EstimatorOption("input_limit", float, "Deviations from its mean that an input may lie; 5 suits pixels.", NETWORK),
    EstimatorOption("num_members", int, "Independent networks whose predictions are mixed.", NETWORK),
    EstimatorOption("num_draws", int, "Weight draws behind every prediction.", NETWORK),
    EstimatorOption("prior", str, "regularized_horseshoe, horseshoe, spike_slab or gaussian.", PRIOR),
    EstimatorOption(
        "prior__unit_scale", _numbers, "Half-Cauchy scale of the units; one number, or one a layer.", PRIOR
    ),
    EstimatorOption("prior__layer_scale", _numbers, "That of the layers: smaller switches more units off.", PRIOR),
    EstimatorOption("prior__output_scale", float, "That of the output weights.", PRIOR),
    EstimatorOption("prior__linear_scale", float, "That of the linear path.", PRIOR),
    EstimatorOption("prior__slab", _numbers, "Shape,rate of the inverse gamma that caps large weights.", PRIOR),
    EstimatorOption("prior__inclusion", float, "Of spike_slab: probability that a unit is in, before any data.", PRIOR),
    EstimatorOption("prior__spike_scale", float, "Of spike_slab: scale of a unit that is out.", PRIOR),
    EstimatorOption("prior__slab_scale", float, "Of spike_slab: scale of a unit that is in.", PRIOR),
    EstimatorOption("prior__slab_sharing", str, "One slab a network, layer or unit.", PRIOR),
    EstimatorOption("likelihood__noise_prior", _numbers, "Shape,rate of the gamma on the noise precision.", PRIOR),
    EstimatorOption("likelihood__dof", float, "Degrees of freedom of Student-t noise.", PRIOR),
    EstimatorOption(
        "likelihood__num_humps", int, "Most humps of a mixture's noise, and of auto's on large tables.", PRIOR
    ),
    EstimatorOption("class_weight", str, "For classes: balanced.", TRAINING),
    EstimatorOption("label_noise", float, "Share of the labels that may be wrong.", PRIOR),
    EstimatorOption("prior__half_cauchy", str, "auxiliary (the paper's bound) or exact.", PRIOR),
    EstimatorOption("prior__learn_layer_scale", bool, "Learn the layers' shared scales, as the paper does.", PRIOR),
    EstimatorOption("training__objective", str, "auto, moments, sampled or batch_sampled.", TRAINING),
    EstimatorOption("training__num_steps", _count_or_auto, "Optimizer steps, or auto.", TRAINING),
    EstimatorOption("training__batch_size", _count_or_auto, "Rows in a step, or auto.", TRAINING),
    EstimatorOption("training__learning_rate", float, "Adam's learning rate.", TRAINING),
    EstimatorOption("training__schedule", str, "cosine or constant.", TRAINING),
    EstimatorOption(
        "training__average", float, "Decay of a running average that is then the fit; 0: the last step.", TRAINING
    ),
    EstimatorOption("training__kl_warmup", float, "Part of the steps over which the prior's weight climbs.", TRAINING),
    EstimatorOption(
        "training__kl_weight", float, "The prior's last weight; below 1 the rows count for more.", TRAINING
    ),
    EstimatorOption(
        "training__drop_dead_units", _yes_no_auto, "Let dead units leave while training: auto, yes, no.", TRAINING
    ),
    EstimatorOption("training__early_stopping", bool, "Stop when rows held out from training stop gaining.", TRAINING),
    EstimatorOption("training__validation_fraction", float, "How many rows early stopping holds out.", TRAINING),
    EstimatorOption("training__patience", int, "Checks without gain before it stops.", TRAINING),
    EstimatorOption("training__scale_start", str, "Where scales begin: prior, ones, draws or uniform.", TRAINING),
    EstimatorOption("training__scale_sd", float, "Deviation that the logs of unit scales begin with.", TRAINING),
    EstimatorOption("training__buffer_rows", _count_or_auto, "Rows of a stream in memory, or auto.", TRAINING),
    EstimatorOption(
        "inference",
        str,
        "auto: sampled after pruning where that takes minutes; else variational. Or one of the two.",
        SAMPLING,
    ),
    EstimatorOption("sampling__num_warmup", int, "Iterations in which a chain adapts.", SAMPLING),
    EstimatorOption("sampling__num_samples", int, "Iterations from which draws are kept.", SAMPLING),
    EstimatorOption("sampling__num_leapfrogs", int, "Mean leapfrog steps, each a gradient, in an iteration.", SAMPLING),
    EstimatorOption("sampling__target_acceptance", float, "Acceptance that the step size is chosen for.", SAMPLING),
    EstimatorOption(
        "calibration",
        str,
        "auto: narrower where sampled networks' mixture is clearly too wide for the rows of the fit. On rows kept from "
        "the fit: spread (one factor) or conformal (sure intervals); for classes temperature.",
        CALIBRATION,
    ),
    EstimatorOption("calibration__unseen_fraction", float, "The part of the rows that it keeps.", CALIBRATION),
    EstimatorOption(
        "training__cross_fit",
        bool,
        "Keep another part of the rows from each network: every row is scored, and calibration finds its factor, by "
        "networks that did not see it.",
        CALIBRATION,
    ),
    EstimatorOption("n_jobs", int, "Members, or with --by groups, fitted at a time; default: all cores.", TRAINING),
)


def with_estimator_options(command: Callable) -> Callable:
    """The command with an option for every argument of the estimator; those given arrive as `**arguments`."""
    own = [p for p in inspect.signature(command).parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    made = []
    for option in ESTIMATOR_OPTIONS:
        flags = f"{option.flag}/--no-{option.flag[2:]}" if option.parse is bool else option.flag
        is_plain = isinstance(option.parse, type)
        kind = option.parse if is_plain else str
        metavar = None if is_plain else "TEXT"
        annotation = Annotated[
            kind | None, typer.Option(flags, help=option.help, rich_help_panel=option.panel, metavar=metavar)
        ]
        made.append(inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation))
    parsers = {option.name: option.parse for option in ESTIMATOR_OPTIONS}

    def wrapped(**values: Any) -> Any:
        arguments = {
            name: values[name] if isinstance(parse, type) else parse(values[name])
            for name, parse in parsers.items()
            if values[name] is not None
        }
        return command(**{name: value for name, value in values.items() if name not in parsers}, **arguments)

    wrapped.__name__, wrapped.__doc__ = command.__name__, command.__doc__
    keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
    wrapped.__signature__ = inspect.Signature([*keyword, *made])
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in (*keyword, *made)}
    return wrapped
