"""Fits of the toy sine that two experiments share: what is fitted, what is recorded, how a band is drawn."""

from pathlib import Path
from typing import Any

import numpy as np

from pritchel.data.toy import NOISE_SD, sine
from pritchel.experiments.paper.settings import NAMES, SETTINGS, make_estimator
from pritchel.experiments.records import Key
from pritchel.experiments.scores import estimator_scores
from pritchel.experiments.statistics import Interval, t_interval
from pritchel.report.figures import BAND, DEAD, INK

Record = dict[str, Any]
GRID = np.linspace(-5, 5, 101)
IS_INSIDE = np.abs(GRID) <= 4  # where the data are
NUM_SEEDS, QUICK_STEPS = 5, 500
Y_LIMIT = 3.0


def fit_curve(key: Key) -> Record:
    """Fit one set of rows; the band on a grid is kept for the first seed only."""
    seed = key["split"]
    X, y = sine(key["rows"], seed)
    estimator = make_estimator(key, len(y)).fit(X, y)
    grid = GRID[:, None]
    mean, spread = estimator.predict(grid), estimator.predict_uncertainty(grid)
    scores = estimator_scores(estimator, *sine(500, 1000 + seed))
    inside = [values[IS_INSIDE] for values in (mean, spread.total, spread.epistemic)]
    record: Record = {
        "curve_rmse": round(float(np.sqrt(np.mean((inside[0] - np.sin(GRID[IS_INSIDE])) ** 2))), 4),
        "predictive_sd": round(float(inside[1].mean()), 4),
        "function_sd": round(float(inside[2].mean()), 4),
        "noise_sd": round(float(spread.aleatoric.mean()), 4),
        "coverage": round(scores.coverage, 4),
        "ll": round(scores.log_likelihood, 4),
        "kept": int(estimator.units_kept_[0]),
        "collapsed": estimator.is_collapsed_,
    }
    if seed == 0:
        lower, upper = estimator.predict_interval(grid, 0.9).T
        record["band"] = [np.round(part, 3).tolist() for part in (mean, lower, upper, spread.epistemic)]
    return record


def values(records: list[Record], metric: str, **match: Any) -> np.ndarray:
    """A metric of the records whose key has the given entries, by seed."""
    found = {
        record["key"]["split"]: record["result"][metric]
        for record in records
        if all(record["key"][name] == wanted for name, wanted in match.items())
    }
    return np.array([found[seed] for seed in sorted(found)])


def log_ratio(first: np.ndarray, second: np.ndarray) -> Interval:
    """The interval of ln(first / second), paired; of as many as both have."""
    num = min(len(first), len(second))
    return t_interval(np.log(first[:num] / second[:num]))


def draw_bands(records: list[Record], panels: dict[str, dict[str, Any]], title: str, path: Path) -> Path:
    """One row a kind of settings, one column a panel: the first seed's rows, curve and 90 % band."""
    from matplotlib.figure import Figure

    present = [name for name in SETTINGS if any(record["key"]["settings"] == name for record in records)]
    figure = Figure(figsize=(3.9 * len(panels), 3.1 * len(present) + 0.5), layout="constrained")
    axes = figure.subplots(len(present), len(panels), sharex=True, sharey=True, squeeze=False)
    handles: dict[str, Any] = {}
    for row, settings in zip(axes, present, strict=True):
        for axis, (name, match) in zip(row, panels.items(), strict=True):
            found = [
                record
                for record in records
                if "band" in record["result"] and all(record["key"][k] == v for k, v in match.items())
            ]
            found = [record for record in found if record["key"]["settings"] == settings]
            axis.set_title(f"{name}\n{NAMES[settings]}", fontsize=10)
            axis.spines[["top", "right"]].set_visible(False)
            if not found:
                continue
            record = found[0]
            mean, lower, upper, sd = map(np.asarray, record["result"]["band"])
            x, y = sine(record["key"]["rows"], 0)
            handles["data"] = axis.scatter(x[:, 0], y, s=5, color=DEAD, zorder=1)
            handles["90 % of new observations"] = axis.fill_between(GRID, lower, upper, color=BAND, alpha=0.2, lw=0)
            handles["± 2 sd of f"] = axis.fill_between(GRID, mean - 2 * sd, mean + 2 * sd, color=BAND, alpha=0.45, lw=0)
            (handles["sin x"],) = axis.plot(GRID, np.sin(GRID), color=INK, lw=1, ls="--")
            (handles["mean"],) = axis.plot(GRID, mean, color=BAND, lw=1.6)
            result = record["result"]
            note = f"predictive sd {result['predictive_sd']:.2f} (noise {NOISE_SD})"
            if record["key"]["prior"] != "gaussian":
                note = f"{note}\n{result['kept']} units kept"
            if max(-lower.min(), upper.max()) > Y_LIMIT:
                note = f"the band goes beyond the axes\n{note}"
            box = {"facecolor": "white", "alpha": 0.8, "lw": 0, "pad": 1.5}
            axis.text(0.02, 0.03, note, transform=axis.transAxes, fontsize=8, color=INK, bbox=box)
            axis.set_ylim(-Y_LIMIT, Y_LIMIT)
    for axis in axes[-1]:
        axis.set_xlabel("x")
    for axis in axes[:, 0]:
        axis.set_ylabel("y")
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    figure.suptitle(title, fontsize=11)
    figure.savefig(path, dpi=110)
    return path
