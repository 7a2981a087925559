"""From records to figures of merit: means by table, paired differences, average ranks. Nothing is run here."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from pritchel.experiments.statistics import Interval, judge, t_interval

OURS = "Pritchel"
HIGHER_IS_BETTER = ("ll",)
LEVEL = 0.05


def frame(records: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Fits that ended well, one row each."""
    return pd.DataFrame([record for record in records if record["status"] == "ok"])


def means(runs: pd.DataFrame, score: str) -> pd.DataFrame:
    """Mean over splits: tables x methods, NaN where a method has no such score."""
    return runs.pivot_table(index="table", columns="method", values=score, aggfunc="mean", dropna=True)


def paired(runs: pd.DataFrame, score: str, peer: str, ours: str = OURS) -> dict[str, Interval]:
    """By table: how far we are ahead of a peer on the splits that both have, above zero where we are better."""
    wide = runs.pivot_table(index=["table", "split"], columns="method", values=score)
    if not {peer, ours} <= set(wide.columns):
        return {}
    gain = (wide[ours] - wide[peer]).dropna() * (1 if score in HIGHER_IS_BETTER else -1)
    by_table: dict[str, list[float]] = defaultdict(list)
    for (table, _), value in gain.items():
        by_table[table].append(value)
    return {table: t_interval(values) for table, values in by_table.items()}


def tally(intervals: dict[str, Interval]) -> tuple[int, int, int]:
    """On how many tables we are ahead by more than error, behind by more than error, or neither."""
    verdicts = [judge(interval) for interval in intervals.values()]
    return verdicts.count("holds"), verdicts.count("does not hold"), verdicts.count("unclear")


class Ranks(NamedTuple):
    """Average ranks over tables (1 is best), and the difference that chance alone would rarely exceed."""

    average: pd.Series  # best first
    num_tables: int
    critical: float
    left_out: tuple[str, ...]  # methods that finished on too few tables

    @property
    def groups(self) -> list[tuple[float, float]]:
        """Ends of the longest runs of methods that cannot be told apart."""
        values, found = self.average.to_numpy(), []
        for low in values:
            high = values[values <= low + self.critical].max()
            if high > low and not any(high <= other for _, other in found):
                found.append((low, high))
        return found


def critical_difference(num_methods: int, num_tables: int) -> float:
    """Nemenyi's, of average ranks (Demšar 2006)."""
    quantile = stats.studentized_range.ppf(1 - LEVEL, num_methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(num_methods * (num_methods + 1) / (6 * num_tables)))


def ranks(runs: pd.DataFrame, score: str, methods: Sequence[str], least_share: float = 0.7) -> Ranks | None:
    """Average ranks on the tables that all of the methods finished, less methods that finished few of them."""
    table = means(runs, score).reindex(columns=list(methods))
    share = table.notna().mean()
    kept = [method for method in methods if share[method] >= least_share]
    complete = table[kept].dropna()
    if len(complete) < 2 or len(kept) < 3:
        return None
    order = complete.rank(axis=1, ascending=score not in HIGHER_IS_BETTER).mean().sort_values()
    left_out = tuple(method for method in methods if method not in kept)
    return Ranks(order, len(complete), critical_difference(len(kept), len(complete)), left_out)


class Loss(NamedTuple):
    """A table on which a peer is ahead of us by more than error."""

    table: str
    peer: str
    score: str
    behind: Interval


def losses(runs: pd.DataFrame, score: str, peers: Iterable[str]) -> list[Loss]:
    """Where we lose, by table and then by how much."""
    found = [
        Loss(table, peer, score, interval)
        for peer in peers
        for table, interval in paired(runs, score, peer).items()
        if judge(interval) == "does not hold"
    ]
    return sorted(found, key=lambda loss: (loss.table, loss.behind.mean))
