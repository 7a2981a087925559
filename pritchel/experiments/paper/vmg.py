"""Figure 3, bottom: structured reg-HS, pruned and fine-tuned, beside VMG."""

import numpy as np

from pritchel.experiments.paper.settings import NAMES, SETTINGS, WIDE
from pritchel.experiments.paper.shrinkage import STRUCTURED
from pritchel.experiments.paper.tables import (
    RECORDS,
    BySplit,
    ByTable,
    by_split,
    differences,
    fit_table,
    table_keys,
)
from pritchel.experiments.records import Key, Record, matching
from pritchel.experiments.reproduce import Check, Experiment, Finding
from pritchel.experiments.statistics import Interval, all_hold, count_tables, judge_tables, t_interval

VMG = {"prior": "gaussian", "family": "vmg"}
NUM_SPLITS = 5
MARGIN = 0.1  # nats a row that still count as competitive
VARIANTS = {"": "all units", "pruned.": "pruned", "tuned.": "pruned and fine-tuned"}


def trials(quick: bool) -> list[Key]:
    """VMG with the protocol's 50 units, also with its authors' noise prior; structured reg-HS with 500."""
    kinds = SETTINGS if quick else (*SETTINGS, "original")
    vmg = [VMG | {"settings": settings} for settings in kinds]
    structured = [STRUCTURED | {"settings": settings, "units": WIDE} for settings in SETTINGS]
    return table_keys(structured, NUM_SPLITS, quick) + table_keys(vmg, NUM_SPLITS, quick)


def gains(records: list[Record], settings: str) -> dict[str, ByTable]:
    """Log-likelihood of structured reg-HS less VMG's, by variant and table."""
    vmg = by_split(records, "ll", settings=settings, **VMG)
    own = {variant: by_split(records, f"{variant}ll", settings=settings, **STRUCTURED) for variant in VARIANTS}
    return {variant: differences(part, vmg) for variant, part in own.items()}


def shares_kept(records: list[Record], settings: str) -> dict[str, np.ndarray]:
    """The part of its units that pruning leaves a network, by table, an entry a split."""
    units = max((record["key"]["units"] for record in matching(records, family="structured")), default=1)
    kept = by_split(records, "pruned.kept", settings=settings, **STRUCTURED)
    return {data: np.array(list(part.values())) / units for data, part in kept.items()}


def find(records: list[Record]) -> Finding:
    """Whether the pruned network predicts as well as VMG, how small it is, and whether fine-tuning matters."""
    checks, rows = [], []
    for settings in SETTINGS:
        tables = gains(records, settings)["pruned."]
        if not tables:
            continue
        kept = shares_kept(records, settings)
        vmg, own = (
            {metric: by_split(records, metric, settings=settings, **method) for metric in metrics}
            for method, metrics in ((VMG, ("ll", "rmse")), (STRUCTURED, ("ll", "pruned.ll", "tuned.ll", "pruned.rmse")))
        )
        checks.append(_competitive(own["pruned.ll"], vmg["ll"], settings, "VMG"))
        checks += [_compressed(kept, settings), _tuned(differences(own["tuned.ll"], own["pruned.ll"]), settings)]
        for data in tables:
            splits = sorted(vmg["ll"][data].keys() & own["ll"][data].keys())
            shown = (vmg["ll"], own["ll"], own["pruned.ll"], own["tuned.ll"], vmg["rmse"], own["pruned.rmse"])
            means = [f"{np.mean([part[data][split] for split in splits]):.4g}" for part in shown]
            rows.append((NAMES[settings], data, str(len(splits)), *means, f"{kept[data].mean():.1%}"))
    original = by_split(records, "ll", settings="original", **VMG)
    if original:
        own_ll = by_split(records, "pruned.ll", settings="paper", **STRUCTURED)
        checks.append(_competitive(own_ll, original, "VMG's own", "VMG with its authors' noise prior"))
    columns = ("settings", "table", "splits", "LL, VMG", "LL, all units", "LL, pruned", "LL, fine-tuned")
    return Finding.of_checks(checks, (*columns, "RMSE, VMG", "RMSE, pruned", "units kept"), tuple(rows))


def _competitive(own: dict[str, BySplit], vmg: dict[str, BySplit], settings: str, name: str) -> Check:
    gap = differences(own, vmg)
    text = f"log-likelihood of the pruned network less VMG's (margin {MARGIN:g}): {count_tables(gap, MARGIN)}"
    return Check(f"pruned structured reg-HS is competitive with {name}", settings, text, judge_tables(gap, MARGIN))


def _compressed(kept: dict[str, np.ndarray], settings: str) -> Check:
    """Most units go: less than half is kept."""
    share = {data: t_interval(0.5 - part) for data, part in kept.items()}
    most = max(kept, key=lambda data: float(kept[data].mean()))
    text = f"{np.mean([part.mean() for part in kept.values()]):.1%} of the units kept on average, at most "
    text += f"{kept[most].mean():.1%} ({most}); half less the part kept: {count_tables(share)}"
    return Check("it is compressed to less than half its units", settings, text, judge_tables(share))


def _tuned(moved: ByTable, settings: str) -> Check:
    """Little: neither a gain nor a loss beyond the margin."""
    largest = max(moved, key=lambda data: abs(moved[data].mean))
    back = {data: Interval(-part.mean, -part.high, -part.low, part.num) for data, part in moved.items()}
    text = (
        f"log-likelihood, fine-tuned less pruned (margin {MARGIN:g}): no loss: {count_tables(moved, MARGIN)}; no gain: "
    )
    text += f"{count_tables(back, MARGIN)}; largest change {moved[largest]} ({largest})"
    verdict = all_hold([judge_tables(moved, MARGIN), judge_tables(back, MARGIN)])
    return Check("fine-tuning changes little", settings, text, verdict)


EXPERIMENT = Experiment(
    "Figure 3, bottom: structured reg-HS with pruning against VMG",
    "Structured reg-HS is competitive with VMG while pruning away most of its units, and fine-tuning what is left "
    "does not significantly change its predictions.",
    trials,
    fit_table,
    find,
    RECORDS,
)
