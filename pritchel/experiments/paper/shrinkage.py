"""Figure 3, middle, and the supplement's: structured posteriors predict alike and shrink unused units further."""

from pathlib import Path
from typing import Any

import numpy as np

from pritchel.experiments.paper.drawing import COLOURS, intervals_by_table, tidy
from pritchel.experiments.paper.priors import HS
from pritchel.experiments.paper.settings import NAMES, SETTINGS, WIDE
from pritchel.experiments.paper.tables import (
    NUM_NORMS,
    QUICK_UNITS,
    RECORDS,
    BySplit,
    Record,
    by_split,
    differences,
    fit_table,
    table_keys,
    train_rows,
)
from pritchel.experiments.records import Key
from pritchel.experiments.reproduce import Check, Experiment, Finding
from pritchel.experiments.statistics import Interval, count_tables, judge, judge_tables, t_interval
from pritchel.report.figures import ALIVE, BAND, INK

FACTORIZED = {"prior": "regularized_horseshoe", "family": "factorized"}
STRUCTURED = {"prior": "regularized_horseshoe", "family": "structured"}
NUM_SPLITS = 5
MARGIN = 0.1  # nats a row that still count as similar
SMALLEST = 1e-30  # a norm of zero has no logarithm


def trials(quick: bool) -> list[Key]:
    """Both families with 500 units; the horseshoe with 50 for the supplement's second figure."""
    wide = [
        method | {"settings": settings, "units": WIDE} for settings in SETTINGS for method in (FACTORIZED, STRUCTURED)
    ]
    narrow = [HS | {"settings": settings} for settings in SETTINGS]
    return table_keys(wide, NUM_SPLITS, quick) + table_keys(narrow, NUM_SPLITS, quick)


def log_norm(by_table: dict[str, dict[int, list[float]]]) -> dict[str, BySplit]:
    """Mean log10 of a trial's smallest norms."""
    return {
        data: {split: float(np.log10(np.maximum(norms, SMALLEST)).mean()) for split, norms in splits.items()}
        for data, splits in by_table.items()
    }


def find(records: list[Record], folder: Path) -> Finding:
    """Whether log-likelihoods are alike, norms smaller, and norms less spread over trials."""
    is_wide = [record for record in records if record["key"]["units"] in (WIDE, QUICK_UNITS[WIDE])]
    is_narrow = [record for record in records if record not in is_wide]
    sizes = train_rows(records)
    checks, rows, norms, lls = [], [], {}, {}
    for settings in SETTINGS:
        ll = [by_split(is_wide, "ll", settings=settings, **method) for method in (FACTORIZED, STRUCTURED)]
        own: list[Any] = [by_split(is_wide, "smallest_norms", settings=settings, **m) for m in (FACTORIZED, STRUCTURED)]
        norms[settings], lls[settings] = own, ll
        gain = differences(ll[1], ll[0])
        if not gain:
            continue
        text = f"log-likelihood, structured less factorized (margin {MARGIN:g}): {count_tables(gain, MARGIN)}"
        checks.append(Check("structured predicts no worse than factorized", settings, text, judge_tables(gain, MARGIN)))
        levels = [log_norm(part) for part in own]
        shrunk = differences(levels[0], levels[1])
        text = f"log10 of the {NUM_NORMS} smallest norms, factorized less structured: {count_tables(shrunk)}"
        checks.append(Check("structured shrinks further", settings, text, judge_tables(shrunk)))
        spread = _spread(levels)
        if spread is not None:
            text = f"sd over trials of that level, factorized less structured, {spread} over {spread.num} tables"
            checks.append(Check("factorized shrinkage varies more between trials", settings, text, judge(spread)))
        kept = [by_split(is_wide, "kept", settings=settings, **method) for method in (FACTORIZED, STRUCTURED)]
        for data in sizes:
            if data in gain and data in shrunk:
                counts = (f"{np.mean(list(part[data].values())):.0f}" for part in kept)
                cells = (str(gain[data].num), str(gain[data]), str(shrunk[data]), *counts)
                rows.append((NAMES[settings], data, *cells))
    figures = [_scatter(lls, sizes, folder / "shrinkage_ll.png")]
    for settings in SETTINGS:
        if any(norms[settings]):
            figures.append(_norms(norms[settings], sizes, settings, folder / f"shrinkage_{settings}.png"))
    if is_narrow:
        figures.append(_narrow(is_narrow, folder / "shrinkage_hs50.png"))
    columns = ("settings", "table", "trials", "log-likelihood, structured less factorized")
    columns += ("log10 smallest norms, factorized less structured", "kept, factorized", "kept, structured")
    return Finding.of_checks(figures, checks, columns, tuple(rows))


