"""Figure 3, bottom: structured reg-HS, pruned and fine-tuned, beside VMG."""

from pathlib import Path
from typing import Any

import numpy as np

from pritchel.experiments.paper.drawing import intervals_by_table, tidy
from pritchel.experiments.paper.settings import NAMES, SETTINGS, WIDE
from pritchel.experiments.paper.shrinkage import STRUCTURED
from pritchel.experiments.paper.tables import (
    QUICK_UNITS,
    RECORDS,
    Record,
    by_split,
    differences,
    fit_table,
    table_keys,
    train_rows,
)
from pritchel.experiments.reproduce import Check, Experiment, Finding
from pritchel.experiments.statistics import count_tables, judge_tables, t_interval
from pritchel.records import Key
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
        ours: dict[str, Any] = {
            variant + metric: by_split(records, variant + metric, settings=settings, **STRUCTURED)
            for variant in VARIANTS
            for metric in ("ll", "rmse", "kept")
        }
        gaps = {variant: differences(ours[f"{variant}ll"], vmg["ll"]) for variant in VARIANTS}
        panels[settings] = gaps
        text = f"log-likelihood of the pruned network less VMG's (margin {MARGIN:g}): "
        text += count_tables(gaps["pruned."], MARGIN)
        verdict = judge_tables(gaps["pruned."], MARGIN)
        checks.append(Check("pruned structured reg-HS is competitive with VMG", settings, text, verdict))
        units = WIDE if any(record["key"]["units"] == WIDE for record in records) else QUICK_UNITS[WIDE]
        kept = {data: [count / units for count in part.values()] for data, part in ours["pruned.kept"].items()}
        rates[settings] = {data: t_interval(part) for data, part in kept.items()}
        if kept:
            worst = max(kept, key=lambda data: float(np.mean(kept[data])))
            share = {data: t_interval(0.5 - np.array(part)) for data, part in kept.items()}
            text = f"{np.mean([np.mean(part) for part in kept.values()]):.1%} of the units kept on average, at most "
            text += f"{np.mean(kept[worst]):.1%} ({worst}); less than half: {count_tables(share)}"
            checks.append(Check("it is compressed to less than half its units", settings, text, judge_tables(share)))
        moved = differences(ours["tuned.ll"], ours["pruned.ll"])
        gap = {data: t_interval([abs(part.mean)]) for data, part in moved.items()}
        if moved:
            largest = max(gap, key=lambda data: gap[data].mean)
            is_small = max(part.mean for part in gap.values()) < MARGIN
            text = f"log-likelihood, fine-tuned less pruned: mean {np.mean([m.mean for m in moved.values()]):+.3f}, "
            text += f"largest change {moved[largest]} ({largest}); small is below {MARGIN:g} on every table"
            verdict = "holds" if is_small else "does not hold"
            checks.append(Check("fine-tuning changes little", settings, text, verdict))
        for data in sizes:
            if data in gaps["pruned."]:
                scores = []
                for part in (vmg["ll"], ours["ll"], ours["pruned.ll"], ours["tuned.ll"], vmg["rmse"]):
                    scores.append(f"{np.mean(list(part[data].values())):.4g}")
                scores.append(f"{np.mean(list(ours['pruned.rmse'][data].values())):.4g}")
                rows.append((NAMES[settings], data, *scores, f"{np.mean(kept[data]):.1%}"))
    original = by_split(records, "ll", settings="original", **VMG)
    if original:
        gain = differences(original, by_split(records, "ll", settings="paper", **VMG))
        text = "log-likelihood of VMG with Gamma(6, 6) on targets in original units less in standard units: "
        text += count_tables(gain)
        checks.append(Check("VMG is better with its authors' noise prior", "VMG's own", text, judge_tables(gain)))
    figure = _figure(panels, rates, sizes, folder / "vmg.png")
    columns = ("settings", "table", "LL, VMG", "LL, 500 units", "LL, pruned", "LL, fine-tuned")
    return Finding.of_checks([figure], checks, (*columns, "RMSE, VMG", "RMSE, pruned", "units kept"), tuple(rows))


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
        axis.bar(
            [names.index(data) for data in own], [100 * part.mean for part in own.values()], color=ALIVE, width=0.5
        )
        for data, part in own.items():
            axis.annotate(
                f"{part.mean:.1%}", (names.index(data), 100 * part.mean), ha="center", va="bottom", fontsize=8
            )
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
