"""The settings under comparison: the paper's, and this package's own schedule for the same network."""

from typing import Any

from pritchel.estimators.regressor import HorseshoeRegressor
from pritchel.experiments.records import Key
from pritchel.infer.options import default_steps

SETTINGS = ("paper", "ours")
NAMES = {"paper": "the paper's settings", "ours": "our settings"}
NARROW, WIDE = 50, 500
VMG_STEPS_FACTOR = 2.5  # VMG's learning rate is a fifth of the paper's: it is given more steps

# VMG as Louizos and Welling train it; `HorseshoeRegressor.paper` has the rest.
VMG = {
    "training__learning_rate": 1e-3,
    "training__average": 0.999,
    "prior": "gaussian",
    "family": "vmg",
}


def make_estimator(key: Key, num_rows: int, target_sd: float = 1.0) -> HorseshoeRegressor:
    """The estimator that a trial's key describes.

    "paper": constant learning rate 0.005, no warm-up, Gamma(6, 6) on the noise precision, sampled objective.
    "ours": cosine from 0.02, KL warm-up, a weak noise prior, moments objective, layer scale held at its prior; all else
    the same network, so no linear path, one member, no sampling. Units that die stay, so their norms can be looked at.
    "original" is the paper's with the noise prior on targets in their original units, as VMG's authors have it.
    A key's own `options`, by nested name, come last.
    """
    steps = key["steps"] or default_steps(num_rows)[0]
    options: dict[str, Any] = {
        "hidden": (key["units"],),
        "prior": key["prior"],
        "family": key["family"],
        "training__num_steps": steps,
        "random_state": key["split"],
        "progress": False,
        "n_jobs": 1,
    }
    if key["settings"] == "ours":
        fixed = {"linear": False, "num_members": 1, "training__drop_dead_units": False}
        ours = HorseshoeRegressor(likelihood="gaussian", activation="relu", inference="variational")
        ours.set_params(**options, **fixed)
        return ours.set_params(**key.get("options", {}))
    if key["family"] == "vmg":
        options |= VMG | {"training__num_steps": round(VMG_STEPS_FACTOR * steps)}
    if key["settings"] == "original":
        options["likelihood__noise_prior"] = (6.0, 6.0 / target_sd**2)
    return HorseshoeRegressor.paper(**options).set_params(**key.get("options", {}))
