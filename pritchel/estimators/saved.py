"""Fitted estimators to and from model folders.

Reading makes only known classes, checks every shape before anything is computed, and runs no code from the files.
Whatever is wrong with them comes out as a `FileError`.
"""

import importlib
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from pritchel.estimators.card import card
from pritchel.estimators.loaded import LoadedModel
from pritchel.estimators.saved_checks import check_arguments, check_table
from pritchel.estimators.saved_fit import unpack_fitted
from pritchel.estimators.saved_labels import pack_labels
from pritchel.estimators.saved_members import pack_member
from pritchel.estimators.saved_settings import pack_settings, unpack_settings
from pritchel.estimators.schema import check_spec
from pritchel.estimators.upgrade import upgraded
from pritchel.folder import FORMAT_VERSION, SPEC, read_folder, require_free, write_folder
from pritchel.posterior.calibration import FoundCalibration
from pritchel.posterior.predict import Posterior
from pritchel.serial import Arrays, FileError, encode, versions, with_nans, without_infinities

HOMES = {
    "HorseshoeRegressor": "pritchel.estimators.regressor",
    "HorseshoeClassifier": "pritchel.estimators.classifier",
    "DynamicsModel": "pritchel.estimators.dynamics",
}
Kind = TypeVar("Kind")


class Saved(NamedTuple):
    """What a model folder holds."""

    model: Any  # a HorseshoeRegressor, HorseshoeClassifier or DynamicsModel; or, to be asked, a LoadedModel
    table: dict[str, Any] | None  # how a table's columns become inputs; None: the model was fitted to arrays
    notes: dict[str, Any]  # scores and whatever else was said about the fit
    arrays: Arrays  # arrays that the notes speak of
    spec: dict[str, Any]

    def of_kind(self, kind: type[Kind]) -> Kind:
        """The model, if it is of that kind."""
        if not isinstance(self.model, kind):
            raise TypeError(f"The folder holds a {type(self.model).__name__}, not a {kind.__name__}.")
        return self.model


