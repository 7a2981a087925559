"""The demo's picture."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy import special

from pritchel.data.toy import growing_noise
from pritchel.guide.prune_rule import THRESHOLD
from pritchel.report.axes import bare, save_figure
from pritchel.report.palette import BLUE, GREY, INK, RED

EDGE = 4.0  # the data's
GRID = np.linspace(-EDGE - 1, EDGE + 1, 400)[:, None]


def draw_demo(estimator: Any, X: np.ndarray, y: np.ndarray, folder: Path) -> Path:
    """The fit of the uneven sine: its intervals beside the true ones, and the scale of every unit it was offered."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    _draw_band(left, estimator, X, y)
    _draw_unit_scales(right, estimator.unit_scales_[0][0], int(estimator.units_kept_[0, 0]))
    for axis in (left, right):
        bare(axis)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "demo.png"
    save_figure(figure, path, 150)
    return path


def _draw_band(axis: Any, estimator: Any, X: np.ndarray, y: np.ndarray) -> None:
    """What is predicted beside the truth, also where there are no data and the two part."""
    mean = estimator.predict(GRID)
    lower, upper = estimator.predict_interval(GRID, 0.9).T
    x_grid = GRID[:, 0]
    is_inside = np.abs(x_grid) <= EDGE
    inside = x_grid[is_inside]
    true_half = special.ndtri(0.95) * growing_noise(inside)
    axis.scatter(X[:, 0], y, s=7, color=GREY, label=f"{len(y)} rows", zorder=1)
    axis.fill_between(x_grid, lower, upper, color=BLUE, alpha=0.22, lw=0, label="90 % for a new observation")
    axis.plot(x_grid, mean, color=BLUE, lw=1.8, label="predictive mean")
    for sign in (-1, 1):
        label = "the truth: 90 % and mean" if sign > 0 else None
        axis.plot(inside, np.sin(inside) + sign * true_half, color=INK, lw=0.9, ls=":", label=label)
    axis.plot(x_grid, np.sin(x_grid), color=INK, lw=1, ls="--")
    top, bottom = max(y.max(), upper.max()) + 0.9, min(y.min(), lower.min()) - 0.1
    for start, end in ((x_grid[0], -EDGE), (EDGE, x_grid[-1])):
        axis.axvspan(start, end, color=GREY, alpha=0.25, lw=0)
        axis.text((start + end) / 2, bottom + 0.1, "no data", ha="center", fontsize=8, color=INK)
    axis.set(xlabel="x", ylabel="y", title="Predictive distribution", xlim=(x_grid[0], x_grid[-1]), ylim=(bottom, top))
    axis.legend(frameon=False, fontsize=8, loc="upper center", ncols=2)


def _draw_unit_scales(axis: Any, scales: np.ndarray, num_kept: int) -> None:
    """Posterior median scale of every unit, largest first, against the pruning threshold."""
    floor = min(scales[scales > 0].min(), 0.1 * THRESHOLD) / 3  # where those lie that have left before
    ordered = np.maximum(np.sort(scales)[::-1], floor)
    rank = np.arange(1, len(ordered) + 1)
    axis.scatter(rank[:num_kept], ordered[:num_kept], s=9, color=RED, label=f"{num_kept} kept")
    axis.scatter(rank[num_kept:], ordered[num_kept:], s=9, color=GREY, label=f"{len(ordered) - num_kept} switched off")
    axis.axhline(THRESHOLD, color=INK, lw=0.8, ls=":")
    axis.annotate(
        f"pruned below {THRESHOLD:g}", (len(ordered), THRESHOLD), va="bottom", ha="right", fontsize=8, color=INK
    )
    axis.set(yscale="log", xlabel="unit, largest scale first", ylabel="scale of the weights into it", title="Units")
    axis.legend(frameon=False, fontsize=8, loc="upper right")
