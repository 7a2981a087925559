"""The report of one model: what it was given, how it was fitted, what it kept, how far to trust it."""

import shlex
from typing import Any

import numpy as np
import pandas as pd

from pritchel.report import model_figures as figures
from pritchel.report.model_dependence import add_dependence
from pritchel.report.page import Page
from pritchel.serial import versions
from pritchel.tables.columns import Column
from pritchel.tables.judgement import judge
from pritchel.tables.model import TableModel

FEWEST_FOR_SPREAD = 40  # rows


def model_page(model: TableModel, frame: pd.DataFrame | None = None, name: str = "model") -> Page:
    """The page; with a table, predictions and calibration are of its rows, else of those held out from the fit."""
    estimator, plan = model.estimator_, model.plan_
    outcome = _outcome(model, frame)
    targets = ", ".join(plan.targets)
    page = Page(
        f"{name}: {targets}", f"A {type(estimator).__name__} fitted with Pritchel; report of the model in {name}."
    )
    page.cards(_cards(model, outcome))
    if outcome is not None:
        for verdict in judge(estimator, outcome["scores"], len(outcome["observed"])):
            page.text(str(verdict))
    _data(page, model)
    _fit(page, model)
    _units(page, model)
    _predictions(page, model, frame, outcome)
    add_dependence(page, model, frame)
    _settings(page, model)
    return page


def _outcome(model: TableModel, frame: pd.DataFrame | None) -> dict[str, Any] | None:
    """Observed values, predictions and PIT, and whose they are."""
    if frame is not None and all(target in frame.columns for target in model.plan_.targets):
        outcome = model.evaluate(frame)
        scores = [score._asdict() for score in outcome.scores]
        arrays = {part: getattr(outcome, part) for part in ("observed", "mean", "sd", "pit")}
        checks = [check._asdict() for check in outcome.checks]
        whose = f"the {len(outcome.observed):,} rows of the given table"
        return {**arrays, "scores": scores, "checks": checks, "whose": whose}
    if model.notes_.get("scores") and "pit" in model.arrays_:
        whose = f"{model.notes_['num_scored']:,} rows held out from the fit"
        checks = model.notes_.get("checks", [])  # a folder written before there were any has none
        return {**model.arrays_, "scores": model.notes_["scores"], "checks": checks, "whose": whose}
    return None


def _cards(model: TableModel, outcome: dict[str, Any] | None) -> list[tuple[str, str]]:
    estimator = model.estimator_
    offered = sum(estimator.posterior_.members[0].offered)
    kept = estimator.units_kept_.sum(1).mean()
    cards = [("hidden units in use a network", f"{kept:.0f} of {offered}")]
    cards.append(("networks mixed", str(len(estimator.posterior_.members))))
    if outcome is not None:
        score = outcome["scores"][0]
        if model.has_classes:
            cards.append((f"accuracy for {score['target']}", f"{score['accuracy']:.1%}"))
            cards.append(("accuracy of the constant predictor", f"{score['constant_accuracy']:.1%}"))
            return [*cards, ("calibration error", f"{score['calibration_error']:.3f}")]
        cards.append((f"RMSE of {score['target']}", f"{score['rmse']:.4g}"))
        cards.append(("RMSE of the constant predictor", f"{score['constant_rmse']:.4g}"))
        cards.append(("90 % intervals hold", f"{score['coverage'][2]:.0%}"))
    return cards


def _data(page: Page, model: TableModel) -> None:
    page.heading("The data")
    source = model.notes_.get("source")
    if source:
        held = f", {source['holdout']:.0%} of them held out for scoring" if source.get("holdout") else ""
        page.text(f"{source['rows']:,} rows from {source['table']}{held}.")
    rows = []
    for column in model.plan_.columns:
        rows.append((column.name, column.kind, *_summary(column)))
    page.table(("column", "kind", "missing", "typical values"), rows)
    for name, reason in model.plan_.left_out.items():
        page.text(f"Left out: {name} ({reason}).", is_note=True)


