"""Units kept and scores as the numbers change that a threshold and inclusion variables ask for."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from pritchel.experiments.inclusion import NAMES, NEAR, NUMBERS, TABLES, THRESHOLD, Number, defaults, of_number
from pritchel.experiments.paper.tables import paired
from pritchel.experiments.records import Record
from pritchel.report.axes import bare, save_figure
from pritchel.report.palette import INK, PALE, SERIES
from pritchel.report.paper.intervals import LABEL_SIZE

LEAST_GAIN = -1.0  # below this it is off the axis


def draw_inclusion(records: list[Record], folder: Path) -> list[Path]:
    """A column a number, a line a table: units kept above, and below the log-likelihood of the pruned network."""
    figure = Figure(figsize=(13, 6), layout="constrained")
    axes = figure.subplots(2, len(NUMBERS), sharex="col", sharey="row", squeeze=False)
    tables = [data for data in TABLES if data in {record["key"]["data"] for record in records}]
    colours = dict(zip(tables, (*SERIES, INK), strict=False))
    base = defaults(records, "ll")[THRESHOLD]
    for column, number in zip(axes.T, NUMBERS.values(), strict=True):
        for data, colour in colours.items():
            column[0].plot(*_means(records, number, "kept", data), "o-", ms=4, lw=1.4, color=colour, label=data)
            values, gains = _means(records, number, "ll", data, base)
            column[1].plot(values, np.maximum(gains, LEAST_GAIN), "o-", ms=4, lw=1.4, color=colour)
        for axis in column:
            axis.axvspan(min(number.near()), max(number.near()), color=PALE, alpha=0.5, lw=0)
            axis.set_xscale("log")
            axis.xaxis.set_minor_locator(NullLocator())
            bare(axis, LABEL_SIZE)
        column[1].axhline(0, color=INK, lw=0.8, ls=":")
        column[1].set_xticks(number.values, [f"{value:g}" for value in number.values], rotation=45, ha="right")
        column[0].set_title(NAMES[number.prior], fontsize=10)
        column[1].set_xlabel(number.text, fontsize=10)
    axes[0, 0].set_yscale("symlog", linthresh=10)
    axes[0, 0].set_yticks((0, 5, 10, 20, 50, 100), ("0", "5", "10", "20", "50", "100"))
    axes[0, 0].set_ylabel("units kept")
    axes[1, 0].set_ylabel("log-likelihood, pruned,\nless reg-HS with its defaults")
    axes[0, 0].legend(frameon=False, fontsize=8)
    offered = max(record["key"]["units"] for record in records)
    figure.suptitle(
        f"{offered} units offered, structured posteriors, mean over splits; one number moved, the others at their "
        f"defaults. Shaded: within a factor of {NEAR} of those. Scores below {LEAST_GAIN:g} are drawn there.",
        fontsize=10,
    )
    path = folder / "inclusion.png"
    save_figure(figure, path, 110)
    return [path]


def _means(records: list[Record], number: Number, metric: str, data: str, base: Any = None) -> tuple[Any, Any]:
    """Values of a number, and the mean over splits of a table's metric at each; less the base's, if there is one."""
    found = {}
    for value in number.values:
        of = of_number(records, number, value, metric).get(data, {})
        if of and base is None:
            found[value] = np.mean(list(of.values()))
        elif of and base is not None and (pairs := paired({data: of}, {data: base.get(data, {})})):
            found[value] = np.mean(np.subtract(*pairs[data]))
    return list(found), list(found.values())
