"""A fitted model as a folder: `spec.json` (what it is), `weights.safetensors` (its arrays), `README.md` (its card).

Reading makes only this package's own classes, checks every shape before anything is computed, and runs no code from
the files. Whatever is wrong with them comes out as a `FileError`.
"""

import hashlib
import itertools
import json
import os
import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from pritchel.data.dataset import Standardizer
from pritchel.estimators.base import HorseshoeEstimator
from pritchel.estimators.classifier import HorseshoeClassifier
from pritchel.estimators.regressor import HorseshoeRegressor
from pritchel.files.card import card
from pritchel.guide.member import Member
from pritchel.guide.network import NetworkGuide, draw_weights
from pritchel.model.network import Model
from pritchel.posterior.draws import draw_noise_shapes
from pritchel.posterior.predict import Posterior
from pritchel.posterior.prune import PruneReport, PruneReports
from pritchel.serial import (
    MAX_TEXT_BYTES,
    Arrays,
    FileError,
    decode,
    encode,
    read_arrays,
    read_json,
    versions,
    write_arrays,
)

FORMAT, FORMAT_VERSION = "pritchel-model", 1
SPEC, WEIGHTS, CARD = "spec.json", "weights.safetensors", "README.md"
ESTIMATORS: dict[str, type[HorseshoeEstimator]] = {
    "HorseshoeRegressor": HorseshoeRegressor,
    "HorseshoeClassifier": HorseshoeClassifier,
}
NOT_SAVED = ("progress", "checkpoint", "warm_start")
MAX_OFFERED_WEIGHTS, MAX_DRAWS = 16_000_000, 100_000


class SavedModel(NamedTuple):
    """What a model folder holds."""

    estimator: HorseshoeEstimator
    table: dict[str, Any] | None  # how a table's columns become inputs; None: the model was fitted to arrays
    notes: dict[str, Any]  # scores and whatever else was said about the fit
    arrays: Arrays  # arrays that the notes speak of
    spec: dict[str, Any]


def require_free(path: Path, overwrite: bool) -> None:
    """Refuse a name that is taken, unless by a model that may be overwritten."""
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists. Choose another name, or allow it to be overwritten.")
    if path.exists() and not _is_model_folder(path):
        raise FileExistsError(f"{path} exists and is not a model folder; it is left alone.")


def save_model(
    path: Path,
    estimator: HorseshoeEstimator,
    *,
    table: dict[str, Any] | None = None,
    notes: dict[str, Any] | None = None,
    extra_arrays: Arrays | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a fitted estimator to a folder, which is there whole or not at all."""
    require_free(path, overwrite)
    arrays: Arrays = {f"notes.{name}": array for name, array in (extra_arrays or {}).items()}
    spec: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "estimator": type(estimator).__name__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "settings": _settings(estimator),
        "fitted": _fitted(estimator, arrays),
        "table": table,
        "notes": notes or {},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent))
    try:
        temporary.chmod(0o755)
        write_arrays(temporary / WEIGHTS, arrays)
        spec["weights_sha256"] = hashlib.sha256((temporary / WEIGHTS).read_bytes()).hexdigest()
        spec["spec_sha256"] = _digest(spec)
        (temporary / SPEC).write_text(json.dumps(spec, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        (temporary / CARD).write_text(card(spec), encoding="utf-8")
        _swap_in(temporary, path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return path


def _swap_in(temporary: Path, path: Path) -> None:
    """Put the new folder in the old one's place; the old one is gone only once the new one is there."""
    if not path.exists():
        os.rename(temporary, path)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".old", dir=path.parent))
    os.rename(path, old / path.name)
    try:
        os.rename(temporary, path)
    except OSError:
        os.rename(old / path.name, path)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def load_model(path: Path) -> SavedModel:
    """Read a model folder. Raises `FileError` with the reason for anything that is not a sound one."""
    try:
        spec = _read_spec(path)
        weights = path / WEIGHTS
        if not weights.is_file():
            raise FileError(f"{WEIGHTS} is missing")
        with weights.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != spec.get("weights_sha256"):
            raise FileError(f"{WEIGHTS} is not the file that {SPEC} was written with: truncated, edited or exchanged")
        arrays, _ = read_arrays(weights)
        return unpack(spec, arrays)
    except FileError as error:
        raise FileError(f"{path} cannot be loaded: {error}.") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from None