def _summary(column: Column) -> tuple[str, str]:
    if not column.summary:
        return "", ""
    missing = str(column.summary["missing"])
    if column.kind == "number":
        low, median, high = (column.summary["quantiles"][index] for index in (1, 3, 5))
        return missing, f"median {median:.4g}; nine in ten between {low:.4g} and {high:.4g}"
    counts = column.summary["counts"].items()
    shown = ", ".join(f"{value} ({count})" for value, count in list(counts)[:5])
    more = column.summary["distinct"] - 5
    return missing, shown + (f" and {more} more" if more > 0 else "")


def _fit(page: Page, model: TableModel) -> None:
    estimator = model.estimator_
    page.heading("The fit")
    seconds = f" in {model.notes_['seconds']:.0f} s" if "seconds" in model.notes_ else ""
    text = f"{estimator.n_iter_:,} steps{seconds}; ended: {', '.join(sorted(set(estimator.status_)))}. "
    text += "The evidence lower bound rises and levels off when a fit is done"
    warmup = estimator.options().training.kl_warmup
    if warmup > 0:
        text += f"; the prior's weight climbs over the first {100 * warmup:.0f} % of the steps, which can "
        text += "pull it down for a while"
    page.text(f"{text}.")
    report = estimator.sampling_report_
    if report.chains:
        page.text(f"The networks were then pruned; {report}.")
        if report.complaint is not None:
            page.text(report.complaint)
    if estimator.noise_report_ is not None:
        page.text(f"Noise: {estimator.noise_report_}.")
    if estimator.calibration_ is not None:
        page.text(f"Calibration: {estimator.calibration_}.")
    picture = figures.fit_trace(estimator.elbo_)
    page.figure(picture, "Line plot of the evidence lower bound against training steps.")
    if estimator.is_collapsed_:
        page.text("The fit is no better than the constant predictor, on its own rows or on others: do not use it.")


def _units(page: Page, model: TableModel) -> None:
    page.heading("Which units lived")
    estimator = model.estimator_
    members = estimator.posterior_.members
    if not members[0].guide.has_unit_scales():
        page.text("The Gaussian prior has no unit scales: every unit is in use and none can be pruned.")
        return
    rows = []
    for index, (member, kept) in enumerate(zip(members, estimator.units_kept_, strict=True)):
        layers = [f"{k} of {o}" for k, o in zip(kept, member.offered, strict=True)]
        rows.append((f"network {index + 1}", ", ".join(layers), ", ".join(str(len(units)) for units in member.kept)))
    page.table(("", "in use (after pruning), a hidden layer", "present in the file"), rows)
    page.figure(
        figures.unit_scales(members[0]),
        "Scales of the hidden units of the first network in falling order, those in use above the pruning threshold.",
        "Posterior of each unit's scale in the first network: mean and 90 % interval. Units whose scale lies below the "
        "dashed line with probability above 0.9 are dead; pruning takes them out.",
    )


def _expected_counts(
    model: TableModel, frame: pd.DataFrame | None, target: int, observed: np.ndarray
) -> np.ndarray | None:
    """How many rows of the table are expected to have each count; needs the table."""
    if frame is None:
        return None
    inputs, _ = model.known_rows(frame)
    counts = np.arange(min(int(observed.max()) + 2, 60))
    posterior = model.estimator_.posterior_
    shape = (len(inputs), len(model.plan_.targets))
    below = [posterior.cdf(inputs, np.full(shape, float(count)))[:, target].sum() for count in counts]
    return np.diff(below, prepend=0.0)


