"""Fits of the UCI tables that several experiments share: what is fitted, what is recorded, how it is compared."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from pritchel.data.sources import available_tables, load_uci
from pritchel.estimators.regressor import HorseshoeRegressor
from pritchel.experiments.paper.measures import NUM_SMALLEST as NUM_NORMS
from pritchel.experiments.paper.measures import unit_measures
from pritchel.experiments.paper.settings import NARROW, WIDE, make_estimator
from pritchel.experiments.records import Key, Record, matching
from pritchel.experiments.scores import constant_scores, estimator_scores
from pritchel.experiments.statistics import Interval, t_interval
from pritchel.guide.prune_rule import THRESHOLD

RECORDS = "tables"
# Both have eight inputs: they share what is compiled.
QUICK_TABLES, QUICK_SPLITS, QUICK_STEPS = ("energy", "concrete"), 2, 300
QUICK_UNITS = {NARROW: 20, WIDE: 24}
FEWER_SPLITS = {"protein": 5, "year": 1}
YEAR_THRESHOLD = 1e-5
FINE_TUNE_STEPS = 1000
HEAVY_TAILS = 0.3  # of the standard deviation of y, times Student-t noise of two degrees of freedom

BySplit = dict[int, float]
ByTable = dict[str, Interval]


def tables(quick: bool) -> tuple[str, ...]:
    """Names of the tables, smallest first."""
    return QUICK_TABLES if quick else available_tables()


def narrow_units(data: str) -> int:
    """Units of the protocol: 50, and 100 for the two largest tables."""
    return 2 * NARROW if data in FEWER_SPLITS else NARROW


def table_keys(
    methods: Iterable[Mapping[str, Any]], num_splits: int, quick: bool, names: Iterable[str] | None = None
) -> list[Key]:
    """Trials of every method on every table; the first five splits of all tables come before the rest.

    A method gives `prior`, `family`, `units` (None: those of the protocol) and `settings`.
    """
    keys = []
    for rank, data in enumerate(names or tables(quick)):
        for split in range(min(num_splits, QUICK_SPLITS if quick else FEWER_SPLITS.get(data, num_splits))):
            for method in methods:
                key = {"data": data, "split": split, "rows": "most", "units": None, **method}
                key["units"] = key["units"] or narrow_units(data)
                key["steps"] = QUICK_STEPS if quick else None
                if quick:
                    key["units"] = QUICK_UNITS.get(key["units"], key["units"])
                keys.append(((split // 5, rank, split), key))
    return [key for _, key in sorted(keys, key=lambda pair: pair[0])]


def fit_table(key: Key) -> dict[str, Any]:
    """Fit one split and score it: the network as fitted and, where it is wide and structured, pruned and fine-tuned."""
    train_X, train_y, test_X, test_y = load_uci(key["data"]).split(key["split"])
    if key["rows"] == "tenth":  # train on what the split holds out: a tenth of the rows
        train_X, train_y, test_X, test_y = test_X, test_y, train_X, train_y
    if key.get("targets") == "heavy_tailed":
        rng = np.random.default_rng(key["split"])
        train_y = train_y + HEAVY_TAILS * train_y.std() * rng.standard_t(2, len(train_y))
    estimator = make_estimator(key, len(train_y), float(train_y.std())).fit(train_X, train_y)
    constant = constant_scores(train_y, test_y)
    norms = np.sort(estimator.weight_norms_[0][0])
    result: dict[str, Any] = {
        **scores_and_units(estimator, test_X, test_y),
        "train_rows": len(train_y),
        "constant_rmse": _digits(constant.rmse),
        "constant_ll": _digits(constant.log_likelihood),
        "collapsed": estimator.is_collapsed_,
        "smallest_norms": [_digits(norm, 3) for norm in norms[:NUM_NORMS]],
        "largest_norms": [_digits(norm, 3) for norm in norms[NUM_NORMS:][-NUM_NORMS:]],
    }
    if "options" in key:  # of a map of conditions
        return result | (_measures(estimator, train_X) if key["prior"] != "gaussian" else {})
    is_wide = key["units"] in (WIDE, QUICK_UNITS[WIDE])
    if key["family"] == "structured" and is_wide and key["rows"] == "most":
        threshold = YEAR_THRESHOLD if key["data"] == "year" else THRESHOLD
        steps = FINE_TUNE_STEPS if key["steps"] is None else key["steps"] // 4
        pruned = estimator.prune(threshold)
        result["pruned"] = scores_and_units(pruned, test_X, test_y)
        tuned = estimator.prune(threshold, fine_tune_steps=steps) if pruned.prune_report_[0].kept[0] else pruned
        result["tuned"] = scores_and_units(tuned, test_X, test_y)
    return result


def scores_and_units(estimator: HorseshoeRegressor, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Scores on test rows, and the units of the first hidden layer that are kept, as they go on record."""
    scores = estimator_scores(estimator, X, y)
    report = getattr(estimator, "prune_report_", None)
    return {
        "rmse": _digits(scores.rmse),
        "ll": _digits(scores.log_likelihood),
        "coverage": round(scores.coverage, 3),
        "kept": int(report[0].kept[0] if report is not None else estimator.units_kept_[0, 0]),
    }


