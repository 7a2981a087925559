"""What a fit left in a model folder, as the attributes of whoever answers from it; everything checked."""

from typing import Any

import numpy as np

from pritchel.data.dataset import Standardizer
from pritchel.estimators.saved_checks import check_answers
from pritchel.estimators.saved_labels import unpack_labels
from pritchel.estimators.saved_members import unpack_member
from pritchel.posterior.calibration import CALIBRATIONS
from pritchel.posterior.convergence import ChainReport, SamplingReport
from pritchel.posterior.draws import max_draws
from pritchel.posterior.noise import NoiseReport, TargetNoise
from pritchel.posterior.predict import Posterior
from pritchel.posterior.prune import PruneReport, PruneReports
from pritchel.serial import Arrays, FileError, decode


def unpack_fitted(fitted: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    """The attributes of a fit, by their names in Python, seen to be about each other."""
    posterior = _posterior(fitted, arrays)
    num_members, num_layers = len(posterior.members), len(posterior.members[0].offered)
    elbo = np.asarray(decode(fitted["elbo"], arrays))
    trace = np.atleast_2d(elbo.astype(np.float32))
    has_trace = elbo.dtype.kind == "f" and trace.ndim == 2 and len(trace) == num_members
    kept = [len(units) for units in fitted["units_kept"]]
    if not has_trace or len(fitted["status"]) != num_members or kept != [num_layers] * num_members:
        raise FileError("what it says of its fit is not about its members")
    return {
        "posterior_": posterior,
        **_inputs(fitted, posterior),
        **_targets(fitted, posterior),
        "is_collapsed_": bool(fitted["is_collapsed"]),
        "status_": [str(status) for status in fitted["status"]],
        "n_iter_": int(fitted["n_iter"]),
        "num_skipped_steps_": int(fitted["num_skipped_steps"]),
        "num_left_out_": int(fitted.get("num_left_out", 0)),
        "elbo_": trace,
        **_reports(fitted),
        **({"cv_score_": float(score)} if (score := fitted.get("cv_score")) is not None else {}),
    }


def _inputs(fitted: dict[str, Any], posterior: Posterior) -> dict[str, Any]:
    num_features, names = posterior.members[0].guide.widths[0], fitted["feature_names_in"]
    if fitted["n_features_in"] != num_features:
        raise FileError("its number of features does not fit its network")
    if names is None:
        return {"n_features_in_": num_features}
    if len(names) != num_features or not all(isinstance(name, str) for name in names):
        raise FileError("its feature names do not fit its network")
    return {"n_features_in_": num_features, "feature_names_in_": np.asarray(names, dtype=object)}


def _targets(fitted: dict[str, Any], posterior: Posterior) -> dict[str, Any]:
    likelihood: Any = posterior.likelihood
    if not likelihood.has_classes:
        return {"is_single_target_": bool(fitted["is_single_target"])}
    classes = unpack_labels(fitted["classes"])
    if classes.shape != (likelihood.num_classes,) or not np.array_equal(np.unique(classes), classes):
        raise FileError("its labels do not fit its network")
    return {"classes_": classes}


def _reports(fitted: dict[str, Any]) -> dict[str, Any]:
    """What was said of the chains, the noise and of pruning, if there was any."""
    inference, why, chains, r_hat, effective = fitted["sampling_report"]
    chains = tuple(ChainReport(*chain) for chain in chains)
    noise, pruned = fitted["noise_report"], fitted["prune_reports"]
    told: dict[str, Any] = {
        "sampling_report_": SamplingReport(str(inference), str(why), chains, r_hat, effective),
        "noise_report_": None if noise is None else NoiseReport([TargetNoise(*target) for target in noise]),
    }
    if pruned is not None:
        told["prune_report_"] = PruneReports(
            PruneReport(
                tuple(offered), tuple(kept), None if threshold is None else float(threshold), float(probability)
            )
            for offered, kept, threshold, probability in pruned
        )
    return told


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
