"""Beyond the paper: units that are in or out by a variable of their own, beside those pruned by a threshold."""

from typing import Any, NamedTuple

import numpy as np

from pritchel.data.sources import load_uci
from pritchel.experiments.paper.settings import make_estimator
from pritchel.experiments.paper.tables import (
    QUICK_TABLES,
    BySplit,
    ByTable,
    by_split,
    differences,
    paired,
    scores_and_units,
    table_keys,
)
from pritchel.experiments.records import Key, Record
from pritchel.experiments.reproduce import Check, Experiment, Finding
from pritchel.experiments.statistics import all_hold, count_tables, judge_tables, t_interval

TABLES = ("yacht", "boston", "energy", "concrete", "wine")
NUM_SPLITS, UNITS = 3, 100
QUICK_UNITS, QUICK_STEPS = 20, 300

THRESHOLD, SPIKE_SLAB = "regularized_horseshoe", "spike_slab"
NAMES = {THRESHOLD: "reg-HS, threshold", SPIKE_SLAB: "spike and slab"}
# The numbers that each asks for: the default, about a third and three times of it, and what else one would try. With
# those of the prior a network is fitted anew; the cuts are taken of one fit.
LAYER_SCALES, LAYER_SCALE = (3e-6, 1e-5, 3e-5), 1e-5
INCLUSIONS, INCLUSION = (0.006, 0.02, 0.06, 0.2, 0.5), 0.02
SPIKE_SCALES, SPIKE_SCALE = (3e-4, 1e-3, 3e-3), 1e-3
CUTS = {THRESHOLD: (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 1e-1), SPIKE_SLAB: (0.1, 0.5, 0.9)}
NEAR = 4  # numbers are compared by what changes while they are within this factor of their defaults
CUT = {THRESHOLD: "0.001", SPIKE_SLAB: "0.5"}
CUT_ARGUMENT = {THRESHOLD: "threshold", SPIKE_SLAB: "probability"}
LL_MARGIN, UNITS_MARGIN = 0.1, 5.0


class Number(NamedTuple):
    """One number that a method asks for."""

    prior: str
    name: str  # as it stands in records: of the prior, or "cut"
    text: str
    values: tuple[float, ...]
    default: float

    def near(self) -> list[float]:
        """The values about the default."""
        return [value for value in self.values if self.default / NEAR <= value <= self.default * NEAR]


NUMBERS = {
    "layer_scale": Number(THRESHOLD, "layer_scale", "layer scale", LAYER_SCALES, LAYER_SCALE),
    "threshold": Number(THRESHOLD, "cut", "threshold", CUTS[THRESHOLD], 1e-3),
    "inclusion": Number(SPIKE_SLAB, "inclusion", "inclusion probability", INCLUSIONS, INCLUSION),
    "spike_scale": Number(SPIKE_SLAB, "spike_scale", "spike scale", SPIKE_SCALES, SPIKE_SCALE),
    "out": Number(SPIKE_SLAB, "cut", "P(out) at which a unit goes", CUTS[SPIKE_SLAB], 0.5),
}
STRUCTURED, FACTORIZED = "structured", "factorized"


def _threshold(layer_scale: float = LAYER_SCALE) -> dict[str, Any]:
    return {"prior": THRESHOLD, "with": {"layer_scale": layer_scale}}


def _spike_slab(inclusion: float = INCLUSION, spike_scale: float = SPIKE_SCALE) -> dict[str, Any]:
    return {"prior": SPIKE_SLAB, "with": {"inclusion": inclusion, "spike_scale": spike_scale}}


def methods() -> list[dict[str, Any]]:
    """Every prior with every number, one at a time; with factorized posteriors only those of the first concern."""
    structured = [_threshold(scale) for scale in LAYER_SCALES]
    structured += [_spike_slab(share) for share in INCLUSIONS]
    structured += [_spike_slab(spike_scale=scale) for scale in SPIKE_SCALES if scale != SPIKE_SCALE]
    factorized = [_threshold(), *(_spike_slab(share) for share in (INCLUSION, 0.5))]
    common = {"settings": "ours", "units": UNITS}
    return [
        method | common | {"family": family}
        for family, chosen in ((STRUCTURED, structured), (FACTORIZED, factorized))
        for method in chosen
    ]


def trials(quick: bool) -> list[Key]:
    """Every method on three splits of every table; the first splits of all tables come first."""
    keys = table_keys(methods(), NUM_SPLITS, quick, QUICK_TABLES if quick else TABLES)
    if quick:
        changes = {"units": QUICK_UNITS, "steps": QUICK_STEPS}
        keys = [key | changes for key in keys if key["family"] == STRUCTURED and key["data"] == QUICK_TABLES[0]]
        keys = [key for key in keys if key["split"] == 0]
    return sorted(keys, key=lambda key: key["split"])


def run(key: Key) -> dict[str, Any]:
    """Scores of the fit as it is, and of what every cut leaves of it."""
    train_X, train_y, test_X, test_y = load_uci(key["data"]).split(key["split"])
    estimator = make_estimator(key, len(train_y))
    estimator.set_params(**{f"prior__{name}": value for name, value in key["with"].items()}).fit(train_X, train_y)
    cuts = {}
    for cut in CUTS[key["prior"]]:
        pruned = estimator.prune(**{CUT_ARGUMENT[key["prior"]]: cut})
        cuts[f"{cut:g}"] = scores_and_units(pruned, test_X, test_y)
    whole = scores_and_units(estimator, test_X, test_y)
    return {**whole, "train_rows": len(train_y), "collapsed": estimator.is_collapsed_, "cut": cuts}