def _predictions(page: Page, model: TableModel, frame: pd.DataFrame | None, outcome: dict[str, Any] | None) -> None:
    page.heading("Predictions and how far to trust them")
    if outcome is None:
        page.text("No rows with known targets were held out or given, so there is nothing to compare with.")
        return
    page.text(f"On {outcome['whose']}.")
    if model.has_classes:
        _class_predictions(page, model, outcome)
    else:
        _number_predictions(page, model, frame, outcome)
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
    rows = []
    for score in outcome["scores"]:
        figures_of = (f"{score['rmse']:.4g}", f"{score['log_likelihood']:.3f}", f"{score['crps']:.4g}")
        coverage = tuple(f"{share:.0%}" for share in score["coverage"])
        rows.append((score["target"], "model", *figures_of, *coverage))
        constant = (score["constant_rmse"], score["constant_log_likelihood"], score["constant_crps"])
        shown = (f"{constant[0]:.4g}", f"{constant[1]:.3f}", f"{constant[2]:.4g}")
        rows.append(("", "constant predictor", *shown, "", "", "", ""))
    columns = ("target", "", "RMSE", "log-lik.", "CRPS", "50 % holds", "80 %", "90 %", "95 %")
    page.table(columns, rows)
    for index, name in enumerate(model.plan_.targets):
        observed, mean, sd, pit = (outcome[part][:, index] for part in ("observed", "mean", "sd", "pit"))
        page.figure(
            figures.parity(observed, mean, sd, name), f"Observed {name} against its prediction, near the diagonal."
        )
        if model.estimator_.posterior_.likelihood.has_counts:
            expected = _expected_counts(model, frame, index, observed)
            if expected is not None:
                page.figure(
                    figures.rootogram(observed, expected),
                    f"Hanging rootogram of the counts of {name}.",
                    "Square roots of how often each count was observed (bars that hang from the curve) and expected. "
                    "A bar that does not reach zero: too many were expected; one that goes below: too few.",
                )
        if len(observed) >= FEWEST_FOR_SPREAD:
            page.figure(
                figures.spread(observed - mean, sd, name),
                f"How far {name} was off against how far the model said it might be, in groups of rows.",
                "Rows in groups by the standard deviation predicted for them. On the diagonal: where the model is less "
                "sure it is as much further off. A level line: it cannot tell sure rows from unsure ones.",
            )
        page.figure(
            figures.calibration(pit),
            f"Histogram of predictive probabilities and coverage curve for {name}.",
            "Grey: where nineteen in twenty calibrated models of this many rows would lie. A hump in the middle, or a "
            "curve above the diagonal: intervals too wide. A valley, or a curve below: too narrow.",
        )


def _class_predictions(page: Page, model: TableModel, outcome: dict[str, Any]) -> None:
    (score,) = outcome["scores"]
    shown = (f"{score['accuracy']:.1%}", f"{score['log_likelihood']:.3f}", f"{score['brier']:.3f}")
    constant = (f"{score['constant_accuracy']:.1%}", f"{score['constant_log_likelihood']:.3f}", "", "")
    rows = [("model", *shown, f"{score['calibration_error']:.3f}"), ("constant predictor", *constant)]
    page.table(("", "accuracy", "log-lik.", "Brier", "calibration error"), rows)
    labels = [str(label) for label in model.estimator_.classes_]
    observed = outcome["observed"][:, 0].astype(int)
    page.figure(
        figures.confusion(observed, outcome["mean"].argmax(1), labels),
        "Confusion matrix: rows by their class against the class predicted for them.",
        "Rows of the table by their class, and what was predicted for them; the diagonal is right.",
    )
    page.figure(
        figures.reliability(outcome["mean"].max(1), outcome["mean"].argmax(1) == observed),
        "Accuracy against confidence, and how many rows had which confidence.",
        "Of the rows predicted with a given confidence, how many were right. Below the diagonal: too sure of itself.",
    )


def _settings(page: Page, model: TableModel) -> None:
    page.heading("Settings, and how to do it again")
    command = model.notes_.get("source", {}).get("command")
    if command:  # a model fitted in Python has none; its settings say how
        page.code(shlex.join(map(str, command)))
    settings = model.estimator_.get_params()
    page.table(("setting", "value"), [(key, _shown(settings[key])) for key in sorted(settings)])
    made_with = model.spec_.get("versions") or versions()
    page.text("Made with " + ", ".join(f"{name} {version}" for name, version in made_with.items()) + ".", is_note=True)


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
