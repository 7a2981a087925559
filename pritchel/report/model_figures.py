"""Pictures of one fitted model, each a PNG in memory."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib.figure import Figure

from pritchel.guide.prune_rule import THRESHOLD, log_scale_moments_of, surviving_units_of
from pritchel.posterior.evaluate import calibration_curve, reliability_curve
from pritchel.report.palette import BLUE, GREY, INK, PALE, RED, SERIES

STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.prop_cycle": cycler(color=SERIES),
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.dpi": 160,
    "savefig.bbox": "tight",
    "text.parse_math": False,  # a name with two $ in it is a name
}


@contextmanager
def _figure(width: float, height: float, columns: int = 1, rows: int = 1) -> Iterator[tuple[Figure, Any, list[bytes]]]:
    """A figure in the house style, its axes, and a list that receives the PNG."""
    with matplotlib.rc_context(STYLE):
        figure = Figure((width, height), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
        picture: list[bytes] = []
        yield figure, axes, picture
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png")
        picture.append(buffer.getvalue())


def fit_trace(elbo: np.ndarray) -> bytes:
    """The bound against steps, a line a member, averaged over a few steps."""
    with _figure(7, 2.8) as (_, axes, picture):
        axis = axes[0, 0]
        for index, trace in enumerate(elbo):
            width = max(1, len(trace) // 400)
            smooth = trace[: len(trace) // width * width].reshape(-1, width).mean(1)
            axis.plot((np.arange(len(smooth)) + 0.5) * width, smooth, lw=1.2, label=f"network {index + 1}")
        late = elbo[:, elbo.shape[1] // 20 :]
        low, high = np.nanquantile(late, [0.01, 1])
        axis.set_ylim(low - 0.1 * (high - low), high + 0.1 * (high - low))
        axis.set(xlabel="step", ylabel="ELBO")
        if len(elbo) > 1:
            axis.legend(frameon=False, fontsize=9)
    return picture[0]


def unit_scales(member: Any) -> bytes:
    """Each present unit's log scale, mean and 90 % interval, in order; kept and pruned told apart.

    Units that left during training are counted in the title only.
    """
    kept = surviving_units_of(member)
    with _figure(7, 2.9, len(kept)) as (_, axes, picture):
        for index, ((mean, var), axis) in enumerate(zip(log_scale_moments_of(member), axes[0], strict=True)):
            sd = np.sqrt(var)
            order = np.argsort(-mean)
            is_kept = np.isin(order, kept[index])
            for chosen, color, label in ((is_kept, RED, "in use"), (~is_kept, GREY, "pruned")):
                where = np.flatnonzero(chosen)
                centre, half = mean[order][chosen] / np.log(10), 1.645 * sd[order][chosen] / np.log(10)
                if len(where):
                    axis.errorbar(where + 1, centre, half, fmt=".", color=color, ms=4, lw=1, label=label)
            axis.axhline(np.log10(THRESHOLD), color=INK, lw=0.8, ls="--")
            axis.set(
                xlabel=f"unit, hidden layer {index + 1}", title=f"{len(kept[index])} of {member.offered[index]} in use"
            )
            axis.xaxis.get_major_locator().set_params(integer=True)
        axes[0, 0].set_ylabel("log10 scale")
        axes[0, 0].legend(frameon=False, fontsize=9)
    return picture[0]


def parity(observed: np.ndarray, mean: np.ndarray, sd: np.ndarray, name: str) -> bytes:
    """Observed against predicted, with 90 % intervals of the prediction."""
    with _figure(5, 4.2) as (_, axes, picture):
        axis = axes[0, 0]
        rows = np.linspace(0, len(observed) - 1, min(len(observed), 500)).astype(int)
        alpha = float(np.clip(60 / len(rows), 0.15, 0.7))
        axis.errorbar(mean[rows], observed[rows], xerr=1.645 * sd[rows], fmt=".", color=BLUE, ms=4, lw=0.8, alpha=alpha)
        ends = [min(mean.min(), observed.min()), max(mean.max(), observed.max())]
        axis.plot(ends, ends, color=INK, lw=0.8, ls="--")
        axis.set(xlabel=f"predicted {name}, mean and 90 % interval", ylabel=f"observed {name}")
    return picture[0]


def spread(residuals: np.ndarray, sd: np.ndarray, name: str) -> bytes:
    """Root mean square residual against predicted standard deviation, rows in groups by the latter; 95 % intervals."""
    groups = np.array_split(np.argsort(sd), int(np.clip(len(sd) // 20, 2, 8)))
    said = np.array([np.sqrt(np.mean(sd[rows] ** 2)) for rows in groups])
    seen = np.array([np.sqrt(np.mean(residuals[rows] ** 2)) for rows in groups])
    errors = [1.96 * np.std(residuals[rows] ** 2) / np.sqrt(len(rows)) for rows in groups]  # of the mean square
    low = np.sqrt(np.maximum(seen**2 - errors, 0))
    high = np.sqrt(seen**2 + errors)
    with _figure(5, 3.4) as (_, axes, picture):
        axis = axes[0, 0]
        axis.errorbar(said, seen, [seen - low, high - seen], fmt="o", color=BLUE, ms=5, lw=1)
        end = 1.05 * max(said.max(), seen.max())
        axis.plot([0, end], [0, end], color=INK, lw=0.8, ls="--")
        axis.set(xlabel=f"standard deviation predicted for {name}", ylabel="root mean square residual")
        axis.set(xlim=(0, None), ylim=(0, None))
    return picture[0]


def calibration(pit: np.ndarray) -> bytes:
    """Two views of calibration: the histogram of P(y <= observed), and coverage against its level."""
    with _figure(7, 2.9, 2) as (_, axes, picture):
        left, right = axes[0]
        num_bins = int(np.clip(len(pit) // 15, 5, 20))
        left.hist(pit, np.linspace(0, 1, num_bins + 1), color=PALE, edgecolor=BLUE, lw=0.7)
        expected = len(pit) / num_bins
        error = 1.96 * np.sqrt(expected * (1 - 1 / num_bins))
        left.axhspan(expected - error, expected + error, color=GREY, alpha=0.25, lw=0)
        left.axhline(expected, color=INK, lw=0.8, ls="--")
        left.set(xlabel="P(y <= observed)", ylabel="rows", title="PIT: level is right")
        levels, observed = calibration_curve(pit)
        error = 1.96 * np.sqrt(levels * (1 - levels) / len(pit))
        right.fill_between(levels, levels - error, levels + error, color=GREY, alpha=0.25, lw=0)
        right.plot([0, 1], [0, 1], color=INK, lw=0.8, ls="--")
        right.plot(levels, observed, ".-", color=BLUE, lw=1.2)
        right.set(xlabel="central interval", ylabel="share of rows inside", title="Coverage: the diagonal is right")
    return picture[0]


def confusion(observed: np.ndarray, predicted: np.ndarray, labels: list[str]) -> bytes:
    """Counts of rows by class and by the class predicted for them."""
    num = len(labels)
    counts = np.zeros((num, num), int)
    np.add.at(counts, (observed, predicted), 1)
    size = float(np.clip(1.6 + 0.45 * num, 3, 7))
    with _figure(size + 0.6, size) as (_, axes, picture):
        axis = axes[0, 0]
        shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
        axis.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        for row, column in np.ndindex(num, num):
            if counts[row, column]:
                color = "white" if shares[row, column] > 0.6 else INK
                axis.text(column, row, str(counts[row, column]), ha="center", va="center", color=color, fontsize=9)
        short = [label[:14] for label in labels]
        axis.set_xticks(range(num), short, rotation=45 if max(map(len, short)) > 3 else 0, ha="right")
        axis.set_yticks(range(num), short)
        axis.set(xlabel="predicted", ylabel="class")
    return picture[0]


def reliability(confidence: np.ndarray, is_right: np.ndarray) -> bytes:
    """Accuracy against confidence in bins, over a histogram of confidence."""
    with _figure(7, 2.9, 2) as (_, axes, picture):
        left, right = axes[0]
        mean, share, counts = reliability_curve(confidence, is_right)
        error = 1.96 * np.sqrt(mean * (1 - mean) / counts)
        left.errorbar(mean, share, error, fmt="o-", color=BLUE, ms=4, lw=1)
        left.plot([0, 1], [0, 1], color=INK, lw=0.8, ls="--")
        left.set(xlabel="confidence", ylabel="share right", xlim=(0, 1.02), ylim=(0, 1.05), title="Reliability")
        right.hist(confidence, np.linspace(0, 1, 11), color=PALE, edgecolor=BLUE, lw=0.7)
        right.set(xlabel="confidence", ylabel="rows", title="How sure it is")
    return picture[0]


def rootogram(observed: np.ndarray, expected: np.ndarray) -> bytes:
    """Square roots of observed frequencies hanging from those of the expected ones."""
    with _figure(7, 2.9) as (_, axes, picture):
        axis = axes[0, 0]
        counts = np.arange(len(expected))
        seen = np.bincount(np.minimum(observed.astype(int), len(expected) - 1), minlength=len(expected))
        top = np.sqrt(expected)
        axis.bar(counts, -np.sqrt(seen), bottom=top, width=0.8, color=PALE, edgecolor=BLUE, lw=0.7)
        axis.plot(counts, top, ".-", color=INK, lw=1)
        axis.axhline(0, color=INK, lw=0.8, ls="--")
        axis.set(xlabel="count", ylabel="square root of rows")
    return picture[0]


class Dependence(NamedTuple):
    """How the prediction moves with one input, others as they are: mean and a 90 % band of the average function."""

    name: str
    values: Sequence[Any]
    mean: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def dependences(curves: list[Dependence], target: str) -> bytes:
    """Partial dependence, a panel an input, all to one scale."""
    low, high = min(curve.lower.min() for curve in curves), max(curve.upper.max() for curve in curves)
    margin = 0.05 * (high - low) or 1.0
    columns = min(2, len(curves))
    rows = -(-len(curves) // columns)
    with _figure(7, 2.6 * rows, columns, rows) as (_, axes, picture):
        for axis, curve in zip(axes.flat, curves, strict=False):
            if isinstance(curve.values[0], str):
                places = np.arange(len(curve.values))
                spread = [curve.mean - curve.lower, curve.upper - curve.mean]
                axis.errorbar(places, curve.mean, spread, fmt="o", color=BLUE, ms=5)
                axis.set_xticks(places, [str(value)[:14] for value in curve.values], rotation=30, ha="right")
            else:
                axis.fill_between(curve.values, curve.lower, curve.upper, color=PALE, lw=0)
                axis.plot(curve.values, curve.mean, color=BLUE, lw=1.5)
            axis.set(xlabel=curve.name, ylabel=target, ylim=(low - margin, high + margin))
        for axis in list(axes.flat)[len(curves) :]:
            axis.remove()
    return picture[0]
