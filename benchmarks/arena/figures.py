"""The arena's pictures: average ranks with their critical difference, and quality against time."""

from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from summary import OURS, Ranks

matplotlib.use("agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import LogLocator, NullLocator

OWN, OTHERS = "#b3420f", "#4a5a6a"
LEAST_SECONDS = 0.1  # linear models and constants would take up the picture


def _color(method: str) -> str:
    return OWN if method.startswith(OURS) else OTHERS


def draw_ranks(panels: dict[str, Ranks], path: Path) -> None:
    """A panel a score: dots at average ranks, best on top; a bar joins methods that cannot be told apart."""
    tallest = max(len(own.average) for own in panels.values())
    figure, all_axes = plt.subplots(1, len(panels), figsize=(5.4 * len(panels), 1.2 + 0.3 * tallest), squeeze=False)
    for axes, (title, own) in zip(all_axes[0], panels.items(), strict=True):
        names = list(own.average.index)
        for row, (name, rank) in enumerate(own.average.items()):
            axes.plot(rank, row, "o", color=_color(str(name)), ms=7, zorder=3)
            axes.hlines(row, 1, rank, color="0.9", lw=1, zorder=1)
        groups = own.groups
        for index, (low, high) in enumerate(groups):
            at = own.average.between(low, high).to_numpy().nonzero()[0]
            x = len(names) + 0.35 + 0.32 * index
            axes.vlines(x, at[0] - 0.25, at[-1] + 0.25, color="0.35", lw=3)
        axes.set_yticks(range(len(names)), names)
        for label in axes.get_yticklabels():
            label.set_color(_color(label.get_text()))
        axes.set(
            xlim=(0.7, len(names) + 0.6 + 0.32 * len(groups)), ylim=(len(names) - 0.4, -0.6), xlabel="average rank"
        )
        axes.set_title(f"{title}: {own.num_tables} tables, critical difference {own.critical:.1f}", fontsize=10)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
    figure.text(
        0.01, 0.01, "Methods beside one grey bar cannot be told apart (Nemenyi, 5 %).", fontsize=8, color="0.35"
    )
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    figure.savefig(path, dpi=130)
    plt.close(figure)


def front(points: pd.DataFrame) -> pd.DataFrame:
    """Methods that no other beats in both time and quality, fastest first."""
    ordered = points.sort_values(["seconds", "quality"])
    return ordered[ordered["quality"] <= ordered["quality"].cummin()]


def draw_time(points: pd.DataFrame, path: Path) -> None:
    """Median seconds of a fit against CRPS as a share of the constant predictor's; the front is joined.

    Names stand at the right, one below the other, each with a line to its dot.
    """
    points = points[points["seconds"] >= LEAST_SECONDS].sort_values("quality")
    figure, axes = plt.subplots(figsize=(7.6, 0.9 + 0.34 * max(len(points), 6)))
    best = front(points)
    axes.plot(best["seconds"], best["quality"], color="0.8", lw=3, zorder=1)
    low, high = points["quality"].min(), points["quality"].max()
    margin = 0.06 * (high - low) + 1e-6
    axes.set(xscale="log", ylim=(low - margin, high + margin))
    axes.set(xlabel="median seconds of a fit", ylabel="CRPS, share of constant's")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_locator(NullLocator())
    heights = np.linspace(low, high, len(points))
    for height, (name, row) in zip(heights, points.iterrows(), strict=True):
        color = _color(str(name))
        axes.plot(row["seconds"], row["quality"], "o", color=color, ms=7, zorder=3)
        axes.annotate(
            str(name),
            (row["seconds"], row["quality"]),
            (1.06, (height - low + margin) / (high - low + 2 * margin)),
            textcoords="axes fraction",
            va="center",
            fontsize=9,
            color=color,
            arrowprops={"arrowstyle": "-", "color": "0.85", "lw": 0.8, "shrinkB": 4},
        )
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130, bbox_inches="tight")
    plt.close(figure)
