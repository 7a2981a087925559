"""Scores as the rows of a table: the model's, those of simpler methods, and the constant predictor's."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pritchel.posterior.evaluate import LEVELS

MODEL, CONSTANT = "model", "constant predictor"
NUMBERS = (("RMSE", "rmse", ".4g"), ("log-lik.", "log_likelihood", ".3f"), ("CRPS", "crps", ".4g"))
CLASSES = (
    ("accuracy", "accuracy", ".1%"),
    ("log-lik.", "log_likelihood", ".3f"),
    ("Brier", "brier", ".3f"),
    ("calibration error", "calibration_error", ".3f"),
)


def by_method(score: Mapping[str, Any], baselines: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Scores of one target by who made them: the model, simpler methods, the constant predictor."""
    yield MODEL, dict(score)
    yield from ((own["name"], dict(own)) for own in baselines if own["target"] == score["target"])
    parts = {name.removeprefix("constant_"): value for name, value in score.items() if name.startswith("constant_")}
    yield CONSTANT, parts


def score_table(notes: Mapping[str, Any], levels: Sequence[float]) -> tuple[list[str], list[list[str]]]:
    """Columns and rows for the scores of notes; of numbers, with the share of rows in intervals of some levels.

    Where there were folds each figure comes with its standard error over them.
    """
    scores, baselines = notes["scores"], notes.get("baselines", ())
    errors = {(own["target"], own["name"]): own for own in notes.get("folds", {}).get("errors", ())}
    has_classes = "accuracy" in scores[0]
    parts = CLASSES if has_classes else NUMBERS
    columns = ["target", "", *(title for title, _, _ in parts)]
    if not has_classes:
        columns += [f"{level:.0%} holds".replace("%", " %", 1) for level in levels]
    rows = []
    for score in scores:
        for method, own in by_method(score, baselines):
            error = errors.get((score["target"], method), {})
            row = [score["target"] if method == MODEL else "", method]
            row += [_figure(own.get(name), error.get(name), shown) for _, name, shown in parts]
            shares = own.get("coverage") or [None] * len(LEVELS)
            row += [] if has_classes else [_figure(shares[LEVELS.index(level)], None, ".0%") for level in levels]
            rows.append(row)
    return columns, rows


def _figure(value: float | None, error: float | None, shown: str) -> str:
    if value is None:
        return ""
    if error is None or not math.isfinite(error):
        return f"{value:{shown}}"
    return f"{value:{shown}} ± {error:{'.2g' if shown.endswith('g') else shown}}"


def rows_scored(notes: Mapping[str, Any]) -> str:
    """Whose scores those of notes are."""
    num, before = f"{notes['num_scored']:,}", ", before it was pruned" if notes.get("scored_before_pruning") else ""
    if folds := notes.get("folds"):
        return f"{num} rows, each predicted by one of {folds['num']} fits that did not see it{before}"
    if notes.get("crossed"):
        return f"{num} rows, each predicted by members that did not see it{before}"
    return f"{num} rows held out from the fit{before}"
