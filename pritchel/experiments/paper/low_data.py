"""Figure 3, bottom right: VMG and structured reg-HS with a tenth of the rows to train on."""

from pathlib import Path

import numpy as np

from pritchel.experiments.paper.drawing import interval_panels
from pritchel.experiments.paper.settings import NAMES, SETTINGS, WIDE
from pritchel.experiments.paper.shrinkage import STRUCTURED
from pritchel.experiments.paper.tables import (
    QUICK_TABLES,
    RECORDS,
    Record,
    by_split,
    differences,
    fit_table,
    relative_improvements,
    table_keys,
    train_rows,
)
from pritchel.experiments.paper.vmg import VMG
from pritchel.experiments.records import Key
from pritchel.experiments.reproduce import Check, Experiment, Finding
from pritchel.experiments.statistics import count_tables, judge_tables

TABLES = ("yacht", "boston", "energy")
NUM_SPLITS = 20
GAINS = {"ll": "log-likelihood, reg-HS less VMG", "rmse": "relative improvement of RMSE, reg-HS over VMG"}


def trials(quick: bool) -> list[Key]:
    """Both methods on twenty random tenths of the three smallest tables."""
    methods = []
    for settings in SETTINGS:
        methods.append(VMG | {"settings": settings, "rows": "tenth"})
        methods.append(STRUCTURED | {"settings": settings, "rows": "tenth", "units": WIDE})
    return table_keys(methods, NUM_SPLITS, quick, QUICK_TABLES[:1] if quick else TABLES)


def find(records: list[Record], folder: Path) -> Finding:
    """Whether reg-HS has the better log-likelihood where rows are few."""
    sizes = train_rows(records)
    checks, rows, panels = [], [], {"ll": {}, "rmse": {}}
    for settings in SETTINGS:
        of = {
            (name, metric): by_split(records, metric, settings=settings, **method)
            for name, method in {"vmg": VMG, "reg": STRUCTURED}.items()
            for metric in ("ll", "rmse", "constant_rmse")
        }
        panels["ll"][settings] = differences(of["reg", "ll"], of["vmg", "ll"])
        panels["rmse"][settings] = relative_improvements(of["reg", "rmse"], of["vmg", "rmse"], lower_is_better=True)
        for metric, name in GAINS.items():
            gain = panels[metric][settings]
            if not gain:
                continue
            claim = f"reg-HS has the better {'log-likelihood' if metric == 'll' else 'RMSE'}"
            checks.append(Check(claim, settings, f"{name}: {count_tables(gain)}", judge_tables(gain)))
        for data in panels["ll"][settings]:
            means = [
                f"{np.mean(list(of[name, metric][data].values())):.4g}"
                for metric, name in (("ll", "vmg"), ("ll", "reg"), ("rmse", "vmg"), ("rmse", "reg"))
            ]
            constant = f"{np.mean(list(of['reg', 'constant_rmse'][data].values())):.4g}"
            label = (NAMES[settings], f"{data} ({sizes[data]})", str(panels["ll"][settings][data].num))
            rows.append((*label, *means, constant, str(panels["ll"][settings][data])))
    title = f"A tenth of the rows ({', '.join(map(str, sizes.values()))}) to train on. Above zero: reg-HS is better."
    named = {GAINS[metric]: series for metric, series in panels.items()}
    figure = interval_panels(named, sizes, title, folder / "low_data.png")
    columns = ("settings", "table (rows)", "repeats", "LL, VMG", "LL, reg-HS", "RMSE, VMG", "RMSE, reg-HS")
    return Finding.of_checks([figure], checks, (*columns, "RMSE, constant", "LL, reg-HS less VMG"), tuple(rows))


EXPERIMENT = Experiment(
    "Figure 3, bottom right: VMG against structured reg-HS with a tenth of the rows",
    "In limited data regimes the shrinkage of reg-HS leads to clear improvements in predictive performance over VMG.",
    trials,
    fit_table,
    find,
    RECORDS,
)