def save_estimator(
    path: Path,
    estimator: Any,
    *,
    kind: str | None = None,
    extra: dict[str, Any] | None = None,
    table: dict[str, Any] | None = None,
    notes: dict[str, Any] | None = None,
    arrays: Arrays | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a fitted estimator, or a model of another kind that is made of one and `extra`, to a folder."""
    changed = _changed_since_fit(estimator, estimator.posterior_)
    if changed is not None:
        raise ValueError(f"The {changed} was changed after the fit. Set it back, or fit again, before saving.")
    require_free(path, overwrite)
    packed: Arrays = {f"notes.{name}": array for name, array in (arrays or {}).items()}
    spec: dict[str, Any] = {
        "estimator": type(estimator).__name__,
        "kind": kind or type(estimator).__name__,
        "extra": extra or {},
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "settings": pack_settings(estimator),
        "fitted": _fitted(estimator, packed),
        "table": without_infinities(table),
        "notes": without_infinities(notes or {}),
    }
    text = card({**spec, "notes": notes or {}}, estimator.calibration_)
    _require_loadable(spec, packed)
    return write_folder(path, spec, packed, text, overwrite=overwrite)


def _require_loadable(spec: dict[str, Any], arrays: Arrays) -> None:
    """Refuse to write what could not be read back: a folder is there to be loaded."""
    try:
        same = json.loads(json.dumps(spec, allow_nan=False))
        unpack({"format_version": FORMAT_VERSION, **same}, arrays)
    except (FileError, TypeError, ValueError) as error:
        raise ValueError(f"The model cannot be saved, since it could not be loaded: {error}.") from None


def load_saved(path: Path) -> Saved:
    """Read a model folder. Raises `FileError` with the reason for anything that is not a sound one."""
    return _load(path, unpack)


def load_to_ask(path: Path) -> Saved:
    """The same with a `LoadedModel`, whatever the estimator: enough to predict, to score and to say what it is."""
    return _load(path, unpack_to_ask)


def _load(path: Path, made_of: Callable[[dict[str, Any], Arrays], Saved]) -> Saved:
    try:
        return made_of(*read_folder(path))
    except FileError as error:
        raise FileError(f"{path} cannot be loaded: {error}.") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from None


def unpack(spec: dict[str, Any], arrays: Arrays) -> Saved:
    """The model that a spec and its arrays describe, everything checked."""
    return _unpack(spec, arrays, _estimator)


def unpack_to_ask(spec: dict[str, Any], arrays: Arrays) -> Saved:
    """The same as a `LoadedModel`, all that it uses checked."""
    return _unpack(spec, arrays, _loaded)


def _unpack(spec: dict[str, Any], arrays: Arrays, make: Callable[[dict[str, Any], dict[str, Any]], Any]) -> Saved:
    try:
        spec = upgraded(spec)
        check_spec(spec)
        fitted = unpack_fitted(spec["fitted"], arrays)
        table, notes = spec["table"], with_nans(spec["notes"])
        check_table(fitted["posterior_"], table, notes)
        model = make(spec, fitted)
        extra = {name.removeprefix("notes."): array for name, array in arrays.items() if name.startswith("notes.")}
        return Saved(model, table, notes, extra, spec)
    except (FileError, MemoryError):
        raise
    except KeyError as error:
        raise FileError(f"{error.args[0]!r} is missing from {SPEC}") from None
    except Exception as error:  # whatever a hostile file provokes inside the checks is one thing: not a model
        raise FileError(f"its parts do not fit together ({type(error).__name__}: {str(error)[:200]})") from None


def _require_known(name: Any) -> None:
    if name not in HOMES:
        raise FileError(f"it holds a {name!r}, which this version does not know")


def _class(name: Any) -> Any:
    _require_known(name)
    return getattr(importlib.import_module(HOMES[name]), name)


def _changed_since_fit(estimator: Any, posterior: Posterior) -> str | None:
    """Which of the settings, all of which are checked, is not the fitted network's; None: none."""
    options, model = estimator.options(), posterior.members[0].model
    if not options.likelihood.makes(model.likelihood):
        return "likelihood"
    return None if type(model.prior) is type(options.prior) else "prior"


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list, np.ndarray)):
        return [_plain(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value


def _fitted(estimator: Any, arrays: Arrays) -> dict[str, Any]:
    posterior: Posterior = estimator.posterior_
    reports = getattr(estimator, "prune_report_", None)
    return {
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": _plain(getattr(estimator, "feature_names_in_", None)),
        "classes": pack_labels(getattr(estimator, "classes_", None)),
        "is_single_target": bool(getattr(estimator, "is_single_target_", True)),
        "is_collapsed": bool(estimator.is_collapsed_),
        "status": list(estimator.status_),
        "n_iter": int(estimator.n_iter_),
        "num_skipped_steps": int(estimator.num_skipped_steps_),
        "num_left_out": int(estimator.num_left_out_),
        "cv_score": getattr(estimator, "cv_score_", None),
        "elbo": encode(np.asarray(estimator.elbo_, np.float32), arrays, "elbo"),
        "seed": int(posterior.seed),
        "num_draws": int(posterior.num_draws),
        "standardizer": encode(tuple(posterior.standardizer), arrays, "standardizer"),
        "members": [pack_member(member, arrays, f"members.{i}") for i, member in enumerate(posterior.members)],
        "units_kept": estimator.units_kept_.tolist(),
        "sampling_report": _plain(estimator.sampling_report_),
        "noise_report": _plain(estimator.noise_report_),
        "calibration": _pack_calibration(posterior.calibration, arrays),
        "prune_reports": None if reports is None else [_plain(tuple(report)) for report in reports],
    }


def _pack_calibration(found: FoundCalibration | None, arrays: Arrays) -> dict[str, Any] | None:
    """Factors are in the spec, for all to read; the scores of many rows are an array."""
    if found is None:
        return None
    values = encode(found.values if found.values.ndim > 1 else found.values.tolist(), arrays, "calibration")
    return {"kind": found.kind, "values": values, "num_rows": found.num_rows, "seed": found.seed}


def _estimator(spec: dict[str, Any], fitted: dict[str, Any]) -> Any:
    """The estimator, or what is made of it, its settings seen to be those of its network."""
    estimator = _class(spec["estimator"])(**unpack_settings(spec["settings"]))
    changed = _changed_since_fit(estimator, fitted["posterior_"])
    if changed is not None:
        raise FileError(f"its {changed} is not the one that its settings name")
    vars(estimator).update(fitted)
    check_arguments(estimator)
    kind = _class(spec["kind"])
    return estimator if isinstance(estimator, kind) else kind.from_saved(estimator, spec["extra"])


def _loaded(spec: dict[str, Any], fitted: dict[str, Any]) -> LoadedModel:
    """The same to be asked alone: settings are read, and no class of scikit-learn's is made."""
    for name in (spec["estimator"], spec["kind"]):
        _require_known(name)
    unpack_settings(spec["settings"])
    return LoadedModel(fitted)
