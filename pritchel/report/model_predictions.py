"""A model's predictions in its report: scores, the split of uncertainty, residuals, calibration, worst rows."""

from typing import Any

import numpy as np
import pandas as pd

from pritchel.posterior.evaluate import LEVELS
from pritchel.report import alt_texts
from pritchel.report import model_figures as figures
from pritchel.report.page import Page
from pritchel.tables.model import TableModel
from pritchel.tables.score_table import rows_scored, score_table
from pritchel.tables.scoring import SCORE_ARRAYS, score_notes
from pritchel.tables.worst import worst_rows

MOST_BARS = 60  # of counts
SPLIT = "The epistemic part of each row's uncertainty; in red the mean. "
SPREAD = (
    "Rows in groups by the standard deviation predicted for them. On the diagonal: where the model is less sure it is "
    "as much further off. A level line: it cannot tell sure rows from unsure ones."
)


def outcome_of(model: TableModel, frame: pd.DataFrame | None) -> dict[str, Any] | None:
    """Scores, observed values, predictions and PIT of the table's rows or of those on record, and whose they are."""
    if frame is not None and all(target in frame.columns for target in model.plan_.targets):
        outcome, numbers = model.evaluate(frame), model.known_row_numbers(frame)
        worst = worst_rows(model.estimator_, model.known_rows(frame)[0], outcome, model.plan_.targets, numbers)
        arrays = {part: getattr(outcome, part) for part in SCORE_ARRAYS}
        whose = f"the {len(outcome.observed):,} rows of the given table"
        return {**arrays, **score_notes(outcome), "worst": worst, "whose": whose}
    if model.notes_.get("scores") and "pit" in model.arrays_:
        return {"checks": [], **model.arrays_, **model.notes_, "whose": rows_scored(model.notes_)}
    return None


def add_predictions(page: Page, model: TableModel, frame: pd.DataFrame | None, outcome: dict[str, Any] | None) -> None:
    """The section; it says so where there is nothing to compare predictions with."""
    page.heading("Predictions and how far to trust them")
    if outcome is None:
        page.text("No rows with known targets were held out or given, so there is nothing to compare with.")
        return
    page.text(f"On {outcome['whose']}.")
    page.table(*score_table(outcome, LEVELS))
    if outcome.get("folds"):
        page.text("After ±: the standard error over folds.", is_note=True)
    if model.has_classes:
        _class_predictions(page, model, outcome)
    else:
        _number_predictions(page, model, frame, outcome)
    _worst(page, model, outcome)
    if outcome["checks"]:
        page.text(
            "Tables that the model makes up for the same inputs, against the real one. An observed figure outside the "
            "range says what the model does not capture."
        )
        rows = [
            (c["target"], c["statistic"], f"{c['observed']:.4g}", f"{c['lower']:.4g} to {c['upper']:.4g}")
            for c in outcome["checks"]
        ]
        page.table(("target", "statistic", "observed", "in nine of ten made-up tables"), rows)


def _number_predictions(page: Page, model: TableModel, frame: pd.DataFrame | None, outcome: dict[str, Any]) -> None:
    for index, name in enumerate(model.plan_.targets):
        observed, mean, sd, pit = (outcome[part][:, index] for part in ("observed", "mean", "sd", "pit"))
        residuals = observed - mean
        pictures, caption = [], ""
        has_sd = bool(np.isfinite(sd).all())  # noise of up to two degrees of freedom has none
        if "epistemic" in outcome and has_sd:
            share = outcome["epistemic"][:, index] ** 2 / np.maximum(sd**2, 1e-300)
            pictures, caption = [_split(page, share, f"variance of {name}")], SPLIT
        if len(observed) >= figures.FEWEST_FOR_GROUPS and has_sd:
            pictures.append((figures.spread(residuals, sd, name), alt_texts.of_spread(residuals, sd, name)))
            caption += SPREAD
        if pictures:
            page.figures(pictures, caption.strip())
        page.figures(
            [
                (figures.parity(observed, mean, sd, name), alt_texts.of_parity(observed, mean, name)),
                (figures.residuals_plot(residuals, mean, name), alt_texts.of_residuals(residuals, mean, name)),
            ],
            "Observed against predicted, and what is left of it. In red the means of groups of rows: all near zero "
            "where nothing was missed.",
        )
        if model.estimator_.posterior_.likelihood.has_counts:
            _rootogram(page, model, frame, index, observed)
        page.figures(
            [
                (figures.pit_histogram(pit), alt_texts.of_pit(pit, name)),
                (figures.coverage(pit), alt_texts.of_coverage(pit, name)),
            ],
            "Grey: where nineteen in twenty calibrated models of this many rows would lie. A hump in the middle, or a "
            "curve above the diagonal: intervals too wide. A valley, or a curve below: too narrow.",
        )


