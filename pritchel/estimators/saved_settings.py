"""An estimator's arguments to and from JSON: settings objects by their registered names."""

import numbers
from typing import Any

import numpy as np

from pritchel.guide import Family
from pritchel.infer.options import Sampling, Training
from pritchel.model.likelihoods import LIKELIHOODS
from pritchel.model.priors import PRIORS
from pritchel.posterior.calibration import Calibration
from pritchel.serial import FileError
from pritchel.settings import Settings

NOT_SAVED = ("progress", "checkpoint", "warm_start")
OTHERS: dict[str, Any] = {"family": Family, "training": Training, "sampling": Sampling, "calibration": Calibration}
KINDS: tuple[dict[str, Any], ...] = (PRIORS, LIKELIHOODS, OTHERS)


def pack_settings(estimator: Any) -> dict[str, Any]:
    """Constructor arguments as JSON; what belongs to a process or a machine stays behind."""
    arguments = {name: value for name, value in estimator.get_params(deep=False).items() if name not in NOT_SAVED}
    if not isinstance(arguments["random_state"], numbers.Integral):
        arguments["random_state"] = None
    return {name: _pack(value) for name, value in arguments.items()}


def _pack(value: Any) -> Any:
    if isinstance(value, Settings):
        names = [name for kinds in KINDS for name, kind in kinds.items() if kind is type(value)]
        return {"settings": names[0], "values": {name: _pack(part) for name, part in value.values().items()}}
    if isinstance(value, dict):  # class weights: pairs, since labels need not be texts
        return {"pairs": [[_pack(key), _pack(part)] for key, part in value.items()]}
    if isinstance(value, (tuple, list, np.ndarray)):
        return [_pack(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value


def unpack_settings(packed: dict[str, Any]) -> dict[str, Any]:
    """Constructor arguments from JSON; those that `pack_settings` never writes are refused."""
    unsaved = [name for name in packed if name in NOT_SAVED]
    if unsaved:
        raise FileError(f"it sets {', '.join(unsaved)}, which no model folder does")
    return {name: _unpack(name, value) for name, value in packed.items()}


def _unpack(argument: str, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_unpack(argument, part) for part in value)
    if not isinstance(value, dict):
        return value
    if value.keys() == {"pairs"}:
        return dict(value["pairs"])
    registry = {"prior": PRIORS, "likelihood": LIKELIHOODS}.get(argument, OTHERS)
    kind = registry.get(value["settings"])
    if kind is None:
        raise FileError(
            f"its {argument} is {value['settings']!r}, which this version does not know; if another package has it, "
            "import that first"
        )
    return kind(**{name: _unpack(name, part) for name, part in value["values"].items()})
