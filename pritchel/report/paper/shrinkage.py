"""Figure 3, middle, and the supplement's: log-likelihoods and norms of factorized and structured fits."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from pritchel.experiments.paper.settings import NAMES, SETTINGS
from pritchel.experiments.paper.shrinkage import of_both, wide_and_narrow
from pritchel.experiments.paper.tables import NUM_NORMS, by_split, differences, train_rows
from pritchel.experiments.records import Record
from pritchel.report import palette
from pritchel.report.axes import bare, save_figure
from pritchel.report.palette import BLUE, INK, RED
from pritchel.report.paper.intervals import LABEL_SIZE, intervals_by_table


def draw_shrinkage(records: list[Record], folder: Path) -> list[Path]:
    """Log-likelihoods, then norms of the wide networks under each kind of settings, then those of the narrow ones."""
    wide, narrow = wide_and_narrow(records)
    sizes = train_rows(records)
    figures = [_log_likelihoods(wide, sizes, folder / "shrinkage_ll.png")]
    for settings in SETTINGS:
        norms = of_both(wide, "smallest_norms", settings)
        if any(norms):
            figures.append(_norms(norms, sizes, settings, folder / f"shrinkage_{settings}.png"))
    if narrow:
        figures.append(_narrow(narrow, folder / "shrinkage_hs50.png"))
    return figures


def _log_likelihoods(records: list[Record], sizes: dict[str, int], path: Path) -> Path:
    """Both families' means on a diagonal, and beside it the differences, which a diagonal is too coarse to show."""
    scores = {settings: of_both(records, "ll", settings) for settings in SETTINGS}
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    scatter, gaps = figure.subplots(1, 2, width_ratios=(2, 3))
    ends = []
    for settings, (factorized, structured) in scores.items():
        names = [data for data in factorized if data in structured]
        points = np.array([[np.mean(list(part[data].values())) for part in (factorized, structured)] for data in names])
        if len(points):
            scatter.scatter(*points.T, s=28, color=palette.SETTINGS[settings], label=NAMES[settings], zorder=2)
            ends += [points.min(), points.max()]
    low, high = min(ends, default=0) - 0.3, max(ends, default=0) + 0.3
    scatter.plot([low, high], [low, high], color=INK, lw=0.8, ls=":")
    scatter.set(xlabel="factorized", ylabel="structured", title="one point a table", aspect="equal")
    scatter.legend(*scatter.get_legend_handles_labels(), frameon=False, fontsize=9)
    bare(scatter, LABEL_SIZE)
    series = {settings: differences(structured, factorized) for settings, (factorized, structured) in scores.items()}
    intervals_by_table(gaps, series, sizes, colours=palette.SETTINGS, labels=NAMES)
    gaps.set_ylabel("structured less factorized, mean and 95 % interval")
    figure.suptitle("Test log-likelihood, 500 units", fontsize=10)
    save_figure(figure, path, 110)
    return path


def _norms(norms: list[dict[str, Any]], sizes: dict[str, int], settings: str, path: Path) -> Path:
    """A panel a table: the smallest norms of every trial, in order."""
    names = [data for data in sizes if data in norms[0] or data in norms[1]]
    num_columns = min(3, len(names))
    num_rows = -(-len(names) // num_columns)
    figure = Figure(figsize=(3.8 * num_columns, 2.6 * num_rows + 0.6), layout="constrained")
    axes = figure.subplots(num_rows, num_columns, sharex=True, squeeze=False).ravel()
    for axis in axes[len(names) :]:
        axis.remove()
    for axis, data in zip(axes, names, strict=False):
        for part, colour, label in zip(norms, (BLUE, RED), ("factorized", "structured"), strict=True):
            for trial, values in enumerate(part.get(data, {}).values()):
                rank = np.arange(1, len(values) + 1)
                axis.scatter(rank, values, s=5, color=colour, alpha=0.6, label=label if trial == 0 else None, lw=0)
        axis.set_yscale("log")
        axis.set_title(data, fontsize=9)
        bare(axis, LABEL_SIZE)
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper right", frameon=False, fontsize=9, markerscale=2.5)
    figure.supxlabel("unit, smallest norm first", fontsize=10)
    figure.supylabel(r"$\|E[w_k]\|_2$", fontsize=10)
    figure.suptitle(f"The {NUM_NORMS} smallest norms of each trial, {NAMES[settings]}", fontsize=10)
    save_figure(figure, path, 110)
    return path


def _narrow(records: list[Record], path: Path) -> Path:
    """A panel a kind of settings, tables along x: the smallest norms of every trial, in order."""
    figure = Figure(figsize=(11, 4), layout="constrained")
    axes = figure.subplots(1, len(SETTINGS), sharey=True)
    names = list(train_rows(records))
    for axis, settings in zip(axes, SETTINGS, strict=True):
        found: dict[str, Any] = by_split(records, "smallest_norms", settings=settings)
        for place, data in enumerate(names):
            for values in found.get(data, {}).values():
                x = place + np.linspace(-0.36, 0.36, len(values))
                axis.scatter(x, np.sort(values), s=4, color=palette.SETTINGS[settings], alpha=0.5, lw=0)
        axis.set_yscale("log")
        axis.set_xticks(range(len(names)), names, rotation=30, ha="right")
        axis.set_title(NAMES[settings], fontsize=10)
        bare(axis, LABEL_SIZE)
    axes[0].set_ylabel(r"$\|E[w_k]\|_2$, sorted, each trial")
    units = min(record["key"]["units"] for record in records)
    figure.suptitle(f"Horseshoe, factorized, {units} units (protein: the 50 smallest of 100)", fontsize=10)
    save_figure(figure, path, 110)
    return path
