"""Figures 1 and 2: predictive bands of the sine, under both kinds of settings."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from pritchel.data.toy import NOISE_SD, sine
from pritchel.experiments.paper import toy, widths
from pritchel.experiments.paper.curve import GRID
from pritchel.experiments.paper.settings import NAMES, SETTINGS
from pritchel.experiments.records import Record, matching
from pritchel.report.axes import bare, save_figure
from pritchel.report.palette import BLUE, GREY, INK

Y_LIMIT = 3.0


def draw_widths(records: list[Record], folder: Path) -> list[Path]:
    """A panel a width."""
    panels = {f"{units} units": {"units": units} for units in widths.widths_of(records)}
    title = f"N(0, 1) priors on the sine, {widths.NUM_ROWS} rows (noise: standard deviation 0.1)"
    return [_bands(records, panels, title, folder / "widths.png")]


def draw_toy(records: list[Record], folder: Path) -> list[Path]:
    """A panel a method."""
    units = records[0]["key"]["units"]
    title = f"The sine, {toy.NUM_ROWS} rows, {units:,} units offered (noise: standard deviation 0.1)"
    return [_bands(records, toy.METHODS, title, folder / "toy.png")]


def _bands(records: list[Record], panels: dict[str, dict[str, Any]], title: str, path: Path) -> Path:
    """One row a kind of settings, one column a panel: the first seed's rows, curve and 90 % band."""
    present = [name for name in SETTINGS if matching(records, settings=name)]
    figure = Figure(figsize=(3.9 * len(panels), 3.1 * len(present) + 0.5), layout="constrained")
    axes = figure.subplots(len(present), len(panels), sharex=True, sharey=True, squeeze=False)
    handles: dict[str, Any] = {}
    for row, settings in zip(axes, present, strict=True):
        for axis, (name, match) in zip(row, panels.items(), strict=True):
            axis.set_title(f"{name}\n{NAMES[settings]}", fontsize=10)
            bare(axis)
            for record in matching(records, **match, settings=settings):
                if "band" in record["result"]:
                    handles |= _band(axis, record)
                    break
    for axis in axes[-1]:
        axis.set_xlabel("x")
    for axis in axes[:, 0]:
        axis.set_ylabel("y")
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    figure.suptitle(title, fontsize=11)
    save_figure(figure, path, 110)
    return path


def _band(axis: Any, record: Record) -> dict[str, Any]:
    """Draw one fit; what the legend is to name."""
    result = record["result"]
    mean, lower, upper, sd = map(np.asarray, result["band"])
    x, y = sine(record["key"]["rows"], 0)
    handles: dict[str, Any] = {"data": axis.scatter(x[:, 0], y, s=5, color=GREY, zorder=1)}
    handles["90 % of new observations"] = axis.fill_between(GRID, lower, upper, color=BLUE, alpha=0.2, lw=0)
    handles["± 2 sd of f"] = axis.fill_between(GRID, mean - 2 * sd, mean + 2 * sd, color=BLUE, alpha=0.45, lw=0)
    (handles["sin x"],) = axis.plot(GRID, np.sin(GRID), color=INK, lw=1, ls="--")
    (handles["mean"],) = axis.plot(GRID, mean, color=BLUE, lw=1.6)
    note = f"predictive sd {result['predictive_sd']:.2f} (noise {NOISE_SD})"
    if record["key"]["prior"] != "gaussian":
        note = f"{note}\n{result['kept']} units kept"
    if max(-lower.min(), upper.max()) > Y_LIMIT:
        note = f"the band goes beyond the axes\n{note}"
    box = {"facecolor": "white", "alpha": 0.8, "lw": 0, "pad": 1.5}
    axis.text(0.02, 0.03, note, transform=axis.transAxes, fontsize=8, color=INK, bbox=box)
    axis.set_ylim(-Y_LIMIT, Y_LIMIT)
    return handles
