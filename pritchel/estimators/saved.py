"""Fitted estimators to and from model folders.

Reading makes only known classes, checks every shape before anything is computed, and runs no code from the files.
Whatever is wrong with them comes out as a `FileError`.
"""

import importlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from pritchel.data.dataset import Standardizer
from pritchel.estimators.card import card
from pritchel.estimators.saved_checks import check_answers, check_arguments, check_table
from pritchel.estimators.saved_labels import pack_labels, unpack_labels
from pritchel.estimators.saved_members import pack_member, unpack_member
from pritchel.estimators.saved_settings import pack_settings, unpack_settings
from pritchel.estimators.schema import check_spec
from pritchel.estimators.upgrade import upgraded
from pritchel.folder import FORMAT_VERSION, SPEC, read_folder, require_free, write_folder
from pritchel.posterior.calibration import CALIBRATIONS, FoundCalibration
from pritchel.posterior.convergence import ChainReport, SamplingReport
from pritchel.posterior.draws import max_draws
from pritchel.posterior.noise import NoiseReport, TargetNoise
from pritchel.posterior.predict import Posterior
from pritchel.posterior.prune import PruneReport, PruneReports
from pritchel.serial import Arrays, FileError, decode, encode, versions, with_nans, without_infinities

HOMES = {
    "HorseshoeRegressor": "pritchel.estimators.regressor",
    "HorseshoeClassifier": "pritchel.estimators.classifier",
    "DynamicsModel": "pritchel.estimators.dynamics",
}
Kind = TypeVar("Kind")


class Saved(NamedTuple):
    """What a model folder holds."""

    model: Any  # a HorseshoeRegressor, HorseshoeClassifier or DynamicsModel
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
    try:
        return unpack(*read_folder(path))
    except FileError as error:
        raise FileError(f"{path} cannot be loaded: {error}.") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from None


def unpack(spec: dict[str, Any], arrays: Arrays) -> Saved:
    """The model that a spec and its arrays describe, everything checked."""
    try:
        spec = upgraded(spec)
        check_spec(spec)
        estimator = _estimator(spec, arrays)
        table, notes = spec["table"], with_nans(spec["notes"])
        check_table(estimator, table, notes)
        kind = _class(spec["kind"])
        model = estimator if isinstance(estimator, kind) else kind.from_saved(estimator, spec["extra"])
        extra = {name.removeprefix("notes."): array for name, array in arrays.items() if name.startswith("notes.")}
        return Saved(model, table, notes, extra, spec)
    except (FileError, MemoryError):
        raise
    except KeyError as error:
        raise FileError(f"{error.args[0]!r} is missing from {SPEC}") from None
    except Exception as error:  # whatever a hostile file provokes inside the checks is one thing: not a model
        raise FileError(f"its parts do not fit together ({type(error).__name__}: {str(error)[:200]})") from None


def _class(name: Any) -> Any:
    if name not in HOMES:
        raise FileError(f"it holds a {name!r}, which this version does not know")
    return getattr(importlib.import_module(HOMES[name]), name)


def _changed_since_fit(estimator: Any, posterior: Posterior) -> str | None:
    """Which of the settings, all of which are checked, is not the fitted network's; None: none."""
    options, model = estimator.options(), posterior.members[0].model
    if type(model.likelihood) is not options.likelihood.kind:
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


def _unpack_calibration(packed: dict[str, Any] | None, posterior: Posterior, arrays: Arrays) -> Posterior:
    """The posterior with the calibration that was found, seen to be one."""
    if packed is None:
        return posterior
    found = CALIBRATIONS[packed["kind"]]
    if not found.suits(type(posterior.likelihood)):
        raise FileError("its calibration is of another kind than its targets")
    calibration = found(np.asarray(decode(packed["values"], arrays), np.float64), packed["num_rows"], packed["seed"])
    calibration.check(len(posterior.standardizer.target_mean))
    return posterior.with_calibration(calibration)


