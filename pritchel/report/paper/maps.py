"""Maps of conditions: where a claim holds, where it fails, and by how much."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from pritchel.experiments.paper import families_map, low_data_map, priors_map, shrinkage_map
from pritchel.experiments.paper.conditions import (
    LONG,
    SHORT,
    STARTS,
    STEPS,
    TABLES,
    Cell,
    Comparison,
    Found,
    look_up_pairs,
)
from pritchel.experiments.records import Record
from pritchel.report import palette
from pritchel.report.axes import bare, save_figure
from pritchel.report.paper.intervals import LABEL_SIZE

FULL_COLOUR = 1.5  # decades
LEAST_TOP = 0.01  # of a linear axis of norms: what is far below looks like the zero that it is
COLOURS = LinearSegmentedColormap.from_list("families", [palette.BLUE, "white", palette.RED])
KEY = "Red: structured shrinks further; blue: factorized does; with a ?: unclear."
KEY_OF_BLANKS = "Grey: alike to any use. Blank: not on record."
TITLES = {
    "norms": "mean of the 50\nsmallest norms",
    "share": "their share of the\noutput's variance",
    "scales": "mean of the 50\nsmallest scales",
    "units": "units above 1 %\nof the largest norm",
}


def draw_shrinkage_map(records: list[Record], folder: Path) -> list[Path]:
    """The crossed conditions measure by measure, the others, and the paper's own linear picture at both bases."""
    by_measure = {
        name: {each.cell.label: each for each in found}
        for name, found in shrinkage_map.found_by_measure(records).items()
    }
    figures = [_crossed(by_measure, folder / "shrinkage_map.png")]
    others = [cell for cell in shrinkage_map.OTHERS if cell.label in by_measure["norms"]]
    if others:
        figures.append(_others(by_measure, others, folder / "shrinkage_map_choices.png"))
    return [*figures, _linear(records, folder / "shrinkage_map_norms.png")]


def _crossed(by_measure: Mapping[str, Mapping[str, Found]], path: Path) -> Path:
    """A panel a measure: start of scales and layer scale down, steps across."""
    rows = [(start, layer) for start in STARTS for layer in shrinkage_map.LAYER]
    steps = (SHORT, STEPS, LONG)
    figure = Figure(figsize=(13, 6), layout="constrained")
    axes = figure.subplots(1, len(by_measure), sharey=True)
    for axis, (name, found) in zip(axes, by_measure.items(), strict=True):
        grid = [[found.get(shrinkage_map.crossed(*row, count).label) for count in steps] for row in rows]
        _heat(axis, grid, [f"{count:,}" for count in steps])
        axis.set_title(TITLES[name], fontsize=10)
        axis.set_xlabel("steps", fontsize=9)
    axes[0].set_yticks(range(len(rows)), [f"{start}; {layer}" for start, layer in rows], fontsize=9)
    figure.suptitle(f"Factorized less structured, in decades (log10). {KEY} {KEY_OF_BLANKS}", fontsize=9.5)
    save_figure(figure, path, 110)
    return path


def _others(by_measure: Mapping[str, Mapping[str, Found]], cells: Sequence[Cell], path: Path) -> Path:
    """The other choices down, measures across."""
    figure = Figure(figsize=(9.5, 0.36 * len(cells) + 1.8), layout="constrained")
    axis = figure.subplots()
    grid = [[found.get(cell.label) for found in by_measure.values()] for cell in cells]
    _heat(axis, grid, list(TITLES.values()))
    axis.set_yticks(range(len(cells)), [cell.label for cell in cells], fontsize=9)
    title = "8,000 steps unless said; factorized less structured, in decades."
    figure.suptitle(f"{title}\n{KEY} {KEY_OF_BLANKS}", fontsize=9)
    save_figure(figure, path, 110)
    return path


def _heat(axis: Any, grid: Sequence[Sequence[Found | None]], columns: Sequence[str]) -> None:
    """A square a condition: its mean difference as a colour and a figure, and what is to be said of it as a mark."""
    values = np.array([[np.nan if each is None else each.interval.mean for each in row] for row in grid])
    axis.imshow(values, cmap=COLOURS, vmin=-FULL_COLOUR, vmax=FULL_COLOUR, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        each = grid[row][column]
        if each is None:
            continue
        if each.verdict == "no difference":
            axis.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, color=palette.LINE, lw=0))
        is_dark = abs(value) > 0.75 * FULL_COLOUR
        number = f"{value:+.1f}{'?' if each.verdict == 'unclear' else ''}"
        text = "alike" if each.verdict == "no difference" else number
        axis.text(column, row, text, ha="center", va="center", fontsize=9, color="white" if is_dark else palette.INK)
    axis.set_xticks(range(len(columns)), columns, fontsize=LABEL_SIZE)
    axis.tick_params(length=0)
    axis.spines[:].set_color(palette.GREY)