def _measures(estimator: HorseshoeRegressor, train_X: np.ndarray) -> dict[str, Any]:
    """What its units come to, at rows that it was trained on."""
    posterior = estimator.posterior_
    return unit_measures(posterior.members[0], posterior.standardizer.scale_inputs(train_X))


def _digits(value: float, num: int = 5) -> float:
    return float(f"{value:.{num}g}")


def by_split(records: list[Record], metric: str, **match: Any) -> dict[str, BySplit]:
    """A metric ("ll", "pruned.ll") by table and split, of the records whose key has the given entries."""
    found: dict[str, BySplit] = {}
    for record in matching(records, **match):
        key, value = record["key"], record["result"]
        for part in metric.split("."):
            value = value[part]
        found.setdefault(key["data"], {})[key["split"]] = value
    return found


def scores_by_method(
    records: list[Record], settings: str, methods: Mapping[str, Mapping[str, str]], metrics: Iterable[str]
) -> dict[tuple[str, str], dict[str, BySplit]]:
    """Metrics by (method, metric), then table and split, under one kind of settings."""
    return {
        (name, metric): by_split(records, metric, settings=settings, **method)
        for name, method in methods.items()
        for metric in metrics
    }


def paired(first: dict[str, BySplit], second: dict[str, BySplit]) -> dict[str, np.ndarray]:
    """Values of both, by table: (2, splits), of the splits that both have."""
    pairs = {}
    for data in first:
        splits = sorted(first[data].keys() & second.get(data, {}).keys())
        if splits:
            pairs[data] = np.array([[part[data][split] for split in splits] for part in (first, second)])
    return pairs


def differences(first: dict[str, BySplit], second: dict[str, BySplit]) -> ByTable:
    """The interval of first minus second, by table."""
    return {data: t_interval(a - b) for data, (a, b) in paired(first, second).items()}


def relative_improvements(
    first: dict[str, BySplit], second: dict[str, BySplit], *, lower_is_better: bool = False
) -> ByTable:
    r"""The interval of how much the first is better, $(x - y) / \max(|x|, |y|)$, by table."""
    sign = -1 if lower_is_better else 1
    return {
        data: t_interval(sign * (a - b) / np.maximum(np.abs(a), np.abs(b)))
        for data, (a, b) in paired(first, second).items()
    }


def train_rows(records: list[Record]) -> dict[str, int]:
    """Training rows of each table on record, fewest first."""
    sizes = {record["key"]["data"]: record["result"]["train_rows"] for record in records}
    return dict(sorted(sizes.items(), key=lambda item: item[1]))
