"""A straight boundary, and a network far too wide for it: how many units stay? Draws `linear_boundary.png`."""

import sys
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from pritchel import HorseshoeClassifier


def main(folder: Path) -> None:
    """Fit 100 units without a linear path to 300 points that a line divides, prune, draw."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (300, 2))
    y = np.where(X @ [1.0, 0.6] + 0.3 * rng.normal(size=300) > 0.5, "right", "left")
    model = HorseshoeClassifier(hidden=(100,), linear=False, num_members=1, random_state=0).fit(X, y)
    small = model.prune()
    print(small.prune_report_)
    print(f"accuracy {model.score(X, y):.3f}, pruned {small.score(X, y):.3f}")

    grid = np.linspace(-6, 6, 120)
    places = np.stack(np.meshgrid(grid, grid), -1).reshape(-1, 2)
    proba = small.predict_proba(places)[:, 1].reshape(120, 120)
    epistemic = small.predict_uncertainty(places).epistemic.reshape(120, 120)
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    for axis, values, title in ((axes[0], proba, "P(right)"), (axes[1], epistemic, "epistemic entropy, nats")):
        shown = axis.pcolormesh(grid, grid, values, cmap="RdBu_r" if axis is axes[0] else "Blues", shading="auto")
        axis.scatter(*X[y == "left"].T, s=6, color="#1d2433")
        axis.scatter(*X[y == "right"].T, s=6, color="#c2410c")
        axis.set(title=title, xlabel="x1", ylabel="x2")
        figure.colorbar(shown, ax=axis)
    num_kept = small.units_kept_[0, 0]
    scales = np.sort(model.unit_scales_[0][0])[::-1]
    axes[2].semilogy(scales, ".", color="#a3adbd")
    axes[2].semilogy(scales[:num_kept], ".", color="#2456a6")
    axes[2].axhline(1e-3, color="#1d2433", lw=0.8, ls="--")
    axes[2].set(title=f"{num_kept} of 100 units in use", xlabel="unit", ylabel="scale")
    figure.savefig(folder / "linear_boundary.png", dpi=110)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
