"""Pictures of one fitted model, each a PNG in memory."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib.figure import Figure

from pritchel.guide.prune_rule import log_scale_moments_of, rule_for, surviving_units_of
from pritchel.posterior.evaluate import calibration_curve, reliability_curve
from pritchel.report.palette import BLUE, GREY, INK, PALE, RED, SERIES

FEWEST_FOR_GROUPS = 40  # rows
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


WIDE, PANEL = (4.7, 3.0), (4.1, 2.8)  # inches; a phone shows either at a size that can be read, two panels pair up


@contextmanager
def drawn(size: tuple[float, float] = PANEL) -> Iterator[tuple[Any, list[bytes]]]:
    """An axis in the house style, and a list that receives the PNG."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(size, layout="constrained")
        picture: list[bytes] = []
        yield figure.subplots(), picture
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png")
        picture.append(buffer.getvalue())


def fit_trace(elbo: np.ndarray) -> bytes:
    """The bound against steps, a line a member, averaged over a few steps."""
    with drawn(WIDE) as (axis, picture):
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


def unit_scales(member: Any, layer: int) -> bytes:
    """Each present unit's log scale, mean and 90 % interval, in order; kept and pruned told apart.

    Units that left during training are counted in the title only.
    """
    kept = surviving_units_of(member)[layer]
    mean, var = log_scale_moments_of(member)[layer]
    order = np.argsort(-mean)
    is_kept = np.isin(order, kept)
    with drawn() as (axis, picture):
        for chosen, color, label in ((is_kept, RED, "in use"), (~is_kept, GREY, "pruned")):
            where = np.flatnonzero(chosen)
            half = 1.645 * np.sqrt(var[order][chosen]) / np.log(10)
            if len(where):
                centre = mean[order][chosen] / np.log(10)
                axis.errorbar(where + 1, centre, half, fmt=".", color=color, ms=4, lw=1, label=label)
        threshold = rule_for(member.model.prior).threshold
        if threshold is not None:
            axis.axhline(np.log10(threshold), color=INK, lw=0.8, ls="--")
        axis.set(xlabel=f"unit, hidden layer {layer + 1}", ylabel="log10 scale")
        axis.set_title(f"{len(kept)} of {member.offered[layer]} in use")
        axis.xaxis.get_major_locator().set_params(integer=True)
        if len(mean):
            axis.legend(frameon=False, fontsize=9)
    return picture[0]


def _shown_rows(num_rows: int) -> tuple[np.ndarray, float]:
    """At most 500 rows of so many, and how opaque their points are."""
    rows = np.linspace(0, num_rows - 1, min(num_rows, 500)).astype(int)
    return rows, float(np.clip(60 / len(rows), 0.15, 0.7))


def parity(observed: np.ndarray, mean: np.ndarray, sd: np.ndarray, name: str) -> bytes:
    """Observed against predicted, with 90 % intervals of the prediction."""
    rows, alpha = _shown_rows(len(observed))
    with drawn() as (axis, picture):
        axis.errorbar(mean[rows], observed[rows], xerr=1.645 * sd[rows], fmt=".", color=BLUE, ms=4, lw=0.8, alpha=alpha)
        ends = [min(mean.min(), observed.min()), max(mean.max(), observed.max())]
        axis.plot(ends, ends, color=INK, lw=0.8, ls="--")
        axis.set(xlabel=f"predicted {short(name)}, mean and 90 %", ylabel=f"observed {short(name)}")
    return picture[0]