def of_number(
    records: list[Record], number: Number, value: float, metric: str, family: str = STRUCTURED, is_pruned: bool = True
) -> dict[str, BySplit]:
    """A metric of the network, pruned or whole, by table and split, where one number has a value and the others their
    defaults.
    """
    changed = {} if number.name == "cut" else {number.name: value}
    method = _threshold(**changed) if number.prior == THRESHOLD else _spike_slab(**changed)
    cut = f"{value:g}" if number.name == "cut" else CUT[number.prior]
    if is_pruned:
        records = [{**record, "result": record["result"]["cut"].get(cut)} for record in records]
    return by_split(records, metric, family=family, **method)


def spread(records: list[Record], number: Number, metric: str, family: str = STRUCTURED) -> dict[str, BySplit]:
    """The largest less the smallest value of a metric about a number's default, a split each; of units kept, of the log
    of one more than those.
    """
    values = number.near()
    found: dict[str, dict[int, list[float]]] = {}
    for value in values:
        for data, splits in of_number(records, number, value, metric, family).items():
            for split, figure in splits.items():
                one = float(np.log1p(figure)) if metric == "kept" else figure
                found.setdefault(data, {}).setdefault(split, []).append(one)
    return {
        data: {split: max(of) - min(of) for split, of in splits.items() if len(of) == len(values)}
        for data, splits in found.items()
    }


def defaults(records: list[Record], metric: str, family: str = STRUCTURED) -> dict[str, dict[str, BySplit]]:
    """A metric of both methods with their defaults: by prior, then table and split."""
    numbers = {THRESHOLD: NUMBERS["threshold"], SPIKE_SLAB: NUMBERS["inclusion"]}
    return {prior: of_number(records, number, number.default, metric, family) for prior, number in numbers.items()}


def find(records: list[Record]) -> Finding:
    """Whether the spike and slab predicts as well, keeps as few units, and asks for a number that matters less."""
    checks = []
    for family in (STRUCTURED, FACTORIZED):
        ll, kept = (defaults(records, metric, family) for metric in ("ll", "kept"))
        gain = differences(ll[SPIKE_SLAB], ll[THRESHOLD])
        fewer = differences(kept[THRESHOLD], kept[SPIKE_SLAB])
        if gain:
            checks += [
                _check(f"it predicts as well ({family})", "log-likelihood, pruned, spike and slab less reg-HS", gain,
                       LL_MARGIN),
                _check(f"it keeps no more units ({family})", "units kept, reg-HS less spike and slab", fewer,
                       UNITS_MARGIN),
            ]  # fmt: skip
    for metric, text in (("kept", "units kept"), ("ll", "the log-likelihood")):
        own = spread(records, NUMBERS["inclusion"], metric)
        for name in ("threshold", "layer_scale"):
            gaps = differences(spread(records, NUMBERS[name], metric), own)
            if gaps:
                other = NUMBERS[name].text
                claim = f"{text} depend{'s' * (metric == 'll')} less on its number than on the {other}"
                what = f"largest less smallest {'ln of units' if metric == 'kept' else 'log-likelihood'} "
                checks.append(
                    _check(claim, f"{what}within a factor of 3.3 of the default, {other} less inclusion", gaps)
                )
    statistic = " ".join(f"{check.claim}: {check.statistic} ({check.verdict})." for check in checks)
    return Finding(statistic, all_hold([check.verdict for check in checks]), COLUMNS, _rows(records), tuple(checks))


def _check(claim: str, text: str, intervals: ByTable, margin: float = 0.0) -> Check:
    allowed = f" (margin {margin:g})" if margin else ""
    statistic = f"{text}{allowed}: {count_tables(intervals, margin)}; mean {_mean(intervals):+.3g}"
    return Check(claim, "ours", statistic, judge_tables(intervals, margin))


def _mean(intervals: ByTable) -> float:
    return float(np.mean([interval.mean for interval in intervals.values()]))


COLUMNS = ("posterior", "number", "value", "units kept, by table", "log-likelihood less reg-HS's, pruned", "unpruned",
           "ln of RMSE over reg-HS's, pruned")  # fmt: skip


def _rows(records: list[Record]) -> tuple[tuple[str, ...], ...]:
    """A row for every value of every number: units kept on each table, and the mean score over tables."""
    rows = []
    for family in (STRUCTURED, FACTORIZED):
        base, rmse = (defaults(records, metric, family)[THRESHOLD] for metric in ("ll", "rmse"))
        for number in NUMBERS.values():
            for value in number.values:
                kept = of_number(records, number, value, "kept", family)
                if kept:
                    units = ", ".join(f"{data} {np.mean(list(splits.values())):.0f}" for data, splits in kept.items())
                    gains = [
                        _over_tables(of_number(records, number, value, "ll", family, is_pruned), base)
                        for is_pruned in (True, False)
                    ]
                    gains.append(_over_tables(of_number(records, number, value, "rmse", family), rmse, np.log))
                    rows.append((family, f"{NAMES[number.prior]}: {number.text}", f"{value:g}", units, *gains))
    return tuple(rows)


def _over_tables(first: dict[str, BySplit], second: dict[str, BySplit], of: Any = np.asarray) -> str:
    """The interval over tables of their mean differences, of the scores or of a function of them."""
    pairs = paired(first, second)
    return str(t_interval([float(np.mean(of(a) - of(b))) for a, b in pairs.values()])) if pairs else ""


EXPERIMENT = Experiment(
    "Beyond the paper: inclusion variables beside a threshold",
    "Inclusion variables, as the field has them since, find as small a network as a threshold does, predict as well, "
    "and ask for a number that matters less.",
    trials,
    run,
    find,
)
