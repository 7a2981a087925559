"""The demo's picture."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from pritchel.guide.prune_rule import THRESHOLD
from pritchel.report.axes import bare, save_figure
from pritchel.report.palette import BLUE, GREY, INK, RED

GRID = np.linspace(-4.6, 4.6, 400)[:, None]


def draw_demo(estimator: Any, X: np.ndarray, y: np.ndarray, folder: Path) -> Path:
    """The fit of the sine: its predictive band over the data, and the scale of every unit it was offered."""
    mean = estimator.predict(GRID)
    spread = estimator.predict_uncertainty(GRID)
    lower, upper = estimator.predict_interval(GRID, 0.9).T
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    x_grid = GRID[:, 0]
    left.scatter(X[:, 0], y, s=7, color=GREY, label="data", zorder=1)
    left.fill_between(x_grid, lower, upper, color=BLUE, alpha=0.22, lw=0, label="90 % for a new observation")
    left.fill_between(
        x_grid,
        mean - 2 * spread.epistemic,
        mean + 2 * spread.epistemic,
        color=BLUE,
        alpha=0.5,
        lw=0,
        label="± 2 sd of f",
    )
    left.plot(x_grid, np.sin(x_grid), color=INK, lw=1, ls="--", label="true function")
    left.plot(x_grid, mean, color=BLUE, lw=1.8, label="predictive mean")
    left.set(xlabel="x", ylabel="y", title="Predictive distribution")
    left.legend(frameon=False, fontsize=8, loc="upper center", ncols=2)
    left.set_ylim(min(y.min(), lower.min()) - 0.1, max(y.max(), upper.max()) + 0.9)
    _draw_unit_scales(right, estimator.unit_scales_[0][0], int(estimator.units_kept_[0, 0]))
    for axis in (left, right):
        bare(axis)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "demo.png"
    save_figure(figure, path, 150)
    return path


def _draw_unit_scales(axis: Any, scales: np.ndarray, num_kept: int) -> None:
    """Posterior median scale of every unit, largest first, against the pruning threshold."""
    ordered = np.sort(scales)[::-1]
    rank = np.arange(1, len(ordered) + 1)
    axis.scatter(rank[:num_kept], ordered[:num_kept], s=9, color=RED, label=f"{num_kept} kept")
    axis.scatter(rank[num_kept:], ordered[num_kept:], s=9, color=GREY, label=f"{len(ordered) - num_kept} switched off")
    axis.axhline(THRESHOLD, color=INK, lw=0.8, ls=":")
    axis.annotate(
        f"pruned below {THRESHOLD:g}", (len(ordered), THRESHOLD), va="bottom", ha="right", fontsize=8, color=INK
    )
    axis.set(yscale="log", xlabel="unit, largest scale first", ylabel="scale of the weights into it", title="Units")
    axis.legend(frameon=False, fontsize=8, loc="upper right")