def residual_groups(residuals: np.ndarray, mean: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows in groups by their prediction: its mean, the mean residual, and the standard error of that."""
    groups = np.array_split(np.argsort(mean, kind="stable"), int(np.clip(len(mean) // 20, 1, 8)))
    error = [residuals[rows].std() / np.sqrt(len(rows)) for rows in groups]
    place, height = (np.array([part[rows].mean() for rows in groups]) for part in (mean, residuals))
    return place, height, np.array(error)


def residuals_plot(residuals: np.ndarray, mean: np.ndarray, name: str) -> bytes:
    """What was observed less what was predicted, against the prediction; means of groups of rows in red."""
    rows, alpha = _shown_rows(len(mean))
    with drawn() as (axis, picture):
        axis.plot(mean[rows], residuals[rows], ".", color=BLUE, ms=4, alpha=alpha)
        axis.axhline(0, color=INK, lw=0.8, ls="--")
        if len(mean) >= FEWEST_FOR_GROUPS:
            place, height, error = residual_groups(residuals, mean)
            axis.errorbar(place, height, 1.96 * error, fmt="o", color=RED, ms=4, lw=1)
        axis.set(xlabel=f"predicted {short(name)}", ylabel="observed less predicted")
    return picture[0]


def uncertainty_split(share: np.ndarray) -> bytes:
    """How many rows have which part of their uncertainty from what the model does not know."""
    with drawn() as (axis, picture):
        axis.hist(100 * share, np.linspace(0, 100, 21), color=PALE, edgecolor=BLUE, lw=0.7)
        axis.axvline(100 * share.mean(), color=RED, lw=1.2)
        axis.set(xlabel="epistemic part of the uncertainty, %", ylabel="rows", xlim=(0, 100))
    return picture[0]


def spread_groups(residuals: np.ndarray, sd: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows in groups by predicted deviation: its root mean square, that of residuals, and the error of its square."""
    groups = np.array_split(np.argsort(sd), int(np.clip(len(sd) // 20, 2, 8)))
    said = np.array([np.sqrt(np.mean(sd[rows] ** 2)) for rows in groups])
    seen = np.array([np.sqrt(np.mean(residuals[rows] ** 2)) for rows in groups])
    return said, seen, np.array([np.std(residuals[rows] ** 2) / np.sqrt(len(rows)) for rows in groups])


def spread(residuals: np.ndarray, sd: np.ndarray, name: str) -> bytes:
    """Root mean square residual against predicted standard deviation, rows in groups by the latter; 95 % intervals."""
    said, seen, errors = spread_groups(residuals, sd)
    low = np.sqrt(np.maximum(seen**2 - 1.96 * errors, 0))
    high = np.sqrt(seen**2 + 1.96 * errors)
    with drawn() as (axis, picture):
        axis.errorbar(said, seen, [seen - low, high - seen], fmt="o", color=BLUE, ms=5, lw=1)
        end = 1.05 * max(said.max(), seen.max())
        axis.plot([0, end], [0, end], color=INK, lw=0.8, ls="--")
        axis.set(xlabel=f"deviation predicted for {short(name)}", ylabel="root mean square residual")
        axis.set(xlim=(0, None), ylim=(0, None))
    return picture[0]


def pit_histogram(pit: np.ndarray) -> bytes:
    """The histogram of P(y <= observed)."""
    with drawn() as (axis, picture):
        num_bins = int(np.clip(len(pit) // 15, 5, 20))
        axis.hist(pit, np.linspace(0, 1, num_bins + 1), color=PALE, edgecolor=BLUE, lw=0.7)
        expected = len(pit) / num_bins
        error = 1.96 * np.sqrt(expected * (1 - 1 / num_bins))
        axis.axhspan(expected - error, expected + error, color=GREY, alpha=0.25, lw=0)
        axis.axhline(expected, color=INK, lw=0.8, ls="--")
        axis.set(xlabel="P(y <= observed)", ylabel="rows", title="PIT: level is right")
    return picture[0]


def coverage(pit: np.ndarray) -> bytes:
    """The share of rows inside central intervals against their level."""
    with drawn() as (axis, picture):
        levels, observed = calibration_curve(pit)
        error = 1.96 * np.sqrt(levels * (1 - levels) / len(pit))
        axis.fill_between(levels, levels - error, levels + error, color=GREY, alpha=0.25, lw=0)
        axis.plot([0, 1], [0, 1], color=INK, lw=0.8, ls="--")
        axis.plot(levels, observed, ".-", color=BLUE, lw=1.2)
        axis.set(xlabel="central interval", ylabel="share of rows inside", title="Coverage: the diagonal is right")
    return picture[0]


def confusion(observed: np.ndarray, predicted: np.ndarray, labels: list[str]) -> bytes:
    """Counts of rows by class and by the class predicted for them."""
    num = len(labels)
    counts = np.zeros((num, num), int)
    np.add.at(counts, (observed, predicted), 1)
    size = float(np.clip(1.6 + 0.45 * num, 2.6, 6))
    with drawn((size + 0.6, size)) as (axis, picture):
        shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
        axis.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        for row, column in np.ndindex(num, num):
            if counts[row, column]:
                color = "white" if shares[row, column] > 0.6 else INK
                axis.text(column, row, str(counts[row, column]), ha="center", va="center", color=color, fontsize=9)
        names = [short(label) for label in labels]
        axis.set_xticks(range(num), names, rotation=45 if max(map(len, names)) > 3 else 0, ha="right")
        axis.set_yticks(range(num), names)
        axis.set(xlabel="predicted", ylabel="class")
    return picture[0]


def reliability(confidence: np.ndarray, is_right: np.ndarray) -> bytes:
    """Accuracy against confidence in bins."""
    with drawn() as (axis, picture):
        mean, share, counts = reliability_curve(confidence, is_right)
        error = 1.96 * np.sqrt(mean * (1 - mean) / counts)
        axis.errorbar(mean, share, error, fmt="o-", color=BLUE, ms=4, lw=1)
        axis.plot([0, 1], [0, 1], color=INK, lw=0.8, ls="--")
        axis.set(xlabel="confidence", ylabel="share right", xlim=(0, 1.02), ylim=(0, 1.05), title="Reliability")
    return picture[0]


def confidence_histogram(confidence: np.ndarray) -> bytes:
    """How many rows had which confidence."""
    with drawn() as (axis, picture):
        axis.hist(confidence, np.linspace(0, 1, 11), color=PALE, edgecolor=BLUE, lw=0.7)
        axis.set(xlabel="confidence", ylabel="rows", title="How sure it is")
    return picture[0]


def rootogram(observed: np.ndarray, expected: np.ndarray, width: int = 1) -> bytes:
    """Square roots of observed frequencies, of bars so many counts wide, hanging from those of the expected ones."""
    with drawn(WIDE) as (axis, picture):
        counts = width * np.arange(len(expected)) + (width - 1) / 2
        seen = counts_seen(observed, len(expected), width)
        top = np.sqrt(expected)
        axis.bar(counts, -np.sqrt(seen), bottom=top, width=0.8 * width, color=PALE, edgecolor=BLUE, lw=0.7)
        axis.plot(counts, top, ".-", color=INK, lw=1)
        axis.axhline(0, color=INK, lw=0.8, ls="--")
        axis.set(xlabel="count", ylabel="square root of rows")
    return picture[0]


def counts_seen(observed: np.ndarray, num_bars: int, width: int) -> np.ndarray:
    """Rows by their counts, in bars so many counts wide; the last is of all from there on."""
    return np.bincount(np.minimum(observed.astype(int) // width, num_bars - 1), minlength=num_bars)


def short(name: str, most: int = 18) -> str:
    """A name that has room on an axis."""
    return name if len(name) <= most else f"{name[: most - 1]}…"
