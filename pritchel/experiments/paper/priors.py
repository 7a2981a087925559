"""Figure 3, top: the regularized horseshoe beside the plain one, factorized posteriors, 50 units."""

from typing import Any

from scipy import stats

from pritchel.experiments.paper.settings import NAMES, SETTINGS
from pritchel.experiments.paper.tables import (
    RECORDS,
    ByTable,
    differences,
    fit_table,
    relative_improvements,
    scores_by_method,
    table_keys,
    train_rows,
)
from pritchel.experiments.records import Key, Record
from pritchel.experiments.reproduce import Check, Experiment, Finding
from pritchel.experiments.statistics import Verdict, count_tables, judge_tables

HS = {"prior": "horseshoe", "family": "factorized"}
REG_HS = {"prior": "regularized_horseshoe", "family": "factorized"}
METHODS, METRICS = {"hs": HS, "reg": REG_HS}, ("rmse", "ll")
NUM_SPLITS = 20


def trials(quick: bool) -> list[Key]:
    """Both priors on all splits."""
    methods = [method | {"settings": settings} for settings in SETTINGS for method in METHODS.values()]
    return table_keys(methods, NUM_SPLITS, quick)


def gains(records: list[Record]) -> dict[str, dict[str, ByTable]]:
    """Relative improvement of reg-HS over HS: by metric, kind of settings and table."""
    found: dict[str, dict[str, ByTable]] = {metric: {} for metric in METRICS}
    for settings in SETTINGS:
        of = scores_by_method(records, settings, METHODS, METRICS)
        for metric, series in found.items():
            pair = of["reg", metric], of["hs", metric]
            series[settings] = relative_improvements(*pair, lower_is_better=metric == "rmse")
    return found


def find(records: list[Record]) -> Finding:
    """Whether reg-HS has the better log-likelihood on the tables, and the more so the smaller they are."""
    sizes, relative = train_rows(records), gains(records)["ll"]
    checks, rows = [], []
    for settings in SETTINGS:
        of = scores_by_method(records, settings, METHODS, METRICS)
        absolute = {metric: differences(of["reg", metric], of["hs", metric]) for metric in METRICS}
        text = f"log-likelihood, reg-HS less HS: {count_tables(absolute['ll'])}"
        checks.append(Check("reg-HS is consistently better than HS", settings, text, judge_tables(absolute["ll"])))
        trend = _trend(relative[settings], sizes)
        if trend is not None:
            checks.append(Check("the gain is larger on smaller tables", settings, *trend))
        for data in sizes:
            if data in absolute["ll"]:
                ll, rmse = absolute["ll"][data], absolute["rmse"][data]
                rows.append((NAMES[settings], data, str(ll.num), str(ll), str(rmse)))
    columns = ("settings", "table", "splits", "log-likelihood, reg-HS less HS", "RMSE, reg-HS less HS")
    return Finding.of_checks(checks, columns, tuple(rows))


def _trend(gains: ByTable, sizes: dict[str, int]) -> tuple[str, Verdict] | None:
    """Rank correlation of gain and size: negative, and not by chance, if small tables gain more."""
    if len(gains) < 4:
        return None
    test: Any = stats.spearmanr([sizes[data] for data in gains], [gains[data].mean for data in gains])
    rho, chance = float(test.statistic), float(test.pvalue)
    verdict: Verdict = "unclear" if chance > 0.05 else "holds" if rho < 0 else "does not hold"
    return f"rank correlation of gain and rows {rho:+.2f} over {len(gains)} tables (p = {chance:.2f})", verdict


EXPERIMENT = Experiment(
    "Figure 3, top: HS against reg-HS, factorized, 50 units (protein: 100)",
    "The regularized horseshoe leads to consistent improvements over the horseshoe, more so on smaller data sets.",
    trials,
    fit_table,
    find,
    RECORDS,
)
