"""The four variational families side by side; the paper states the outcome and shows no figure."""

import numpy as np

from pritchel.experiments.paper.settings import NAMES, SETTINGS
from pritchel.experiments.paper.tables import (
    QUICK_TABLES,
    RECORDS,
    ByTable,
    differences,
    fit_table,
    scores_by_method,
    table_keys,
    train_rows,
)
from pritchel.experiments.records import Key, Record
from pritchel.experiments.reproduce import Check, Experiment, Finding
from pritchel.experiments.statistics import count_tables, judge_tables

FAMILIES = {family: {"family": family} for family in ("factorized", "tied", "semi_structured", "structured")}
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


def gains(records: list[Record]) -> dict[tuple[str, str], dict[str, ByTable]]:
    """Log-likelihood of the first family of a pair less the second's: by pair, kind of settings and table."""
    found: dict[tuple[str, str], dict[str, ByTable]] = {pair: {} for pair in PAIRS}
    for settings in SETTINGS:
        of = scores_by_method(records, settings, FAMILIES, ["ll"])
        for better, worse in PAIRS:
            found[better, worse][settings] = differences(of[better, "ll"], of[worse, "ll"])
    return found


def difference_name(better: str, worse: str) -> str:
    """A pair's difference in words."""
    return f"{better} less {worse.replace('_', '-')}"


def find(records: list[Record]) -> Finding:
    """Whether structured beats semi-structured, and factorized beats tied, in log-likelihood."""
    sizes, gained = train_rows(records), gains(records)
    checks, rows = [], []
    for settings in SETTINGS:
        for (better, worse), series in gained.items():
            gain = series[settings]
            if not gain:
                continue
            claim = f"{better} outperforms {worse.replace('_', '-')}"
            text = f"log-likelihood, {difference_name(better, worse)}: {count_tables(gain)}"
            checks.append(Check(claim, settings, text, judge_tables(gain)))
        scores = scores_by_method(records, settings, FAMILIES, ("rmse", "ll"))
        for data in sizes:
            if all(data in part for part in scores.values()):
                means = {each: np.mean(list(part[data].values())) for each, part in scores.items()}
                cells = [f"{means[family, 'rmse']:.4g} / {means[family, 'll']:.3f}" for family in FAMILIES]
                rows.append((NAMES[settings], data, *cells))
    columns = ("settings", "table", *(f"{family.replace('_', '-')}, RMSE / LL" for family in FAMILIES))
    return Finding.of_checks(checks, columns, tuple(rows))


EXPERIMENT = Experiment(
    "The four variational families",
    "The structured approximation outperforms the semi-structured variant, and the factorized one predicts better than "
    "the tied one (stated by the paper, not shown).",
    trials,
    fit_table,
    find,
    RECORDS,
)
