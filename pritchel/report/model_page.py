"""The report of one model: what it was given, how it was fitted, what it kept, how far to trust it."""

import shlex
from collections.abc import Iterator
from typing import Any

import pandas as pd

from pritchel.guide.prune_rule import rule_for
from pritchel.report import alt_texts
from pritchel.report import model_figures as figures
from pritchel.report.model_dependence import add_dependence
from pritchel.report.model_predictions import add_predictions, outcome_of
from pritchel.report.page import Page
from pritchel.serial import versions
from pritchel.tables.columns import Column
from pritchel.tables.judgement import judge
from pritchel.tables.model import TableModel
from pritchel.tables.score_table import MODEL, by_method


def model_page(model: TableModel, frame: pd.DataFrame | None = None, name: str = "model") -> Page:
    """The page; with a table, predictions and calibration are of its rows, else of those held out from the fit."""
    outcome = outcome_of(model, frame)
    page = Page(
        f"{name}: {', '.join(model.plan_.targets)}",
        f"A {type(model.estimator_).__name__} fitted with Pritchel; report of the model in {name}.",
    )
    page.cards(_cards(model, outcome))
    page.verdicts(_verdicts(model, outcome))
    add_predictions(page, model, frame, outcome)
    add_dependence(page, model, frame)
    _data(page, model)
    _fit(page, model)
    _units(page, model)
    _settings(page, model)
    return page


def _verdicts(model: TableModel, outcome: dict[str, Any] | None) -> Iterator[str]:
    """What to make of the model, in sentences: scores, units, noise, and how the fit ended."""
    estimator = model.estimator_
    if estimator.is_collapsed_:
        yield "The fit is no better than the constant predictor, on its own rows or on others: do not use it."
    if outcome is not None:
        yield from map(str, judge(estimator, outcome))
    members = estimator.posterior_.members
    if members[0].guide.has_unit_scales():
        kept, offered = estimator.units_kept_.sum(1), sum(members[0].offered)
        some = f"{kept[0]}" if kept.min() == kept.max() else f"{kept.min()} to {kept.max()}"
        yield f"Units: {some} of {offered} hidden units are in use{' in each network' if len(kept) > 1 else ''}."
    if estimator.width_remark_ is not None:
        yield estimator.width_remark_
    if estimator.noise_report_ is not None:
        yield f"Noise: {estimator.noise_report_}."
    report = estimator.sampling_report_
    how = str(report)
    yield f"{how[0].upper()}{how[1:]}." + ("" if report.complaint is None else f" {report.complaint}")


def _cards(model: TableModel, outcome: dict[str, Any] | None) -> list[tuple[str, str]]:
    """Large figures: the first target's scores beside those of simpler methods, then the network's size."""
    estimator, cards = model.estimator_, []
    if outcome is not None:
        score = outcome["scores"][0]
        part, title, shown = ("accuracy", "accuracy", ".1%") if model.has_classes else ("rmse", "RMSE", ".4g")
        for method, own in by_method(score, outcome.get("baselines", ())):
            if own.get(part) is not None:
                whose = f" for {score['target']}" if method == MODEL else f", {method}"
                cards.append((f"{title}{whose}", f"{own[part]:{shown}}"))
        if model.has_classes:
            cards.append(("calibration error", f"{score['calibration_error']:.3f}"))
        else:
            cards.append(("90 % intervals hold", f"{score['coverage'][2]:.0%}"))
    offered, kept = sum(estimator.posterior_.members[0].offered), estimator.units_kept_.sum(1).mean()
    return [
        *cards,
        ("hidden units in use a network", f"{kept:.0f} of {offered}"),
        ("networks mixed", str(len(estimator.posterior_.members))),
    ]


def _data(page: Page, model: TableModel) -> None:
    page.heading("The data")
    source = model.notes_.get("source")
    if source:
        held = f", {source['holdout']:.0%} of them held out for scoring" if source.get("holdout") else ""
        held = f", scored over {source['folds']} folds" if source.get("folds") else held
        held = ", each scored by networks that did not see it" if model.notes_.get("crossed") else held
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
    if estimator.sampling_report_.chains:
        page.text("The networks were then pruned, and sampled from there.")
    if estimator.calibration_ is not None:
        page.text(f"Calibration: {estimator.calibration_}.")
    page.figure(figures.fit_trace(estimator.elbo_), alt_texts.of_trace(estimator.elbo_))


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
    page.figures(
        [
            (figures.unit_scales(members[0], layer), alt_texts.of_units(kept, members[0].offered[layer], layer))
            for layer, kept in enumerate(estimator.units_kept_[0])
        ],
        "Posterior of each unit's scale in the first network: mean and 90 % interval. Dead units, those with "
        f"{rule_for(members[0].model.prior)}, are what pruning takes out; a dashed line is at the scale it asks for.",
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
