"""Specs of older formats in the shape of the present one."""

from typing import Any

from pritchel.serial import FileError

SETTINGS_OF_1 = {  # argument of format 1: where its value is now
    "unit_scale_prior": ("prior", "unit_scale"),
    "layer_scale_prior": ("prior", "layer_scale"),
    "output_scale_prior": ("prior", "output_scale"),
    "linear_scale_prior": ("prior", "linear_scale"),
    "slab": ("prior", "slab"),
    "slab_sharing": ("prior", "slab_sharing"),
    "half_cauchy": ("prior", "half_cauchy"),
    "learn_layer_scale": ("prior", "learn_layer_scale"),
    "noise_prior": ("likelihood", "noise_prior"),
    "student_dof": ("likelihood", "dof"),
    "rank": ("family", "rank"),
    "unit_norm": ("family", "unit_norm"),
    **{
        name: ("training", name)
        for name in (
            *("num_steps", "batch_size", "learning_rate", "schedule", "objective", "kl_warmup", "kl_weight"),
            *("average", "drop_dead_units", "early_stopping", "validation_fraction", "patience"),
        )
    },
}
HORSESHOE = ("unit_scale", "layer_scale", "output_scale", "linear_scale", "half_cauchy", "learn_layer_scale")
OWN_SETTINGS_OF_1 = {  # what the priors and likelihoods of format 1 had of their own
    "gaussian prior": (),
    "horseshoe": HORSESHOE,
    "regularized_horseshoe": (*HORSESHOE, "slab", "slab_sharing"),
    "gaussian": ("noise_prior",),
    "student_t": ("noise_prior", "dof"),
}
KNOW_GRIDS = ("HeteroscedasticLikelihood", "AdaptiveLikelihood", "MixtureLikelihood")
PRIORS_OF_1 = {
    "Gaussian": "StandardNormalPrior",
    "Horseshoe": "HorseshoePrior",
    "RegularizedHorseshoe": "RegularizedHorseshoePrior",
}


def upgraded(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec as this release writes it; itself if it is."""
    if spec["format_version"] == 1:
        spec = _from_1(spec)
    if spec["format_version"] < 3:
        spec = _from_2(spec)
    if spec["format_version"] < 4:
        spec = _from_3(spec)
    if spec["format_version"] < 5:
        spec = _from_4(spec)
    if spec["format_version"] < 6:
        spec = _from_5(spec)
    return _from_6(spec) if spec["format_version"] < 7 else spec


def _from_6(spec: dict[str, Any]) -> dict[str, Any]:
    """Before noise knew of grids: there is none."""
    members = [part | {"model": _without_grid(part["model"])} for part in spec["fitted"]["members"]]
    return spec | {"fitted": spec["fitted"] | {"members": members}}


def _without_grid(model: dict[str, Any]) -> dict[str, Any]:
    likelihood = model["fields"]["likelihood"]
    if likelihood["module"] not in KNOW_GRIDS:
        return model
    likelihood = likelihood | {"fields": likelihood["fields"] | {"rounding": None}}
    return model | {"fields": model["fields"] | {"likelihood": likelihood}}


def _from_5(spec: dict[str, Any]) -> dict[str, Any]:
    """Before there was calibration: there is none."""
    return spec | {"fitted": spec["fitted"] | {"calibration": None}}


def _from_4(spec: dict[str, Any]) -> dict[str, Any]:
    """Before noise could have humps: it has one."""
    noise = spec["fitted"]["noise_report"]
    told = None if noise is None else [[*target, 1.0] for target in noise]
    return spec | {"fitted": spec["fitted"] | {"noise_report": told}}


def _from_3(spec: dict[str, Any]) -> dict[str, Any]:
    """Before noise was reported; heteroscedastic noise was another model then."""
    fitted = spec["fitted"]
    for member in fitted["members"]:
        if "HeteroscedasticLikelihood" in str(member["model"]):
            raise FileError("its heteroscedastic noise is of a kind that this release no longer has: fit it again")
    return spec | {"fitted": fitted | {"noise_report": None}}


def _from_2(spec: dict[str, Any]) -> dict[str, Any]:
    """Before there was sampling: no member has draws."""
    fitted = spec["fitted"]
    members = [part | {"draws": None} for part in fitted["members"]]
    report = ["variational", "the only inference there was", [], None, None]
    return spec | {"fitted": fitted | {"members": members, "sampling_report": report}}


def _from_1(spec: dict[str, Any]) -> dict[str, Any]:
    settings, fitted = spec["settings"], spec["fitted"]
    members = [_member(part, bool(settings["learn_layer_scale"])) for part in fitted["members"]]
    return spec | {
        "kind": spec["estimator"],
        "extra": {},
        "settings": _settings(settings),
        "fitted": fitted | {"members": members},
    }


def _settings(old: dict[str, Any]) -> dict[str, Any]:
    """Flat arguments gathered into settings objects."""
    inside: dict[str, dict[str, Any]] = {"prior": {}, "likelihood": {}, "family": {}, "training": {}}
    new = {name: value for name, value in old.items() if name not in SETTINGS_OF_1}
    if "noise_prior" in old:
        new.setdefault("likelihood", "gaussian")  # before there was a choice
    for name, value in old.items():
        if name in SETTINGS_OF_1:
            argument, setting = SETTINGS_OF_1[name]
            inside[argument][setting] = value
    for argument in ("prior", "likelihood"):
        if argument in new:
            name = new[argument]
            own = OWN_SETTINGS_OF_1.get(f"{name} prior" if (argument, name) == ("prior", "gaussian") else name, ())
            values = {setting: value for setting, value in inside[argument].items() if setting in own}
            new[argument] = {"settings": name, "values": values}
    new["family"] = {"settings": "family", "values": {"name": new["family"], **inside["family"]}}
    new["training"] = {"settings": "training", "values": inside["training"]}
    return new


def _member(part: dict[str, Any], learn_layer_scale: bool) -> dict[str, Any]:
    """Scales and slabs of the guide in their present places; how the half-Cauchy is taken belongs to the prior."""
    model, guide = dict(part["model"]["fields"]), dict(part["guide"]["fields"])
    half_cauchy, prior = model.pop("half_cauchy"), model["prior"]
    own = dict(prior["fields"])
    if own:
        own |= {"half_cauchy": half_cauchy, "learn_layer_scale": learn_layer_scale}
    model["prior"] = {"module": PRIORS_OF_1[prior["module"]], "fields": own}
    scales = {
        name: guide.pop(f"log_{name}_scale{'s' if name == 'layer' else ''}") for name in ("layer", "output", "linear")
    }
    slabs = guide.pop("log_slab_sq")
    guide |= {
        "scales": {"value": "Scales", "fields": scales},
        "latents": {"items": {"log_slab_sq": slabs} if slabs else {}},
    }
    return part | {
        "model": {"module": "Model", "fields": model},
        "guide": {"module": "NetworkGuide", "fields": guide},
    }