def unpack(spec: dict[str, Any], arrays: Arrays) -> SavedModel:
    """The model that a spec and its arrays describe, everything checked."""
    try:
        estimator = _estimator(spec, arrays)
        table, notes = spec["table"], spec["notes"]
        if not isinstance(notes, dict) or not (table is None or isinstance(table, dict)):
            raise FileError("its notes or table are not objects")
        extra = {name.removeprefix("notes."): array for name, array in arrays.items() if name.startswith("notes.")}
        return SavedModel(estimator, table, notes, extra, spec)
    except FileError:
        raise
    except KeyError as error:
        raise FileError(f"{error.args[0]!r} is missing from {SPEC}") from None
    except Exception as error:  # whatever a hostile file provokes inside the checks is one thing: not a model
        raise FileError(f"its parts do not fit together ({type(error).__name__}: {str(error)[:200]})") from None


def _is_model_folder(path: Path) -> bool:
    try:
        return json.loads((path / SPEC).read_text())["format"] == FORMAT
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _digest(spec: dict[str, Any]) -> str:
    rest = {name: value for name, value in spec.items() if name != "spec_sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _read_spec(path: Path) -> dict[str, Any]:
    if not path.is_dir():
        raise FileError("there is no such folder" if not path.exists() else "it is not a folder")
    file = path / SPEC
    if not file.is_file():
        raise FileError(f"{SPEC} is missing")
    if file.stat().st_size > MAX_TEXT_BYTES:
        raise FileError(f"{SPEC} is larger than any model's")
    try:
        spec = read_json(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise FileError(f"{SPEC} is not text") from None
    if not isinstance(spec, dict) or spec.get("format") != FORMAT:
        raise FileError(f"{SPEC} does not describe a Pritchel model")
    version = spec.get("format_version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise FileError(
            f"its format version is {version!r} and this release reads up to {FORMAT_VERSION}: upgrade pritchel"
        )
    try:
        is_whole = _digest(spec) == spec.get("spec_sha256")
    except RecursionError:
        is_whole = False
    if not is_whole:
        raise FileError(f"{SPEC} was changed after it was written (its digest does not match)")
    return spec


def _settings(estimator: HorseshoeEstimator) -> dict[str, Any]:
    """Constructor arguments as JSON; what belongs to a process or a machine stays behind."""
    settings = {name: value for name, value in estimator.get_params().items() if name not in NOT_SAVED}
    if not isinstance(settings["random_state"], int):
        settings["random_state"] = None
    return {name: _plain(value) for name, value in settings.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list, np.ndarray)):
        return [_plain(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value


def _fitted(estimator: Any, arrays: Arrays) -> dict[str, Any]:
    posterior: Posterior = estimator.posterior_
    report = getattr(estimator, "prune_report_", None)
    reports = None if report is None else list(report) if isinstance(report, PruneReports) else [report]
    members = []
    for index, member in enumerate(posterior.members):
        name = f"members.{index}"
        parts = {"model": member.model, "guide": member.guide, "offered": member.offered, "kept": member.kept}
        members.append({part: encode(value, arrays, f"{name}.{part}") for part, value in parts.items()})
    return {
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": _plain(getattr(estimator, "feature_names_in_", None)),
        "classes": _plain(getattr(estimator, "classes_", None)),
        "is_single_target": bool(estimator._is_single_target),
        "is_collapsed": bool(estimator.is_collapsed_),
        "status": list(estimator.status_),
        "n_iter": int(estimator.n_iter_),
        "num_skipped_steps": int(estimator.num_skipped_steps_),
        "elbo": encode(np.asarray(estimator.elbo_, np.float32), arrays, "elbo"),
        "seed": int(posterior.seed),
        "num_draws": int(posterior.num_draws),
        "standardizer": encode(tuple(posterior.standardizer), arrays, "standardizer"),
        "members": members,
        "units_kept": np.atleast_2d(estimator.units_kept_).tolist(),
        "prune_reports": None if reports is None else [_plain(tuple(one)) for one in reports],
    }


def _estimator(spec: dict[str, Any], arrays: Arrays) -> HorseshoeEstimator:
    kind = ESTIMATORS.get(spec["estimator"])
    if kind is None:
        raise FileError(f"it holds a {spec['estimator']!r}, which this version does not know")
    fitted = spec["fitted"]
    settings = {name: tuple(value) if isinstance(value, list) else value for name, value in spec["settings"].items()}
    estimator: Any = kind(**settings)
    estimator._fit_settings(2)  # checks every option
    members = [_member(part, arrays) for part in fitted["members"]]
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
    seed, num_draws = fitted["seed"], fitted["num_draws"]
    if not isinstance(seed, int) or not isinstance(num_draws, int) or not (seed >= 0 and 0 < num_draws <= MAX_DRAWS):
        raise FileError("its seed or number of draws is out of range")
    if fitted["n_features_in"] != num_features:
        raise FileError("its number of features does not fit its network")
    estimator.posterior_ = Posterior(members, standardizer, seed, num_draws)
    estimator.n_features_in_ = num_features
    names = fitted["feature_names_in"]
    if names is not None:
        if len(names) != num_features or not all(isinstance(name, str) for name in names):
            raise FileError("its feature names do not fit its network")
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    classes = fitted.get("classes")
    if members[0].model.likelihood.has_classes:
        num_classes = members[0].model.likelihood.class_index.shape[0]  # pyright: ignore[reportAttributeAccessIssue]
        if len(classes) != num_classes or len({type(label) for label in classes}) != 1:
            raise FileError("its labels do not fit its network")
        estimator.classes_ = np.asarray(classes)
    estimator._is_single_target = bool(fitted["is_single_target"])
    estimator.is_collapsed_ = bool(fitted["is_collapsed"])
    estimator.status_ = [str(status) for status in fitted["status"]]
    estimator.n_iter_, estimator.num_skipped_steps_ = int(fitted["n_iter"]), int(fitted["num_skipped_steps"])
    estimator.elbo_ = np.asarray(decode(fitted["elbo"], arrays), np.float32)
    if fitted["prune_reports"] is not None:
        reports = PruneReports(
            PruneReport(tuple(offered), tuple(kept), float(delta), float(p0))
            for offered, kept, delta, p0 in fitted["prune_reports"]
        )
        estimator.prune_report_ = reports[0] if len(reports) == 1 else reports
    estimator._describe_units()
    return estimator


def _member(part: dict[str, Any], arrays: Arrays) -> Member:
    """A member whose arrays have been seen to fit together."""
    model, guide, offered, kept = (decode(part[name], arrays) for name in ("model", "guide", "offered", "kept"))
    if not isinstance(model, Model) or not isinstance(guide, NetworkGuide):
        raise FileError("a member is not a model and a guide")
    for leaf in jax.tree.leaves((model, guide)):
        is_float = isinstance(leaf, np.ndarray) and leaf.dtype in (np.float32, np.float64)
        if not is_float or not np.isfinite(leaf).all():
            raise FileError("a parameter is not a finite float")
    units = guide.widths[1:-1]
    if len(offered) != len(units) or len(kept) != len(units):
        raise FileError("its layers do not match its units")
    for count, index, num_kept in zip(offered, kept, units, strict=True):
        is_index = isinstance(index, np.ndarray) and index.dtype.kind == "i" and index.shape == (num_kept,)
        if not isinstance(count, int) or not is_index or np.any(index < 0) or np.any(index >= count):
            raise FileError("its list of units is out of range")
    sizes = (guide.widths[0], *offered, guide.widths[-1])
    if sum((rows + 1) * columns for rows, columns in itertools.pairwise(sizes)) > MAX_OFFERED_WEIGHTS:
        raise FileError(f"it was offered more than {MAX_OFFERED_WEIGHTS:,} weights")
    member = Member(model, guide, offered, kept)
    weights = jax.eval_shape(draw_weights, model, guide, draw_noise_shapes(member))
    expected = [(rows + 1, columns) for rows, columns in itertools.pairwise(guide.widths)]
    found = [leaf.shape for leaf in (*weights.hidden, weights.output)]
    is_linear_right = weights.linear is None or weights.linear.shape == (guide.widths[0], guide.widths[-1])
    if found != expected or not is_linear_right:
        raise FileError("its arrays do not make a network")
    return member