def _estimator(spec: dict[str, Any], arrays: Arrays) -> Any:
    fitted = spec["fitted"]
    posterior = _posterior(fitted, arrays)
    estimator = _class(spec["estimator"])(**unpack_settings(spec["settings"]))
    changed = _changed_since_fit(estimator, posterior)
    if changed is not None:
        raise FileError(f"its {changed} is not the one that its settings name")
    estimator.posterior_ = posterior
    num_features = estimator.posterior_.members[0].guide.widths[0]
    if fitted["n_features_in"] != num_features:
        raise FileError("its number of features does not fit its network")
    estimator.n_features_in_ = num_features
    names = fitted["feature_names_in"]
    if names is not None:
        if len(names) != num_features or not all(isinstance(name, str) for name in names):
            raise FileError("its feature names do not fit its network")
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    likelihood: Any = estimator.posterior_.likelihood
    if likelihood.has_classes:
        classes = unpack_labels(fitted["classes"])
        if classes.shape != (likelihood.num_classes,) or not np.array_equal(np.unique(classes), classes):
            raise FileError("its labels do not fit its network")
        estimator.classes_ = classes
    else:
        estimator.is_single_target_ = bool(fitted["is_single_target"])
    estimator.is_collapsed_ = bool(fitted["is_collapsed"])
    estimator.status_ = [str(status) for status in fitted["status"]]
    estimator.n_iter_, estimator.num_skipped_steps_ = int(fitted["n_iter"]), int(fitted["num_skipped_steps"])
    estimator.num_left_out_ = int(fitted.get("num_left_out", 0))
    check_arguments(estimator)
    num_members, num_layers = len(posterior.members), len(posterior.members[0].offered)
    elbo = np.asarray(decode(fitted["elbo"], arrays))
    estimator.elbo_ = np.atleast_2d(elbo.astype(np.float32))
    has_trace = elbo.dtype.kind == "f" and estimator.elbo_.ndim == 2 and len(estimator.elbo_) == num_members
    kept = [len(units) for units in fitted["units_kept"]]
    if not has_trace or len(fitted["status"]) != num_members or kept != [num_layers] * num_members:
        raise FileError("what it says of its fit is not about its members")
    inference, why, chains, r_hat, effective = fitted["sampling_report"]
    chains = tuple(ChainReport(*chain) for chain in chains)
    estimator.sampling_report_ = SamplingReport(str(inference), str(why), chains, r_hat, effective)
    noise = fitted["noise_report"]
    estimator.noise_report_ = None if noise is None else NoiseReport([TargetNoise(*target) for target in noise])
    if fitted["prune_reports"] is not None:
        estimator.prune_report_ = PruneReports(
            PruneReport(tuple(offered), tuple(kept), float(threshold), float(probability))
            for offered, kept, threshold, probability in fitted["prune_reports"]
        )
    return estimator


def _posterior(fitted: dict[str, Any], arrays: Arrays) -> Posterior:
    """The posterior, its members seen to fit each other and their standardization."""
    members = [unpack_member(part, arrays) for part in fitted["members"]]
    widths = {(member.guide.widths[0], member.guide.widths[-1]) for member in members}
    if len(widths) != 1:
        raise FileError("its members differ in inputs or outputs")
    ((num_features, num_outputs),) = widths
    standardizer = Standardizer(*decode(fitted["standardizer"], arrays))
    num_targets = len(standardizer.target_mean)
    for member in members:
        likelihood = member.model.likelihood
        wanted = (likelihood.num_outputs(num_targets), likelihood.start(num_targets).shape)
        if wanted != (num_outputs, member.guide.likelihood.shape):
            raise FileError("its likelihood does not fit its network")
    for part, size in zip(standardizer, (num_features, num_features, num_targets, num_targets), strict=True):
        if part.shape != (size,) or part.dtype != np.float64 or not np.isfinite(part).all():
            raise FileError("its standardization does not fit its network")
    if min(standardizer.input_scale.min(initial=1.0), standardizer.target_scale.min(initial=1.0)) <= 0:
        raise FileError("its standardization has a scale that is not positive")
    seed, num_draws = fitted["seed"], fitted["num_draws"]
    sizes = (num_features, *members[0].offered, num_outputs)
    if not 0 < num_draws <= max_draws(sizes):
        raise FileError(f"its number of draws, {num_draws}, is out of range: at most {max_draws(sizes):,} of this size")
    posterior = Posterior(members, standardizer, seed, num_draws)
    check_answers(posterior)
    return _unpack_calibration(fitted["calibration"], posterior, arrays)
