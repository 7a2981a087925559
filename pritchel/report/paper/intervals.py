"""Comparisons of two methods over the UCI tables: means with intervals, tables along x."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from pritchel.experiments.paper import families, low_data, priors
from pritchel.experiments.paper.settings import NAMES
from pritchel.experiments.paper.tables import ByTable, train_rows
from pritchel.experiments.records import Record
from pritchel.report import palette
from pritchel.report.axes import bare, save_figure

LABEL_SIZE = 8.5  # of ticks, where they are names of tables


def draw_priors(records: list[Record], folder: Path) -> list[Path]:
    """Relative improvements of both scores by the regularized horseshoe."""
    gains = priors.gains(records)
    panels = {
        f"relative improvement of {name},\nreg-HS over HS": gains[metric]
        for metric, name in {"rmse": "RMSE", "ll": "log-likelihood"}.items()
    }
    title = "Above zero: the regularized horseshoe is better."
    return [_panels(panels, train_rows(records), title, folder / "priors.png")]


def draw_low_data(records: list[Record], folder: Path) -> list[Path]:
    """What reg-HS gains over VMG in both scores."""
    sizes = train_rows(records)
    panels = {low_data.GAINS[metric]: series for metric, series in low_data.gains(records).items()}
    title = f"A tenth of the rows ({', '.join(map(str, sizes.values()))}) to train on. Above zero: reg-HS is better."
    return [_panels(panels, sizes, title, folder / "low_data.png")]


def draw_families(records: list[Record], folder: Path) -> list[Path]:
    """Differences in log-likelihood of two pairs of families."""
    gains = families.gains(records)
    panels = {f"log-likelihood,\n{families.difference_name(*pair)}": series for pair, series in gains.items()}
    title = "Above zero: the first family is better. Reg-HS, 50 units."
    return [_panels(panels, train_rows(records), title, folder / "families.png", linear_below=0.2)]


def _panels(
    panels: Mapping[str, Mapping[str, ByTable]],
    sizes: Mapping[str, int],
    title: str,
    path: Path,
    *,
    linear_below: float | None = None,
) -> Path:
    """Panels side by side, each named by its y axis, with a series of intervals for every kind of settings.

    `linear_below` makes the y axes logarithmic beyond it.
    """
    figure = Figure(figsize=(11, 4), layout="constrained")
    for axis, (name, series) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
        intervals_by_table(axis, series, sizes, colours=palette.SETTINGS, labels=NAMES)
        axis.set_ylabel(name)
        axis.legend(frameon=False, fontsize=9)
        if linear_below is not None:
            axis.set_yscale("symlog", linthresh=linear_below)
    figure.suptitle(f"{title} Mean and 95 % interval; tables by size", fontsize=10)
    save_figure(figure, path, 110)
    return path


def intervals_by_table(
    axis: Any,
    series: Mapping[str, ByTable],
    names: Iterable[str],
    *,
    colours: Mapping[str, str],
    labels: Mapping[str, str],
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
    axis.axhline(0, color=palette.INK, lw=0.8, ls=":")
    axis.set_xticks(range(len(names)), names, rotation=30, ha="right", fontsize=9)
    axis.set_xlim(-0.5, len(names) - 0.5)
    bare(axis, LABEL_SIZE)
