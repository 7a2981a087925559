"""How a claim is judged: 95 % t intervals of paired differences, and one stated rule."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy import stats

Verdict = Literal["holds", "does not hold", "unclear", "no difference", "depends"]
LEVEL = 0.95
RULE = (
    "Differences are paired: the same rows, split and seed under both methods. An interval is the 95 % t interval "
    "of their mean. A claim that one is better, or larger, holds where the interval lies above zero, does not hold "
    "where it lies below, and is unclear otherwise; where no pair differs at all, as where both are zero to any use, "
    "there is no difference. Over several tables it holds if that is so on more than half of "
    "them and the reverse on none; it does not hold if the reverse is so on at least two (one alone may be chance) "
    "and on no fewer than speak for it. A claim of being similar, or competitive, allows a margin: it is judged in "
    "the same way with minus the margin in place of zero. An experiment's verdict is that of the paper's settings: "
    "all its claims must hold, and one that does not is enough to fail it."
)


class Interval(NamedTuple):
    """A mean of `num` values and its 95 % interval; endless for a single value."""

    mean: float
    low: float
    high: float
    num: int

    def __str__(self) -> str:
        if self.num < 2:
            return f"{self.mean:+.3g} (one value)"
        return f"{self.mean:+.3g} [{self.low:+.3g}, {self.high:+.3g}]"


def mean_and_error(values: Iterable[float]) -> tuple[float, float]:
    """Mean and its standard error; not a number for fewer than two values."""
    array = np.asarray(list(values), float)
    error = array.std(ddof=1) / np.sqrt(len(array)) if len(array) > 1 else np.nan
    return float(array.mean()) if len(array) else np.nan, float(error)


def t_interval(values: Iterable[float]) -> Interval:
    """The t interval of a mean."""
    values = list(values)
    mean, error = mean_and_error(values)
    if len(values) < 2:
        return Interval(mean, -np.inf, np.inf, len(values))
    half = float(stats.t.ppf(0.5 + LEVEL / 2, len(values) - 1)) * error
    return Interval(mean, mean - half, mean + half, len(values))


def judge(interval: Interval, margin: float = 0.0) -> Verdict:
    """Whether a difference lies above minus the margin."""
    if interval.low > -margin:
        return "holds"
    if interval.low == interval.high == 0:
        return "no difference"
    return "does not hold" if interval.high < -margin else "unclear"


def judge_tables(intervals: Mapping[str, Interval], margin: float = 0.0) -> Verdict:
    """The rule over several tables."""
    verdicts = [judge(interval, margin) for interval in intervals.values()]
    if verdicts and set(verdicts) == {"no difference"}:
        return "no difference"
    num_for, num_against = verdicts.count("holds"), verdicts.count("does not hold")
    if verdicts and num_against >= max(num_for, min(2, len(verdicts))):
        return "does not hold"
    return "holds" if not num_against and 2 * num_for > len(verdicts) else "unclear"


def count_tables(intervals: Mapping[str, Interval], margin: float = 0.0) -> str:
    """On how many tables the difference lies above, below, or neither, in words."""
    verdicts = [judge(interval, margin) for interval in intervals.values()]
    limit = f"minus {margin:g}" if margin else "zero"
    alike = verdicts.count("no difference")
    return (
        f"above {limit} on {verdicts.count('holds')} of {len(verdicts)} tables, below on "
        f"{verdicts.count('does not hold')}, undecided on {verdicts.count('unclear')}"
        f"{f', no difference on {alike}' if alike else ''}"
    )


def all_hold(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on several claims together."""
    if "does not hold" in verdicts:
        return "does not hold"
    seen = set(verdicts)
    if "no difference" in seen and seen <= {"holds", "no difference"}:
        return "no difference"
    return "holds" if seen == {"holds"} else "unclear"
