"""Settings with a name: the paper's, and those for a first look."""

from typing import Any

from pritchel.estimators.nested import settings_of
from pritchel.infer.options import Training
from pritchel.settings import Settings

PAPER_TRAINING = Training(
    num_steps=8000,  # the paper does not say; enough for all its sets but the largest
    batch_size=128,
    learning_rate=0.005,
    schedule="constant",
    objective="sampled",
    kl_warmup=0.0,
    drop_dead_units=False,
)
PAPER_SETTINGS = {"learn_layer_scale": True, "noise_prior": (6.0, 6.0)}  # of whatever prior and likelihood has them


def paper_arguments(prior: Any = "regularized_horseshoe", likelihood: Any = "gaussian") -> dict[str, Any]:
    """The arguments of Ghosh, Yao and Doshi-Velez (2018), for a prior and likelihood given by name or in full."""
    return {
        "hidden": (50,),
        "prior": _as_in_the_paper("prior", prior),
        "likelihood": _as_in_the_paper("likelihood", likelihood),
        "family": "structured",
        "linear": False,
        "activation": "relu",
        "training": PAPER_TRAINING,
        "inference": "variational",
        "num_members": 1,
    }


def _as_in_the_paper(argument: str, value: Any) -> Any:
    """What a name stands for, with the paper's settings; anything else as it is."""
    if not isinstance(value, str):
        return value
    settings = settings_of(argument, value)
    if not isinstance(settings, Settings):
        return value  # an unknown name: the estimator will say so
    return settings.changed(**{name: new for name, new in PAPER_SETTINGS.items() if name in settings.values()})


FAST_ARGUMENTS: dict[str, Any] = {
    "hidden": (50,),
    "num_members": 1,
    "training": Training(num_steps=2000),
    "inference": "variational",
}