def _linear(records: list[Record], path: Path) -> Path:
    """The paper's picture: the 50 smallest norms of every trial on a linear axis, a row a start, a column a table."""
    rows = [*((start, "learned") for start in shrinkage_map.BASES), (shrinkage_map.BASES[-1], "held")]
    found = {each.cell.label: each for each in shrinkage_map.found_by_measure(records)["norms"]}
    figure = Figure(figsize=(11, 7.4), layout="constrained")
    axes = figure.subplots(len(rows), len(TABLES), sharex=True, sharey="row", squeeze=False)
    handles: dict[str, Any] = {}
    for row, (start, layer) in zip(axes, rows, strict=True):
        each = found.get(shrinkage_map.crossed(start, layer, STEPS).label)
        top = LEAST_TOP
        for axis, data in zip(row, TABLES, strict=True):
            trials = [pair for (name, _), pair in each.pairs.items() if name == data] if each else []
            for name, colour, side in (("structured", palette.RED, 0), ("factorized", palette.BLUE, 1)):
                for pair in trials:
                    values = pair[side]["smallest_norms"]
                    top = max(top, *values)
                    rank = np.arange(1, len(values) + 1)
                    handles[name] = axis.scatter(rank, values, s=9, color=colour, alpha=0.7, lw=0)
            axis.set_title(f"{data}: {start}; layer {layer}", fontsize=8.5)
            bare(axis, LABEL_SIZE)
        row[0].set_ylim(-0.03 * top, 1.05 * top)
    figure.legend(handles.values(), handles, loc="outside upper right", ncols=2, frameon=False, fontsize=9)
    figure.supxlabel("unit, smallest norm first", fontsize=10)
    figure.supylabel(r"$\|E[w_k]\|_2$, linear", fontsize=10)
    figure.suptitle("The 50 smallest norms, 100 units, 8,000 steps, the paper's settings", fontsize=10)
    save_figure(figure, path, 110)
    return path


def draw_priors_map(records: list[Record], folder: Path) -> list[Path]:
    """What the slab gains under each condition."""
    return [_forest(records, priors_map.CELLS, priors_map.COMPARISONS, folder / "priors_map.png")]


def draw_low_data_map(records: list[Record], folder: Path) -> list[Path]:
    """What reg-HS gains over VMG under each condition."""
    return [_forest(records, low_data_map.CELLS, low_data_map.COMPARISONS, folder / "low_data_map.png")]


def draw_families_map(records: list[Record], folder: Path) -> list[Path]:
    """What one family gains over another under each condition."""
    return [_forest(records, families_map.CELLS, families_map.COMPARISONS, folder / "families_map.png")]


def _forest(records: list[Record], cells: Sequence[Cell], comparisons: Sequence[Comparison], path: Path) -> Path:
    """Conditions down, a panel a claim: mean and 95 % interval, the pairs behind them as dots."""
    figure = Figure(figsize=(4.2 * len(comparisons) + 3.6, 0.36 * len(cells) + 1.6), layout="constrained")
    axes = figure.subplots(1, len(comparisons), sharey=True, squeeze=False)[0]
    for axis, comparison in zip(axes, comparisons, strict=True):
        for each in look_up_pairs(records, cells, comparison):
            _line(axis, cells.index(each.cell), each)
        axis.axvline(0, color=palette.INK, lw=0.8, ls=":")
        axis.set_xscale("symlog", linthresh=0.1)
        axis.set_xlabel(comparison.statistic.rstrip(","), fontsize=9)
        bare(axis, LABEL_SIZE)
    axes[0].set_yticks(range(len(cells)), [cell.label for cell in cells], fontsize=9)
    axes[0].set_ylim(len(cells) - 0.5, -0.5)
    title = "Right of zero: for the claim. Green: holds, red: does not, grey: unclear."
    figure.suptitle(f"{title}\nRings: tables and splits. Blank: not on record.", fontsize=9.5)
    save_figure(figure, path, 110)
    return path


def _line(axis: Any, place: int, found: Found) -> None:
    """One condition's dots and interval."""
    colour = {"holds": palette.GREEN, "does not hold": palette.RED}.get(found.verdict, palette.SOFT)
    value, interval = found.comparison.value, found.interval
    dots = [value(first) - value(second) for first, second in found.pairs.values()]
    axis.scatter(dots, np.full(len(dots), place + 0.22), s=16, facecolors="none", edgecolors=colour, lw=0.9)
    if np.isfinite(interval.low):
        axis.plot([interval.low, interval.high], [place, place], color=colour, lw=1.6)
    axis.scatter([interval.mean], [place], s=30, color=colour, zorder=3)
