"""What the figures of the table experiments share."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pritchel.experiments.paper.settings import NAMES
from pritchel.experiments.statistics import Interval
from pritchel.report.figures import ALIVE, BAND, INK

COLOURS = {"paper": ALIVE, "ours": BAND, "original": "#8a8f3c"}


def intervals_by_table(
    axis: Any,
    series: Mapping[str, Mapping[str, Interval]],
    names: Iterable[str],
    *,
    colours: Mapping[str, str],
    labels: Mapping[str, str],
    zero: bool = True,
) -> None:
    """Means with intervals, tables along x, one colour a series, side by side."""
    names = list(names)
    offsets = np.linspace(-0.18, 0.18, len(series)) if len(series) > 1 else [0.0]
    for offset, (name, intervals) in zip(offsets, series.items(), strict=True):
        x = [names.index(data) + offset for data in intervals]
        mean = np.array([interval.mean for interval in intervals.values()])
        ends = np.array([(interval.low, interval.high) for interval in intervals.values()]).reshape(-1, 2)
        errors = np.where(np.isfinite(ends), np.abs(ends - mean[:, None]), 0.0).T
        axis.errorbar(x, mean, errors, fmt="o", ms=4.5, lw=1.4, capsize=2.5, color=colours[name], label=labels[name])
    if zero:
        axis.axhline(0, color=INK, lw=0.8, ls=":")
    axis.set_xticks(range(len(names)), names, rotation=30, ha="right", fontsize=9)
    axis.set_xlim(-0.5, len(names) - 0.5)
    tidy(axis)


def tidy(axis: Any) -> None:
    """No frame above and to the right."""
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8.5)


def interval_panels(
    panels: Mapping[str, Mapping[str, Mapping[str, Interval]]],
    sizes: Mapping[str, int],
    title: str,
    path: Path,
    *,
    linear_below: float | None = None,
) -> Path:
    """A figure of panels side by side, each named by its y axis, with a series of intervals for every settings.

    `linear_below` makes the y axes logarithmic beyond it.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4), layout="constrained")
    for axis, (name, series) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
        intervals_by_table(axis, series, sizes, colours=COLOURS, labels=NAMES)
        axis.set_ylabel(name)
        axis.legend(frameon=False, fontsize=9)
        if linear_below is not None:
            axis.set_yscale("symlog", linthresh=linear_below)
    figure.suptitle(f"{title} Mean and 95 % interval; tables by size", fontsize=10)
    figure.savefig(path, dpi=110)
    return path
