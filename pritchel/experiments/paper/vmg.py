"""Figure 3, bottom: structured reg-HS, pruned and fine-tuned, beside VMG."""

from pathlib import Path
from typing import Any

import numpy as np

from pritchel.experiments.paper.drawing import intervals_by_table, tidy
from pritchel.experiments.paper.settings import NAMES, SETTINGS, WIDE
from pritchel.experiments.paper.shrinkage import STRUCTURED
from pritchel.experiments.paper.tables import (
    RECORDS,
    BySplit,
    Record,
    by_split,
    differences,
    fit_table,
    table_keys,
    train_rows,
)
from pritchel.experiments.records import Key
from pritchel.experiments.reproduce import Check, Experiment, Finding
from pritchel.experiments.statistics import Interval, all_hold, count_tables, judge_tables, t_interval
from pritchel.report.figures import ALIVE, BAND, DEAD

VMG = {"prior": "gaussian", "family": "vmg"}
NUM_SPLITS = 5
MARGIN = 0.1  # nats a row that still count as competitive
VARIANTS = {"": "all units", "pruned.": "pruned", "tuned.": "pruned and fine-tuned"}
COLOURS = {"": DEAD, "pruned.": ALIVE, "tuned.": BAND}


def trials(quick: bool) -> list[Key]:
    """VMG with the protocol's 50 units, also with its authors' noise prior; structured reg-HS with 500."""
    kinds = SETTINGS if quick else (*SETTINGS, "original")
    vmg = [VMG | {"settings": settings} for settings in kinds]
    structured = [STRUCTURED | {"settings": settings, "units": WIDE} for settings in SETTINGS]
    return table_keys(structured, NUM_SPLITS, quick) + table_keys(vmg, NUM_SPLITS, quick)


def find(records: list[Record], folder: Path) -> Finding:
    """Whether the pruned network predicts as well as VMG, how small it is, and whether fine-tuning matters."""
    sizes = train_rows(records)
    checks, rows, panels, rates = [], [], {}, {}
    for settings in SETTINGS:
        vmg = {metric: by_split(records, metric, settings=settings, **VMG) for metric in ("ll", "rmse")}
        own = {
            variant + metric: by_split(records, variant + metric, settings=settings, **STRUCTURED)
            for variant in VARIANTS
            for metric in ("ll", "rmse", "kept")
        }
        panels[settings] = {variant: differences(own[f"{variant}ll"], vmg["ll"]) for variant in VARIANTS}
        units = max(
            (record["key"]["units"] for record in records if record["key"]["family"] == "structured"), default=1
        )
        kept = {data: np.array(list(part.values())) / units for data, part in own["pruned.kept"].items()}
        rates[settings] = {data: float(part.mean()) for data, part in kept.items()}
        if not panels[settings]["pruned."]:
            continue
        checks.append(_competitive(own["pruned.ll"], vmg["ll"], settings, "VMG"))
        if kept:
            checks += [_compressed(kept, settings), _tuned(differences(own["tuned.ll"], own["pruned.ll"]), settings)]
        for data in panels[settings]["pruned."]:
            splits = sorted(vmg["ll"][data].keys() & own["ll"][data].keys())
            shown = (vmg["ll"], own["ll"], own["pruned.ll"], own["tuned.ll"], vmg["rmse"], own["pruned.rmse"])
            means = [f"{np.mean([part[data][split] for split in splits]):.4g}" for part in shown]
            rows.append((NAMES[settings], data, str(len(splits)), *means, f"{rates[settings][data]:.1%}"))
    original = by_split(records, "ll", settings="original", **VMG)
    if original:
        own_ll = by_split(records, "pruned.ll", settings="paper", **STRUCTURED)
        checks.append(_competitive(own_ll, original, "VMG's own", "VMG with its authors' noise prior"))
    figure = _figure(panels, rates, sizes, folder / "vmg.png")
    columns = ("settings", "table", "splits", "LL, VMG", "LL, all units", "LL, pruned", "LL, fine-tuned")
    return Finding.of_checks([figure], checks, (*columns, "RMSE, VMG", "RMSE, pruned", "units kept"), tuple(rows))


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


def _tuned(moved: dict[str, Interval], settings: str) -> Check:
    """Little: neither a gain nor a loss beyond the margin."""
    largest = max(moved, key=lambda data: abs(moved[data].mean))
    back = {data: Interval(-part.mean, -part.high, -part.low, part.num) for data, part in moved.items()}
    text = (
        f"log-likelihood, fine-tuned less pruned (margin {MARGIN:g}): no loss: {count_tables(moved, MARGIN)}; no gain: "
    )
    text += f"{count_tables(back, MARGIN)}; largest change {moved[largest]} ({largest})"
    verdict = all_hold([judge_tables(moved, MARGIN), judge_tables(back, MARGIN)])
    return Check("fine-tuning changes little", settings, text, verdict)


def _figure(panels: dict[str, Any], rates: dict[str, Any], sizes: dict[str, int], path: Path) -> Path:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 7), layout="constrained")
    axes = figure.subplots(2, len(panels), sharex=True, sharey="row", height_ratios=(3, 2))
    for axis, (settings, gaps) in zip(axes[0], panels.items(), strict=True):
        intervals_by_table(axis, gaps, sizes, colours=COLOURS, labels=VARIANTS)
        axis.set_title(NAMES[settings], fontsize=10)
        axis.set_yscale("symlog", linthresh=0.5)
    axes[0, 0].set_ylabel("test log-likelihood,\nstructured reg-HS less VMG")
    axes[0, 0].legend(frameon=False, fontsize=9)
    for axis, own in zip(axes[1], rates.values(), strict=True):
        names = list(sizes)
        axis.bar([names.index(data) for data in own], [100 * share for share in own.values()], color=ALIVE, width=0.5)
        for data, share in own.items():
            axis.annotate(f"{share:.1%}", (names.index(data), 100 * share), ha="center", va="bottom", fontsize=8)
        axis.set_xticks(range(len(names)), names, rotation=30, ha="right")
        tidy(axis)
    axes[1, 0].set_ylabel("units kept, %")
    figure.suptitle("Above zero: better than VMG (50 units, protein 100). Mean and 95 % interval", fontsize=10)
    figure.savefig(path, dpi=110)
    return path


EXPERIMENT = Experiment(
    "Figure 3, bottom: structured reg-HS with pruning against VMG",
    "Structured reg-HS is competitive with VMG while pruning away most of its units, and fine-tuning what is left "
    "does not significantly change its predictions.",
    trials,
    fit_table,
    find,
    RECORDS,
)
