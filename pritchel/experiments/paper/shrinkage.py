"""Figure 3, middle, and the supplement's: structured posteriors predict alike and shrink unused units further."""

from typing import Any

import numpy as np

from pritchel.experiments.paper.measures import NORM_FLOOR
from pritchel.experiments.paper.priors import HS
from pritchel.experiments.paper.settings import NAMES, SETTINGS, WIDE
from pritchel.experiments.paper.tables import (
    NUM_NORMS,
    QUICK_UNITS,
    RECORDS,
    BySplit,
    ByTable,
    by_split,
    differences,
    fit_table,
    table_keys,
    train_rows,
)
from pritchel.experiments.records import Key, Record
from pritchel.experiments.reproduce import Check, Experiment, Finding
from pritchel.experiments.statistics import Interval, count_tables, judge, judge_tables, t_interval

FACTORIZED = {"prior": "regularized_horseshoe", "family": "factorized"}
STRUCTURED = {"prior": "regularized_horseshoe", "family": "structured"}
NUM_SPLITS = 5
MARGIN = 0.1  # nats a row that still count as similar
SMALLEST = 1e-30  # a norm of zero has no logarithm
NOTE = (
    "Where both families' norms are below what can matter, their logarithms still differ: log10 of the 50 smallest "
    "norms as they are, factorized less structured, {}. That compares 1e-8 with 1e-13, and was once the verdict here."
)


def trials(quick: bool) -> list[Key]:
    """Both families with 500 units; the horseshoe with 50 for the supplement's second figure."""
    wide = [
        method | {"settings": settings, "units": WIDE} for settings in SETTINGS for method in (FACTORIZED, STRUCTURED)
    ]
    narrow = [HS | {"settings": settings} for settings in SETTINGS]
    return table_keys(wide, NUM_SPLITS, quick) + table_keys(narrow, NUM_SPLITS, quick)


def log_norm(by_table: dict[str, dict[int, list[float]]], floor: float = SMALLEST) -> dict[str, BySplit]:
    """Mean log10 of a trial's smallest norms; one below the floor counts as the floor."""
    return {
        data: {split: float(np.log10(np.maximum(norms, floor)).mean()) for split, norms in splits.items()}
        for data, splits in by_table.items()
    }


def wide_and_narrow(records: list[Record]) -> tuple[list[Record], list[Record]]:
    """The records of wide networks, and those of the supplement's narrow ones."""
    wide = [record for record in records if record["key"]["units"] in (WIDE, QUICK_UNITS[WIDE])]
    narrow = [record for record in records if record["key"]["units"] not in (WIDE, QUICK_UNITS[WIDE])]
    return wide, narrow


def of_both(records: list[Record], metric: str, settings: str) -> list[dict[str, Any]]:
    """A metric by table and split, of the factorized fits and of the structured ones."""
    return [by_split(records, metric, settings=settings, **method) for method in (FACTORIZED, STRUCTURED)]


def find(records: list[Record]) -> Finding:
    """Whether log-likelihoods are alike, norms smaller to any use, and norms less spread over trials."""
    wide, _ = wide_and_narrow(records)
    sizes = train_rows(records)
    checks, rows, notes = [], [], []
    for settings in SETTINGS:
        factorized, structured = of_both(wide, "ll", settings)
        gain = differences(structured, factorized)
        if not gain:
            continue
        norms = of_both(wide, "smallest_norms", settings)
        shrunk = differences(*(log_norm(part) for part in norms))
        notes.append(f"{NAMES[settings]}: {count_tables(shrunk)}")
        levels = [log_norm(part, NORM_FLOOR) for part in norms]
        kept = of_both(wide, "kept", settings)
        checks += _checks(gain, differences(*levels), differences(*kept), settings)
        checks += _spread_check(_spread(levels), settings)
        for data in sizes:
            if data in gain and data in shrunk:
                counts = (f"{np.mean(list(part[data].values())):.0f}" for part in kept)
                cells = (str(gain[data].num), str(gain[data]), str(shrunk[data]), *counts)
                rows.append((NAMES[settings], data, *cells))
    columns = ("settings", "table", "trials", "log-likelihood, structured less factorized")
    columns += ("log10 smallest norms, factorized less structured", "kept, factorized", "kept, structured")
    return Finding.of_checks(checks, columns, tuple(rows), NOTE.format("; ".join(notes)))


def _checks(gain: ByTable, shrunk: ByTable, fewer: ByTable, settings: str) -> list[Check]:
    text = f"log-likelihood, structured less factorized (margin {MARGIN:g}): {count_tables(gain, MARGIN)}"
    checks = [Check("structured predicts no worse than factorized", settings, text, judge_tables(gain, MARGIN))]
    text = (
        f"log10 of the {NUM_NORMS} smallest norms (below {NORM_FLOOR:g}: zero to any use), factorized less structured"
    )
    checks.append(
        Check("structured shrinks further", settings, f"{text}: {count_tables(shrunk)}", judge_tables(shrunk))
    )
    text = f"units that the pruning rule keeps, factorized less structured: {count_tables(fewer)}"
    checks.append(Check("structured leaves fewer units", settings, text, judge_tables(fewer)))
    return checks


def _spread_check(spread: Interval | None, settings: str) -> list[Check]:
    if spread is None:
        return []
    text = f"sd over trials of that level, factorized less structured, {spread} over {spread.num} tables"
    return [Check("factorized shrinkage varies more between trials", settings, text, judge(spread))]


def _spread(levels: list[dict[str, BySplit]]) -> Interval | None:
    """How much more the level of shrinkage varies over trials when factorized, tables being the sample."""
    gaps = []
    for data in levels[0]:
        values = [list(part.get(data, {}).values()) for part in levels]
        if min(map(len, values)) > 1:
            gaps.append(np.std(values[0], ddof=1) - np.std(values[1], ddof=1))
    return t_interval(gaps) if len(gaps) > 1 else None


EXPERIMENT = Experiment(
    "Figure 3, middle, and supplement: shrinkage of 500 units, factorized against structured",
    "Factorized and structured approximations predict similarly, but the structured one consistently shrinks unused "
    "units further, and factorized shrinkage varies more between trials.",
    trials,
    fit_table,
    find,
    RECORDS,
)
