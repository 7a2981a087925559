"""Figure 3, bottom right: VMG and structured reg-HS with a tenth of the rows to train on."""

import numpy as np

from pritchel.experiments.paper.settings import NAMES, SETTINGS, WIDE
from pritchel.experiments.paper.shrinkage import STRUCTURED
from pritchel.experiments.paper.tables import (
    QUICK_TABLES,
    RECORDS,
    ByTable,
    differences,
    fit_table,
    relative_improvements,
    scores_by_method,
    table_keys,
    train_rows,
)
from pritchel.experiments.paper.vmg import VMG
from pritchel.experiments.records import Key, Record
from pritchel.experiments.reproduce import Check, Experiment, Finding
from pritchel.experiments.statistics import count_tables, judge_tables

TABLES = ("yacht", "boston", "energy")
NUM_SPLITS = 20
METHODS, METRICS = {"vmg": VMG, "reg": STRUCTURED}, ("ll", "rmse", "constant_rmse")
GAINS = {"ll": "log-likelihood, reg-HS less VMG", "rmse": "relative improvement of RMSE, reg-HS over VMG"}


def trials(quick: bool) -> list[Key]:
    """Both methods on twenty random tenths of the three smallest tables."""
    methods = []
    for settings in SETTINGS:
        methods.append(VMG | {"settings": settings, "rows": "tenth"})
        methods.append(STRUCTURED | {"settings": settings, "rows": "tenth", "units": WIDE})
    return table_keys(methods, NUM_SPLITS, quick, QUICK_TABLES[:1] if quick else TABLES)


def gains(records: list[Record]) -> dict[str, dict[str, ByTable]]:
    """What reg-HS gains over VMG, as `GAINS` has it: by metric, kind of settings and table."""
    found: dict[str, dict[str, ByTable]] = {metric: {} for metric in GAINS}
    for settings in SETTINGS:
        of = scores_by_method(records, settings, METHODS, METRICS)
        found["ll"][settings] = differences(of["reg", "ll"], of["vmg", "ll"])
        found["rmse"][settings] = relative_improvements(of["reg", "rmse"], of["vmg", "rmse"], lower_is_better=True)
    return found


def find(records: list[Record]) -> Finding:
    """Whether reg-HS has the better log-likelihood where rows are few."""
    sizes, gained = train_rows(records), gains(records)
    checks, rows = [], []
    for settings in SETTINGS:
        for metric, name in GAINS.items():
            gain = gained[metric][settings]
            if not gain:
                continue
            claim = f"reg-HS has the better {'log-likelihood' if metric == 'll' else 'RMSE'}"
            checks.append(Check(claim, settings, f"{name}: {count_tables(gain)}", judge_tables(gain)))
        of = scores_by_method(records, settings, METHODS, METRICS)
        for data, gain in gained["ll"][settings].items():
            shown = (("vmg", "ll"), ("reg", "ll"), ("vmg", "rmse"), ("reg", "rmse"), ("reg", "constant_rmse"))
            means = [f"{np.mean(list(of[each][data].values())):.4g}" for each in shown]
            rows.append((NAMES[settings], f"{data} ({sizes[data]})", str(gain.num), *means, str(gain)))
    columns = ("settings", "table (rows)", "repeats", "LL, VMG", "LL, reg-HS", "RMSE, VMG", "RMSE, reg-HS")
    return Finding.of_checks(checks, (*columns, "RMSE, constant", "LL, reg-HS less VMG"), tuple(rows))


EXPERIMENT = Experiment(
    "Figure 3, bottom right: VMG against structured reg-HS with a tenth of the rows",
    "In limited data regimes the shrinkage of reg-HS leads to clear improvements in predictive performance over VMG.",
    trials,
    fit_table,
    find,
    RECORDS,
)
