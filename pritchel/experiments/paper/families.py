"""The four variational families side by side; the paper states the outcome and shows no figure."""

from pathlib import Path

import numpy as np

from pritchel.experiments.paper.drawing import interval_panels
from pritchel.experiments.paper.settings import NAMES, SETTINGS
from pritchel.experiments.paper.tables import (
    QUICK_TABLES,
    RECORDS,
    Record,
    by_split,
    differences,
    fit_table,
    table_keys,
    train_rows,
)
from pritchel.experiments.records import Key
from pritchel.experiments.reproduce import Check, Experiment, Finding
from pritchel.experiments.statistics import count_tables, judge_tables

FAMILIES = ("factorized", "tied", "semi_structured", "structured")
PAIRS = (("structured", "semi_structured"), ("factorized", "tied"))
NUM_SPLITS = 5


def trials(quick: bool) -> list[Key]:
    """Every family with the protocol's 50 units."""
    methods = [
        {"prior": "regularized_horseshoe", "family": family, "settings": settings}
        for settings in SETTINGS
        for family in FAMILIES
    ]
    return table_keys(methods, NUM_SPLITS, quick, QUICK_TABLES[:1] if quick else None)


def find(records: list[Record], folder: Path) -> Finding:
    """Whether structured beats semi-structured, and factorized beats tied, in log-likelihood."""
    sizes = train_rows(records)
    checks, rows, panels = [], [], {pair: {} for pair in PAIRS}
    for settings in SETTINGS:
        scores = {
            (family, metric): by_split(records, metric, settings=settings, family=family)
            for family in FAMILIES
            for metric in ("ll", "rmse")
        }
        for better, worse in PAIRS:
            gain = differences(scores[better, "ll"], scores[worse, "ll"])
            panels[better, worse][settings] = gain
            if not gain:
                continue
            claim = f"{better} outperforms {worse.replace('_', '-')}"
            text = f"log-likelihood, {better} less {worse.replace('_', '-')}: {count_tables(gain)}"
            checks.append(Check(claim, settings, text, judge_tables(gain)))
        for data in sizes:
            if all(data in part for part in scores.values()):
                cells = []
                for family in FAMILIES:
                    means = [np.mean(list(scores[family, metric][data].values())) for metric in ("rmse", "ll")]
                    cells.append(f"{means[0]:.4g} / {means[1]:.3f}")
                rows.append((NAMES[settings], data, *cells))
    title = "Above zero: the first family is better. Reg-HS, 50 units."
    named = {
        f"log-likelihood,\n{better} less {worse.replace('_', '-')}": series
        for (better, worse), series in panels.items()
    }
    figure = interval_panels(named, sizes, title, folder / "families.png", linear_below=0.2)
    columns = ("settings", "table", *(f"{family.replace('_', '-')}, RMSE / LL" for family in FAMILIES))
    return Finding.of_checks([figure], checks, columns, tuple(rows))


EXPERIMENT = Experiment(
    "The four variational families",
    "The structured approximation outperforms the semi-structured variant, and the factorized one predicts better than "
    "the tied one (stated by the paper, not shown).",
    trials,
    fit_table,
    find,
    RECORDS,
)
