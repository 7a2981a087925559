"""Cross-validation: every row predicted by a fit that did not see it, and what the folds' scores come to together."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pritchel.data.split import IN_NONE, deal
from pritchel.estimators.typed import unfitted
from pritchel.infer.checkpoint import SharedFolder
from pritchel.jobs import answers, num_at_once
from pritchel.posterior.evaluate import calibration_error
from pritchel.tables.messages import Message, TableError
from pritchel.tables.score_table import by_method
from pritchel.tables.scoring import SCORE_ARRAYS, fit_and_score
from pritchel.tables.training import TrainingTable
from pritchel.tables.worst import worst_of

Notes = dict[str, Any]
Arrays = dict[str, np.ndarray]


def fold_of_rows(data: TrainingTable, num_folds: int, classes: bool, seed: int | None) -> np.ndarray:
    """The fold of each row, from 0, drawn at random; of classes each fold has its share of every one.

    The only row of a class is in none: a fit that never saw the class could not be scored on it.
    """
    labels = data.targets[:, 0].astype(str) if classes else None
    fold = deal(len(data.targets), num_folds, np.random.default_rng(seed), labels)
    num = int((fold != IN_NONE).sum())
    if num < num_folds or num - math.ceil(num / num_folds) < 2:
        text = f"{num} rows are too few for {{option}}: each fold needs a row, and each fit two."
        raise TableError(text, "folds", num_folds)
    return fold


def fit_folds_elsewhere(
    estimator: Any, data: TrainingTable, fold: np.ndarray, checkpoints: Path | None, tell: Callable[[Message], Any]
) -> list[tuple[Notes, Arrays]]:
    """Notes and arrays of each fold, a worker of joblib's fitting and scoring it; an interrupt leaves none."""
    num, parts = int(fold.max()) + 1, {}
    tell(Message(f"{num} folds on joblib's workers ..."))
    tasks = []
    for index in range(num):
        folder = None if checkpoints is None else SharedFolder.of(checkpoints / f"fold-{index + 1}")
        tasks.append((unfitted(estimator).set_params(progress=False), data.holding_out(fold == index), folder))
    for index, part in answers(fit_fold, tasks, num_at_once(None)):
        if part is None:
            raise KeyboardInterrupt
        parts[index] = part
        tell(Message(f"Fold {index + 1} is done, {len(parts)} of {num}."))
    return [parts[index] for index in range(num)]


def fit_fold(estimator: Any, data: TrainingTable, folder: SharedFolder | None) -> tuple[Notes, Arrays] | None:
    """On a worker: notes and arrays of a fold; None after an interrupt."""
    estimator.set_params(checkpoint=None if folder is None else folder.here())
    outcome = fit_and_score(estimator, data, lambda message: None)
    return None if estimator.is_interrupted_ else outcome


def pooled(parts: Sequence[tuple[Notes, Arrays]]) -> tuple[Notes, Arrays]:
    """Notes and arrays of the folds as those of one evaluation, with standard errors over the folds."""
    notes = [own for own, _ in parts]
    shares = np.asarray([own["num_scored"] for own in notes], float)
    shares /= shares.sum()
    rows = np.concatenate([own["row"] for _, own in parts])
    arrays = {name: np.concatenate([own[name] for _, own in parts])[np.argsort(rows)] for name in SCORE_ARRAYS}
    together: Notes = {
        "seconds": round(sum(own["seconds"] for own in notes), 2),
        "importances": _worth([own["importances"] for own in notes], shares),
        "scores": [_mean(own, shares) for own in zip(*(own["scores"] for own in notes), strict=True)],
        "num_scored": len(rows),
        "checks": [],
        "worst": worst_of([own["worst"] for own in notes]),
        "folds": {"num": len(parts), "errors": _errors(notes)},
    }
    for score in together["scores"]:
        if "calibration_error" in score:  # no mean of those of fewer rows
            is_right = arrays["mean"].argmax(1) == arrays["observed"][:, 0]
            score["calibration_error"] = calibration_error(arrays["mean"].max(1), is_right)
    simpler = [{(own["target"], own["name"]): own for own in note["baselines"]} for note in notes]
    everywhere = [key for key in simpler[0] if all(key in own for own in simpler)]
    together["baselines"] = [
        _baseline([own[key] for own in simpler], [note["scores"] for note in notes], shares) for key in everywhere
    ]
    return together, arrays | {"row": np.sort(rows)}


def _mean(scores: Sequence[Mapping[str, Any]], shares: np.ndarray) -> Notes:
    """Scores of the same target, averaged over rows; of root mean squares the squares are."""
    found = dict(scores[0])
    for name, value in found.items():
        values = [score[name] for score in scores]
        if name.endswith("rmse") and value is not None:
            found[name] = math.sqrt(shares @ np.square(values))
        elif isinstance(value, list):
            found[name] = (shares @ np.asarray(values, float)).tolist()
        elif isinstance(value, float):
            found[name] = float(shares @ np.asarray(values, float))
    return found


def _baseline(own: Sequence[Mapping[str, Any]], scores: Sequence[Sequence[Notes]], shares: np.ndarray) -> Notes:
    """A simpler method's scores over all folds; the error of its gain is that of strata."""
    found: Notes = {**_mean(own, shares), "calibration_error": None}
    errors = np.asarray([score["gain_error"] for score in own], float)
    if found["log_likelihood"] is not None:
        return found | {"gain_error": float(np.sqrt(np.sum((shares * errors) ** 2)))}
    # Gains of RMSE, as they were made: differences of mean squares over the sum of the roots.
    mine = [next(part for part in part_scores if part["target"] == found["target"])["rmse"] for part_scores in scores]
    sums = np.asarray([score["rmse"] for score in own]) + mine
    root = math.sqrt(shares @ np.square(mine))
    error = float(np.sqrt(np.sum((shares * errors * sums) ** 2))) / max(found["rmse"] + root, 1e-300)
    return found | {"gain": found["rmse"] - root, "gain_error": error}


def _errors(notes: Sequence[Notes]) -> list[Notes]:
    """Standard errors over the folds of every score that is a number, by target and method."""
    found = []
    for index, score in enumerate(notes[0]["scores"]):
        every = [dict(by_method(own["scores"][index], own["baselines"])) for own in notes]
        for method in every[0]:
            mine = [own[method] for own in every if method in own]
            error = {"target": score["target"], "name": method}
            for name, value in mine[0].items():
                if isinstance(value, float) and not name.startswith("gain"):
                    values = [float(own[name]) for own in mine]
                    error[name] = float(np.std(values, ddof=1) / math.sqrt(len(values)))
            found.append({name: value for name, value in error.items() if not name.startswith("constant_")})
    return found


def _worth(folds: Sequence[Sequence[Mapping[str, Any]]], shares: np.ndarray) -> list[Notes]:
    """What columns are worth, averaged over the folds; most first."""
    by_name = [{own["name"]: own for own in fold} for fold in folds]
    found = [_mean([fold[name] for fold in by_name], shares) for name in by_name[0]]
    return sorted(found, key=lambda own: -own["log_likelihood"])