def _split(page: Page, share: np.ndarray, whose: str) -> tuple[bytes, str]:
    """Says how much of the uncertainty is noise, and how much more rows would take away; the picture of it."""
    page.text(
        f"Of the {whose}, {1 - share.mean():.0%} is noise (aleatoric), which stays however many rows there are, and "
        f"{share.mean():.0%} is what the model does not know (epistemic), which more rows like these take away; on "
        f"average over rows, and at most {share.max():.0%} for one."
    )
    return figures.uncertainty_split(share), alt_texts.of_split(share)


def _rootogram(page: Page, model: TableModel, frame: pd.DataFrame | None, target: int, observed: np.ndarray) -> None:
    """How often each count was seen, and expected; that takes the table."""
    if frame is None:
        return
    inputs, _ = model.known_rows(frame)
    width = -(-(int(observed.max()) + 2) // MOST_BARS)  # of a bar, in counts
    ends = np.arange(width, int(observed.max()) + 2 + width, width) - 1
    shape = (len(inputs), len(model.plan_.targets))
    posterior = model.estimator_.posterior_
    below = [posterior.cdf(inputs, np.full(shape, float(count)))[:, target].sum() for count in ends]
    expected = np.diff([*below[:-1], float(len(inputs))], prepend=0.0)  # the last: of so many, or more
    page.figure(
        figures.rootogram(observed, expected, width),
        alt_texts.of_rootogram(observed, expected, width, model.plan_.targets[target]),
        "Square roots of how often each count was observed (bars that hang from the curve) and expected. "
        "A bar that does not reach zero: too many were expected; one that goes below: too few. The last is of all from "
        "there on.",
    )


def _class_predictions(page: Page, model: TableModel, outcome: dict[str, Any]) -> None:
    labels = [str(label) for label in model.estimator_.classes_]
    observed, predicted = outcome["observed"][:, 0].astype(int), outcome["mean"].argmax(1)
    confidence, is_right = outcome["mean"].max(1), predicted == observed
    if "epistemic" in outcome:
        total = -(outcome["mean"] * np.log(np.maximum(outcome["mean"], 1e-300))).sum(1)
        share = np.clip(outcome["epistemic"][:, 0] / np.maximum(total, 1e-12), 0, 1)
        page.figure(*_split(page, share, "entropy of the classes"), SPLIT.strip())
    page.figure(
        figures.confusion(observed, predicted, labels),
        alt_texts.of_confusion(observed, predicted, labels),
        "Rows of the table by their class, and what was predicted for them; the diagonal is right.",
    )
    page.figures(
        [
            (figures.reliability(confidence, is_right), alt_texts.of_reliability(confidence, is_right)),
            (figures.confidence_histogram(confidence), alt_texts.of_confidence(confidence)),
        ],
        "Of the rows predicted with a given confidence, how many were right. Below the diagonal: too sure of itself.",
    )


def _worst(page: Page, model: TableModel, outcome: dict[str, Any]) -> None:
    """The rows that the model found least likely."""
    if not outcome.get("worst"):  # a folder written before they were kept
        return
    page.text(
        "The rows that the model found least likely, by their number in the table: slips of the pen, or what it misses."
    )
    rows = []
    for own in outcome["worst"]:
        told = (
            (own["observed"], own["predicted"], f"{own['probability']:.0%}")
            if model.has_classes
            else (f"{own['observed']:.4g}", f"{own['predicted']:.4g}", f"{own['lower']:.4g} to {own['upper']:.4g}")
        )
        rows.append((str(own["row"]), *told, f"{own['log_density']:.2f}", own["target"]))
    how = "with probability" if model.has_classes else "90 % interval"
    columns = ("row", "observed", "predicted", how, "log density", "target")
    num = len(columns) - (len(model.plan_.targets) == 1)  # of one target there is nothing to tell apart
    page.table(columns[:num], [row[:num] for row in rows])
