"""Figure 3, top: the regularized horseshoe beside the plain one, factorized posteriors, 50 units."""

from pathlib import Path
from typing import Any

from scipy import stats

from pritchel.experiments.paper.drawing import interval_panels
from pritchel.experiments.paper.settings import NAMES, SETTINGS
from pritchel.experiments.paper.tables import (
    RECORDS,
    Record,
    by_split,
    differences,
    fit_table,
    relative_improvements,
    table_keys,
    train_rows,
)
from pritchel.experiments.records import Key
from pritchel.experiments.reproduce import Check, Experiment, Finding
from pritchel.experiments.statistics import Interval, Verdict, count_tables, judge_tables

HS = {"prior": "horseshoe", "family": "factorized"}
REG_HS = {"prior": "regularized_horseshoe", "family": "factorized"}
NUM_SPLITS = 20


def trials(quick: bool) -> list[Key]:
    """Both priors on all splits."""
    methods = [method | {"settings": settings} for settings in SETTINGS for method in (HS, REG_HS)]
    return table_keys(methods, NUM_SPLITS, quick)


def find(records: list[Record], folder: Path) -> Finding:
    """Whether reg-HS has the better log-likelihood on the tables, and the more so the smaller they are."""
    sizes = train_rows(records)
    gains: dict[str, dict[str, dict[str, Interval]]] = {"rmse": {}, "ll": {}}
    checks, rows = [], []
    for settings in SETTINGS:
        of = {
            (name, metric): by_split(records, metric, settings=settings, **method)
            for name, method in {"hs": HS, "reg": REG_HS}.items()
            for metric in ("ll", "rmse")
        }
        for metric, series in gains.items():
            pair = of["reg", metric], of["hs", metric]
            series[settings] = relative_improvements(*pair, lower_is_better=metric == "rmse")
        absolute = {m: differences(of["reg", m], of["hs", m]) for m in ("ll", "rmse")}
        text = f"log-likelihood, reg-HS less HS: {count_tables(absolute['ll'])}"
        checks.append(Check("reg-HS is consistently better than HS", settings, text, judge_tables(absolute["ll"])))
        trend = _trend(gains["ll"][settings], sizes)
        if trend is not None:
            checks.append(Check("the gain is larger on smaller tables", settings, *trend))
        for data in sizes:
            if data in absolute["ll"]:
                ll, rmse = absolute["ll"][data], absolute["rmse"][data]
                rows.append((NAMES[settings], data, str(ll.num), str(ll), str(rmse)))
    title = "Above zero: the regularized horseshoe is better."
    named = {
        f"relative improvement of {name},\nreg-HS over HS": gains[metric]
        for metric, name in {"rmse": "RMSE", "ll": "log-likelihood"}.items()
    }
    figure = interval_panels(named, sizes, title, folder / "priors.png")
    columns = ("settings", "table", "splits", "log-likelihood, reg-HS less HS", "RMSE, reg-HS less HS")
    return Finding.of_checks([figure], checks, columns, tuple(rows))


def _trend(gains: dict[str, Interval], sizes: dict[str, int]) -> tuple[str, Verdict] | None:
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
