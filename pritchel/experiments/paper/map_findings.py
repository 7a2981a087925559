"""What a map of conditions says of a claim: where it holds, where it fails, and what decides."""

from collections.abc import Iterable, Sequence

import numpy as np

from pritchel.experiments.paper.conditions import (
    RECORDS,
    Cell,
    Comparison,
    Found,
    ahead_by,
    cell_keys,
    look_up_pairs,
    text_of,
)
from pritchel.experiments.paper.tables import fit_table
from pritchel.experiments.records import Key, Record
from pritchel.experiments.reproduce import Check, Experiment, Finding
from pritchel.experiments.statistics import Verdict, judge

FEWEST = 2  # conditions that count: one alone may be chance
MAP_RULE = (
    "Under one condition the differences of all tables and splits, paired, make one 95 % t interval; the claim holds, "
    "does not hold or is unclear as above. Where no pair differs to any use it says so. A map as a whole depends on "
    "the conditions where at least two of them decide for the claim and at least two against it or for no difference; "
    "else it does not hold where at least two are against it, and holds where more than half are for it and none is "
    "against. Where few pairs are on record intervals are wide, and of many conditions one or another is decided by "
    "chance. A condition that was run on nine tables and five splits counts with these, others with three and three."
)


def alike(found: Iterable[Found]) -> list[Found]:
    """Every condition once, on the tables that all of them have: to be compared."""
    return [each for each in found if not each.cell.is_repeated]


def fullest(found: Sequence[Found]) -> list[Found]:
    """Every condition once, on as many tables as it was run on: to be judged."""
    repeated = {_condition(each.cell) for each in found if each.cell.is_repeated}
    return [each for each in found if each.cell.is_repeated or _condition(each.cell) not in repeated]


def _condition(cell: Cell) -> str:
    return text_of(cell.key({}, "", 0))


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
    for each in fullest(found):
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
    return len({text_of(cell.key({}, *place)) for cell, place in placed})


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


def map_experiment(
    title: str, claim: str, cells: Sequence[Cell], comparisons: Sequence[Comparison], defaults: Cell
) -> Experiment:
    """All methods under every condition, and under which of them each claim holds."""

    def trials(quick: bool) -> list[Key]:
        return cell_keys(cells[:2] if quick else cells, comparisons, quick)

    def find(records: list[Record]) -> Finding:
        return map_finding(records, cells, comparisons, defaults)

    return Experiment(title, claim, trials, fit_table, find, RECORDS)


def map_finding(
    records: list[Record], cells: Sequence[Cell], comparisons: Sequence[Comparison], defaults: Cell
) -> Finding:
    """What a map says: claim by claim, where it holds and where not."""
    by_claim = [look_up_pairs(records, cells, comparison) for comparison in comparisons]
    rows, under, checks = [], [], []
    for comparison, found in zip(comparisons, by_claim, strict=True):
        lines = places_in_words(found, comparison.concerned(cells), defaults.label)
        under += [(f"{comparison.claim}: {title}", text) for title, text in lines]
        under.append((f"{comparison.claim}: decided by", _decided_by(alike(found))))
        checks += checks_of(found)
        for each in found:
            scores = [" / ".join(f"{value:.4g}" for value in each.means(ahead_by(metric))) for metric in ("ll", "rmse")]
            cells_of_row = (comparison.claim, each.cell.label, str(len(each.pairs)), *scores)
            rows.append((*cells_of_row, str(each.interval), each.verdict))
    verdict = overall(each.verdict for found in by_claim for each in fullest(found))
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
