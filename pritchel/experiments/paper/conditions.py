"""Maps of conditions: one comparison under many choices that the paper leaves open, judged choice by choice."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pritchel.data.sources import UCI
from pritchel.experiments.paper.settings import NARROW
from pritchel.experiments.paper.tables import QUICK_TABLES, QUICK_UNITS
from pritchel.experiments.records import Key, Record
from pritchel.experiments.reproduce import Check, Finding
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
FEWEST = 2  # conditions that count: one alone may be chance
MAP_RULE = (
    "Under one condition the differences of all tables and splits, paired, make one 95 % t interval; the claim holds, "
    "does not hold or is unclear as above. Where no pair differs to any use it says so. A map as a whole depends on "
    "the conditions where at least two of them decide for the claim and at least two against it or for no difference; "
    "else it does not hold where at least two are against it, and holds where more than half are for it and none is "
    "against. Where few pairs are on record intervals are wide, and of many conditions one or another is decided by "
    "chance."
)


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
    ordered = {_text(key): key for _, key in sorted(placed, key=lambda pair: pair[0])}
    return list(ordered.values())


def _text(key: Key) -> str:
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
    results = {_text(record["key"]): record["result"] for record in records}
    found = []
    for cell in comparison.concerned(cells):
        pairs = {}
        for quick in (False, True):
            for data, split in cell.places(quick):
                first, second = (results.get(_text(key)) for key in comparison.keys(cell, data, split, quick))
                if first is not None and second is not None:
                    pairs[data, split] = (first, second)
        if pairs:
            found.append(Found(cell, comparison, pairs))
    return found


def once(found: Iterable[Found]) -> list[Found]:
    """Every condition once, on the tables that all of them have."""
    return [each for each in found if not each.cell.is_repeated]


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of a map from those of its conditions."""
    seen = list(verdicts)
    num_for, num_against, num_alike = (seen.count(each) for each in ("holds", "does not hold", "no difference"))
    if num_for >= FEWEST and max(num_against, num_alike) >= FEWEST:
        return "depends"
    if num_against >= FEWEST:
        return "does not hold"
    if 2 * num_for > len(seen) and not num_against:
        return "holds"
    return "no difference" if 2 * num_alike > len(seen) and not num_for + num_against else "unclear"


def places_in_words(found: list[Found], cells: Sequence[Cell], defaults: str) -> tuple[tuple[str, str], ...]:
    """Where a claim holds, where not, how our defaults stand, and what is not on record: titles and sentences."""
    names: dict[str, list[str]] = {}
    for each in once(found):
        names.setdefault(each.verdict, []).append(each.cell.label)
    lines = [(title, merged(names.get(verdict, []))) for verdict, title in PLACES.items()]
    turning = [_tables_in_words(each) for each in found if each.cell.is_repeated]
    lines += [("on nine tables, where it turns", "; ".join(turning))] if turning else []
    own = [each for each in found if each.cell.label == defaults]
    told = [f"{each.comparison.statistic} {each.interval} ({each.verdict})" for each in own]
    lines.append(("our defaults", f"{defaults}: {'; '.join(told) or 'not on record'}"))
    num_pairs = _num_pairs((each.cell, place) for each in found for place in each.pairs)
    num_wanted = _num_pairs((cell, place) for cell in cells for place in cell.places())
    missing = [cell.label for cell in cells if cell.label not in {each.cell.label for each in found}]
    text = f"{num_pairs} of {num_wanted} pairs, of {len(found)} of {len(cells)} conditions"
    lines.append(("on record", f"{text}. Not yet: {merged(missing)}" if missing else text))
    return tuple(lines)


def _num_pairs(placed: Iterable[tuple[Cell, tuple[str, int]]]) -> int:
    """Pairs of trials, each once: those of a condition on nine tables are partly its own on fewer."""
    return len({_text(cell.key({}, *place)) for cell, place in placed})


def _tables_in_words(found: Found) -> str:
    """What a condition comes to on all tables together, and which of them have which verdict."""
    names: dict[Verdict, list[str]] = {}
    for data, interval in found.by_table.items():
        names.setdefault(judge(interval), []).append(data)
    told = [f"{verdict} on {', '.join(names[verdict])}" for verdict in PLACES if verdict in names]
    return f"{found.cell.label}, {found.interval} ({found.verdict}): {', '.join(told)}"


