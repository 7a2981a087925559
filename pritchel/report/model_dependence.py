"""What the strongest inputs of a model do: the prediction as one input moves, averaged over rows."""

from typing import Any

import numpy as np
import pandas as pd

from pritchel.posterior.importance import with_range
from pritchel.report import alt_texts
from pritchel.report import dependence_figures as figures
from pritchel.report.natural_order import natural_order
from pritchel.report.page import Page
from pritchel.tables.columns import Column
from pritchel.tables.encode import encode_inputs
from pritchel.tables.model import TableModel

MAX_BACKGROUND_ROWS, NUM_POINTS, NUM_FUNCTIONS, MAX_CURVES = 100, 25, 100, 4
MAX_ORDERED = 12  # categories: months
RUG = " Marks at the foot: where the rows of the fit lie, each a fortieth of them."


def add_dependence(page: Page, model: TableModel, frame: pd.DataFrame | None) -> None:
    """The section on inputs: what each is worth, and partial dependence on the first few."""
    page.heading("What the strongest inputs do")
    worth = _worth(model, frame)
    background = _background(model, frame)
    curves = {}
    names = [own["name"] for own in worth] or [column.name for column in model.plan_.columns]
    for name in names[:MAX_CURVES]:
        column = next(column for column in model.plan_.columns if column.name == name)
        found = curve_of(model, column, background)
        if found is not None:
            curves[name] = found
    if curves:
        whose = "rows of the table" if frame is not None else "a typical row"
        caption = f"The prediction averaged over {whose} with one input set to each value, all to one scale; "
        caption += "the band holds 90 % of the posterior's functions."
        caption += RUG if any(len(curve[0].rug) for curve in curves.values()) else ""
        for index, target in enumerate(_answer_names(model)):
            _panels(page, [curve[index] for curve in curves.values()], target, caption if index == 0 else "")
    for index, noise in enumerate(model.estimator_.noise_report_ or ()):
        target = model.plan_.targets[index]
        if curves and not noise.is_constant:
            _panels(
                page,
                [_noise_curve(model, name, background, index) for name in curves],
                f"noise of {target}",
                f"The noise of {target} is not the same for all rows: its standard deviation, averaged like the above.",
            )
    if worth:
        page.text(
            "What each input is worth: what predictions lose when its values change places among the rows. Ranges hold "
            "nine posterior draws in ten; of two inputs that say the same, each alone may be worth little."
        )
        error = "share of rows got wrong" if model.has_classes else "RMSE"
        rows = [(own["name"], with_range(own, "log_likelihood"), with_range(own, "error")) for own in worth]
        page.table(("input", "log-likelihood a row", error), rows)


def _panels(page: Page, curves: list[figures.Dependence], target: str, caption: str) -> None:
    """A panel an input, all to one scale."""
    scale = figures.shared_scale(curves)
    page.figures(
        [(figures.dependence(curve, target, scale), alt_texts.of_dependence(curve, target)) for curve in curves],
        caption,
    )


def _worth(model: TableModel, frame: pd.DataFrame | None) -> list[dict[str, Any]]:
    """What inputs are worth on the given rows, or what is on record."""
    if frame is not None and all(target in frame.columns for target in model.plan_.targets):
        return [own._asdict() for own in model.importances(frame)]
    return model.notes_.get("importances", [])


def _answer_names(model: TableModel) -> list[str]:
    """What a prediction's columns are called: targets, or the first few classes."""
    if not model.has_classes:
        return list(model.plan_.targets)
    labels = [f"P({model.plan_.targets[0]} = {label})" for label in model.estimator_.classes_]
    return labels[1:] if len(labels) == 2 else labels[:MAX_CURVES]


def _background(model: TableModel, frame: pd.DataFrame | None) -> pd.DataFrame:
    """The rows to average over: some of the table's, or one that is typical of the training rows."""
    if frame is not None:
        rows = np.linspace(0, len(frame) - 1, min(len(frame), MAX_BACKGROUND_ROWS)).astype(int)
        return frame.iloc[rows].reset_index(drop=True)
    typical = {}
    for column in model.plan_.columns:
        counts = column.summary.get("counts", {})
        typical[column.name] = column.fill if column.kind == "number" else max(counts, key=lambda v: counts[v])
    return pd.DataFrame([typical])


def curve_of(model: TableModel, column: Column, background: pd.DataFrame) -> list[figures.Dependence] | None:
    """The averaged prediction with one column set to each of some values, an entry a target or class."""
    values = _values(column)
    if not values:
        return None
    inputs = _moved(model, column.name, values, background)
    functions = model.estimator_.posterior_.sample_functions(inputs, NUM_FUNCTIONS, 0)
    averaged = functions.reshape(len(values), len(background), *functions.shape[1:]).mean(1)
    lower, upper = np.quantile(averaged, [0.05, 0.95], axis=-1)
    mean = averaged.mean(-1)
    first = int(model.has_classes and mean.shape[1] == 2)  # of two classes the second says it all
    return [
        figures.Dependence(
            column.name, values, mean[:, index], lower[:, index], upper[:, index], _rug(column), _has_points(column)
        )
        for index in range(first, mean.shape[1])
    ]


def _noise_curve(model: TableModel, name: str, background: pd.DataFrame, target: int) -> figures.Dependence:
    """The noise's standard deviation with one column set to each of some values; the root mean square over rows."""
    column = next(column for column in model.plan_.columns if column.name == name)
    values = _values(column)
    spread = model.estimator_.posterior_.noise(_moved(model, name, values, background))[0][:, target]
    mean = np.sqrt((spread.reshape(len(values), len(background)) ** 2).mean(1))
    return figures.Dependence(name, values, mean, mean, mean, _rug(column), _has_points(column))


def _values(column: Column) -> list[Any]:
    """Values to set a column to; none where nothing is known of it."""
    if column.kind == "category":
        if len(column.categories) <= MAX_ORDERED and (ordered := natural_order(column.categories)):
            return ordered
        return list(column.summary.get("counts", dict.fromkeys(column.categories)))[:8]
    if _has_points(column):
        return column.summary["values"]
    if not column.summary:
        return []
    quantiles = column.summary["quantiles"]
    return [float(value) for value in np.linspace(quantiles[1], quantiles[5], NUM_POINTS)]


def _has_points(column: Column) -> bool:
    """Whether nothing lies between the values of a column."""
    return column.kind == "category" or bool(column.summary.get("values"))


def _rug(column: Column) -> list[float]:
    """Where the numbers of a column lie."""
    return [] if _has_points(column) else column.summary.get("rug", [])


def _moved(model: TableModel, name: str, values: list[Any], background: pd.DataFrame) -> np.ndarray:
    """Inputs of the background rows with one column set to each value in turn."""
    others = background.drop(columns=name)
    tables = [pd.concat([others, pd.Series(value, others.index, name=name)], axis=1) for value in values]
    return encode_inputs(model.plan_, pd.concat(tables, ignore_index=True))
