"""Pictures of what one input does to predictions."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pritchel.report.model_figures import drawn, short
from pritchel.report.palette import BLUE, INK, PALE


class Dependence(NamedTuple):
    """How the prediction moves with one input, others as they are: mean and a 90 % band of the average function."""

    name: str
    values: Sequence[Any]
    mean: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    rug: Sequence[float] = ()  # where the data are, of numbers
    are_points: bool = False  # categories, and numbers that have few values: nothing lies between them


def shared_scale(curves: Sequence[Dependence]) -> tuple[float, float]:
    """Ends of one y-axis for several panels."""
    low, high = min(curve.lower.min() for curve in curves), max(curve.upper.max() for curve in curves)
    margin = 0.05 * (high - low) or 1.0
    return low - margin, high + margin


def dependence(curve: Dependence, target: str, scale: tuple[float, float]) -> bytes:
    """Partial dependence on one input, with marks for where the data are."""
    with drawn() as (axis, picture):
        if curve.are_points:
            is_named = isinstance(curve.values[0], str)
            places = np.arange(len(curve.values)) if is_named else np.asarray(curve.values, float)
            ends = [curve.mean - curve.lower, curve.upper - curve.mean]
            axis.errorbar(places, curve.mean, ends, fmt="o", color=BLUE, ms=5)
            names = [short(str(value)) if is_named else f"{value:g}" for value in curve.values]
            is_long = sum(map(len, names)) > 32
            axis.set_xticks(places, names, rotation=35 * is_long, ha="right" if is_long else "center")
            gap = np.diff(places).min() if len(places) > 1 else 1.0
            axis.set_xlim(places[0] - 0.6 * gap, places[-1] + 0.6 * gap)
        else:
            axis.fill_between(curve.values, curve.lower, curve.upper, color=PALE, lw=0)
            axis.plot(curve.values, curve.mean, color=BLUE, lw=1.5)
            axis.margins(x=0.02)
        axis.set(ylim=scale, xlabel=short(curve.name), ylabel=short(target, 30))
        if len(curve.rug):
            axis.plot(curve.rug, np.full(len(curve.rug), 0.02), "|", color=INK, ms=6, mew=0.6, alpha=0.6,
                      transform=axis.get_xaxis_transform())  # fmt: skip
    return picture[0]
