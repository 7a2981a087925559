"""The arena's pictures: average ranks with their critical difference, and quality against time."""

from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from summary import OURS, Ranks

matplotlib.use("agg")
import matplotlib.pyplot as plt

OWN, OTHERS = "#b3420f", "#4a5a6a"


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
    """Median seconds of a fit against CRPS as a share of the constant predictor's; the front is joined."""
    figure, axes = plt.subplots(figsize=(7.2, 4.6))
    best = front(points)
    axes.plot(best["seconds"], best["quality"], color="0.8", lw=2, zorder=1)
    for name, row in points.iterrows():
        axes.plot(row["seconds"], row["quality"], "o", color=_color(str(name)), ms=7)
        axes.annotate(
            str(name),
            (row["seconds"], row["quality"]),
            (6, 5),
            textcoords="offset points",
            fontsize=8,
            color=_color(str(name)),
        )
    axes.set(xscale="log", xlabel="median seconds of a fit", ylabel="CRPS, as a share of the constant predictor's")
    axes.set_ylim(top=float(np.nanmin([1.05, points["quality"].max() + 0.05])))
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)