def _spread(levels: list[dict[str, BySplit]]) -> Interval | None:
    """How much more the level of shrinkage varies over trials when factorized, tables being the sample."""
    gaps = []
    for data in levels[0]:
        values = [list(part.get(data, {}).values()) for part in levels]
        if min(map(len, values)) > 1:
            gaps.append(np.std(values[0], ddof=1) - np.std(values[1], ddof=1))
    return t_interval(gaps) if len(gaps) > 1 else None


def _scatter(lls: dict[str, list[dict[str, BySplit]]], sizes: dict[str, int], path: Path) -> Path:
    """Both families' means on a diagonal, and beside it the differences, which a diagonal is too coarse to show."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.6), layout="constrained")
    scatter, gaps = figure.subplots(1, 2, width_ratios=(2, 3))
    ends = []
    for settings, (factorized, structured) in lls.items():
        names = [data for data in factorized if data in structured]
        points = np.array([[np.mean(list(part[data].values())) for part in (factorized, structured)] for data in names])
        if len(points):
            scatter.scatter(*points.T, s=28, color=COLOURS[settings], label=NAMES[settings], zorder=2)
            ends += [points.min(), points.max()]
    low, high = min(ends, default=0) - 0.3, max(ends, default=0) + 0.3
    scatter.plot([low, high], [low, high], color=INK, lw=0.8, ls=":")
    scatter.set(xlabel="factorized", ylabel="structured", title="one point a table", aspect="equal")
    scatter.legend(*scatter.get_legend_handles_labels(), frameon=False, fontsize=9)
    tidy(scatter)
    series = {settings: differences(structured, factorized) for settings, (factorized, structured) in lls.items()}
    intervals_by_table(gaps, series, sizes, colours=COLOURS, labels=NAMES)
    gaps.set_ylabel("structured less factorized, mean and 95 % interval")
    figure.suptitle("Test log-likelihood, 500 units", fontsize=10)
    figure.savefig(path, dpi=110)
    return path


def _norms(norms: list[Any], sizes: dict[str, int], settings: str, path: Path) -> Path:
    from matplotlib.figure import Figure

    names = [data for data in sizes if data in norms[0] or data in norms[1]]
    num_columns = min(3, len(names))
    figure = Figure(figsize=(3.8 * num_columns, 2.6 * -(-len(names) // num_columns) + 0.6), layout="constrained")
    axes = figure.subplots(-(-len(names) // num_columns), num_columns, sharex=True, squeeze=False).ravel()
    for axis in axes[len(names) :]:
        axis.remove()
    for axis, data in zip(axes, names, strict=False):
        for part, colour, label in zip(norms, (BAND, ALIVE), ("factorized", "structured"), strict=True):
            for trial, values in enumerate(part.get(data, {}).values()):
                rank = np.arange(1, len(values) + 1)
                axis.scatter(rank, values, s=5, color=colour, alpha=0.6, label=label if trial == 0 else None, lw=0)
        axis.set_yscale("log")
        axis.set_title(data, fontsize=9)
        tidy(axis)
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside upper right", frameon=False, fontsize=9, markerscale=2.5
    )
    figure.supxlabel("unit, smallest norm first", fontsize=10)
    figure.supylabel(r"$\|E[w_k]\|_2$", fontsize=10)
    figure.suptitle(f"The {NUM_NORMS} smallest norms of each trial, {NAMES[settings]}", fontsize=10)
    figure.savefig(path, dpi=110)
    return path


def _narrow(records: list[Record], path: Path) -> Path:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4), layout="constrained")
    axes = figure.subplots(1, len(SETTINGS), sharey=True)
    names = list(train_rows(records))
    for axis, settings in zip(axes, SETTINGS, strict=True):
        found: Any = by_split(records, "smallest_norms", settings=settings)
        for place, data in enumerate(names):
            for values in found.get(data, {}).values():
                x = place + np.linspace(-0.36, 0.36, len(values))
                axis.scatter(x, np.sort(values), s=4, color=COLOURS[settings], alpha=0.5, lw=0)
        axis.set_yscale("log")
        axis.set_xticks(range(len(names)), names, rotation=30, ha="right")
        axis.set_title(f"{NAMES[settings]}", fontsize=10)
        tidy(axis)
    axes[0].set_ylabel(r"$\|E[w_k]\|_2$, sorted, each trial")
    units = min(record["key"]["units"] for record in records)
    figure.suptitle(f"Horseshoe, factorized, {units} units (protein: the 50 smallest of 100)", fontsize=10)
    figure.savefig(path, dpi=110)
    return path


EXPERIMENT = Experiment(
    "Figure 3, middle, and supplement: shrinkage of 500 units, factorized against structured",
    "Factorized and structured approximations predict similarly, but the structured one consistently shrinks unused "
    "units further, and factorized shrinkage varies more between trials.",
    trials,
    fit_table,
    find,
    RECORDS,
)