def merged(labels: Sequence[str]) -> str:
    """Labels as one text; those that differ only before or only behind the last semicolon share the rest."""
    ends: dict[str, list[str]] = {}
    for label in labels:
        before, _, last = label.rpartition("; ")
        ends.setdefault(before, []).append(last)
    alike: dict[tuple[str, ...], list[str]] = {}
    for before, last in ends.items():
        alike.setdefault(tuple(last), []).append(before)
    texts = []
    for last, befores in alike.items():
        shared = [before for before in befores if before]
        texts += [f"[{' / '.join(shared)}] with {' or '.join(last)}"] if shared else []
        texts += last if "" in befores else []
    return ", ".join(texts) or "no condition on record"


PLACES: dict[Verdict, str] = {
    "holds": "holds under",
    "does not hold": "fails under",
    "no difference": "no difference under",
    "unclear": "unclear under",
}


def checks_of(found: list[Found]) -> list[Check]:
    """A check for every condition."""
    return [
        Check(
            each.comparison.claim,
            each.cell.label,
            f"{each.comparison.statistic} {each.interval}, {each.interval.num} pairs",
            each.verdict,
        )
        for each in found
    ]


def ahead_by(metric: str) -> Callable[[dict[str, Any]], float]:
    """A result's own figure."""
    return lambda result: result[metric]


def map_finding(
    records: list[Record], cells: Sequence[Cell], comparisons: Sequence[Comparison], defaults: Cell
) -> Finding:
    """What a map says: claim by claim, where it holds and where not."""
    by_claim = [look_up_pairs(records, cells, comparison) for comparison in comparisons]
    rows, under, checks = [], [], []
    for comparison, found in zip(comparisons, by_claim, strict=True):
        lines = places_in_words(found, comparison.concerned(cells), defaults.label)
        under += [(f"{comparison.claim}: {title}", text) for title, text in lines]
        under.append((f"{comparison.claim}: decided by", _decided_by(once(found))))
        checks += checks_of(found)
        for each in found:
            scores = [" / ".join(f"{value:.4g}" for value in each.means(ahead_by(metric))) for metric in ("ll", "rmse")]
            cells_of_row = (comparison.claim, each.cell.label, str(len(each.pairs)), *scores)
            rows.append((*cells_of_row, str(each.interval), each.verdict))
    verdict = overall(each.verdict for found in by_claim for each in once(found))
    columns = ("claim", "condition", "pairs", "log-likelihoods", "RMSEs", "first ahead of second by", "verdict")
    statistic = " ".join(f"{title}: {text}." for title, text in under if title.endswith("on record"))
    return Finding(statistic, verdict, columns, tuple(rows), tuple(checks), tuple(under))


def _decided_by(found: list[Found]) -> str:
    """The condition or the table, whichever the difference follows more, with the ends of both in words."""
    if len(found) < 2:
        return "too little on record"
    conditions = {each.cell.label: each.interval.mean for each in found}
    by_table: dict[str, list[float]] = {}
    for each in found:
        for data, interval in each.by_table.items():
            by_table.setdefault(data, []).append(interval.mean)
    tables = {data: float(np.mean(values)) for data, values in by_table.items()}
    ends = [
        (np.ptp(list(means.values())), name, means) for name, means in (("condition", conditions), ("table", tables))
    ]
    texts = []
    for size, name, means in sorted(ends, key=lambda end: end[0], reverse=True):
        most, least = max(means, key=lambda key: means[key]), min(means, key=lambda key: means[key])
        texts.append(f"the {name}, by {size:.2g} from {least} ({means[least]:+.2g}) to {most} ({means[most]:+.2g})")
    return "; less by ".join(texts)


def without_norms(cell: Cell, method: Mapping[str, Any]) -> Cell:
    """A condition as a family sees it: norms are of matrix normals, and nothing to those without one."""
    if method["family"] in ("structured", "semi_structured"):
        return cell
    return cell._replace(options={name: value for name, value in cell.options.items() if name != "family__unit_norm"})
