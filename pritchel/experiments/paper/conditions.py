"""Maps of conditions: one comparison under many choices that the paper leaves open, and what is on record of it."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pritchel.data.sources import UCI
from pritchel.experiments.paper.settings import NARROW
from pritchel.experiments.paper.tables import QUICK_TABLES, QUICK_UNITS
from pritchel.experiments.records import Key, Record
from pritchel.experiments.statistics import Interval, Verdict, judge, t_interval

RECORDS = "conditions"
TABLES = ("yacht", "boston", "concrete")
NUM_SPLITS = 3
STEPS, SHORT, LONG = 8000, 2000, 32_000
# Rehearsals share the programs that those of the other experiments compile.
QUICK_TABLE, QUICK_STEPS = QUICK_TABLES[0], 100
PAPER, OURS, NINE = "the paper's settings", "our schedule", "nine tables"
NUM_SPLITS_OF_NINE = 5

# Where scales begin: name, and the options that say so.
STARTS: dict[str, dict[str, Any]] = {
    "product one, layer at its prior": {},
    "all near one, sd 0.01": {"training__scale_start": "ones"},
    "all near one, sd 0.1": {"training__scale_start": "ones", "training__scale_sd": 0.1},
    "drawn from the half-Cauchys": {"training__scale_start": "draws"},
    "logs uniform on (-2, 2)": {"training__scale_start": "uniform"},
}
OUR_START, NEAR_ONE = list(STARTS)[:2]


class Cell(NamedTuple):
    """One condition: its name, the part of the map it belongs to, and what it sets of a trial's key."""

    name: str
    part: str = PAPER
    options: Mapping[str, Any] = {}  # of the estimator, by nested name
    settings: str = "paper"
    steps: int = STEPS
    rows: str = "most"
    units: int = NARROW
    targets: str = "given"
    num_splits: int = NUM_SPLITS
    tables: tuple[str, ...] = TABLES

    @property
    def label(self) -> str:
        """Its name, and its part unless that is the paper's."""
        return self.name if self.part == PAPER else f"{self.name} ({self.part})"

    @property
    def is_repeated(self) -> bool:
        """Whether it is another's, on more tables and splits."""
        return self.part.endswith(NINE)

    def key(self, method: Mapping[str, Any], data: str, split: int, quick: bool = False) -> Key:
        """The trial of a method under this condition."""
        key: Key = {"data": data, "split": split, "rows": self.rows, "units": self.units, "settings": self.settings}
        key |= {"steps": self.steps, "targets": self.targets, "options": dict(self.options), **method}
        return key | {"units": QUICK_UNITS[NARROW], "steps": QUICK_STEPS * self.steps // STEPS} if quick else key

    def places(self, quick: bool = False) -> list[tuple[str, int]]:
        """The tables and splits of its trials."""
        if quick:
            return [(QUICK_TABLE, split) for split in range(2)]
        return [(data, split) for split in range(self.num_splits) for data in self.tables]


def on_nine_tables(cell: Cell) -> Cell:
    """A condition at which a claim turns, on all tables and more splits."""
    part = NINE if cell.part == PAPER else f"{cell.part}, {NINE}"
    return cell._replace(part=part, tables=UCI, num_splits=NUM_SPLITS_OF_NINE)


def repeated(cells: Iterable[Cell], labels: Iterable[str]) -> list[Cell]:
    """The conditions of these labels, on nine tables."""
    by_label = {cell.label: cell for cell in cells}
    return [on_nine_tables(by_label[label]) for label in labels]


class Comparison(NamedTuple):
    """A claim that one method is ahead of another, by one figure of their results."""

    claim: str
    statistic: str  # the difference, in words
    first: Mapping[str, Any]
    second: Mapping[str, Any]
    value: Callable[[dict[str, Any]], float]  # larger is better for the claim
    concerns: Callable[[Cell, Mapping[str, Any]], Cell] = lambda cell, method: cell  # what a method sees of a condition

    def concerned(self, cells: Iterable[Cell]) -> list[Cell]:
        """The conditions that are anything to either method."""
        return [cell for cell in cells if cell in (self.concerns(cell, self.first), self.concerns(cell, self.second))]

    def keys(self, cell: Cell, data: str, split: int, quick: bool) -> tuple[Key, Key]:
        """The trials of both methods under a condition."""
        first, second = (
            self.concerns(cell, method).key(method, data, split, quick) for method in (self.first, self.second)
        )
        return first, second


def cell_keys(cells: Sequence[Cell], comparisons: Iterable[Comparison], quick: bool) -> list[Key]:
    """Trials of all methods under all conditions, the first split of every condition before the second of any.

    What comparisons or conditions have in common is run once.
    """
    placed = []
    for comparison in comparisons:
        for rank, cell in enumerate(comparison.concerned(cells)):
            for data, split in cell.places(quick):
                placed += [((split, rank), key) for key in comparison.keys(cell, data, split, quick)]
    ordered = {text_of(key): key for _, key in sorted(placed, key=lambda pair: pair[0])}
    return list(ordered.values())


def text_of(key: Key) -> str:
    """A key as text: the same for the same trial."""
    return json.dumps(key, sort_keys=True)


class Found(NamedTuple):
    """What is on record of one comparison under one condition: results of both, paired by table and split."""

    cell: Cell
    comparison: Comparison
    pairs: dict[tuple[str, int], tuple[dict[str, Any], dict[str, Any]]]

    @property
    def interval(self) -> Interval:
        """First less second, all tables and splits together."""
        value = self.comparison.value
        return t_interval(value(first) - value(second) for first, second in self.pairs.values())

    @property
    def verdict(self) -> Verdict:
        """What the interval says of the claim."""
        return judge(self.interval)

    @property
    def by_table(self) -> dict[str, Interval]:
        """First less second, table by table."""
        value, gains = self.comparison.value, {}
        for (data, _), (first, second) in self.pairs.items():
            gains.setdefault(data, []).append(value(first) - value(second))
        return {data: t_interval(values) for data, values in gains.items()}

    def means(self, value: Callable[[dict[str, Any]], float]) -> tuple[float, float]:
        """The mean of each method."""
        first, second = np.mean([[value(part) for part in pair] for pair in self.pairs.values()], 0)
        return float(first), float(second)


def look_up_pairs(records: list[Record], cells: Iterable[Cell], comparison: Comparison) -> list[Found]:
    """Every condition of which at least one pair is on record."""
    results = {text_of(record["key"]): record["result"] for record in records}
    found = []
    for cell in comparison.concerned(cells):
        pairs = {}
        for quick in (False, True):
            for data, split in cell.places(quick):
                first, second = (results.get(text_of(key)) for key in comparison.keys(cell, data, split, quick))
                if first is not None and second is not None:
                    pairs[data, split] = (first, second)
        if pairs:
            found.append(Found(cell, comparison, pairs))
    return found


def ahead_by(metric: str) -> Callable[[dict[str, Any]], float]:
    """A result's own figure."""
    return lambda result: result[metric]


def without_norms(cell: Cell, method: Mapping[str, Any]) -> Cell:
    """A condition as a family sees it: norms are of matrix normals, and nothing to those without one."""
    if method["family"] in ("structured", "semi_structured"):
        return cell
    return cell._replace(options={name: value for name, value in cell.options.items() if name != "family__unit_norm"})
