"""Where the structured family shrinks further: start of scales, layer scale, steps, norms, squares, draws."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pritchel.experiments.paper.conditions import (
    LONG,
    NEAR_ONE,
    OUR_START,
    OURS,
    RECORDS,
    SHORT,
    STARTS,
    STEPS,
    Cell,
    Comparison,
    Found,
    cell_keys,
    look_up_pairs,
    on_nine_tables,
    without_norms,
)
from pritchel.experiments.paper.map_findings import PLACES, checks_of, fullest, merged, overall, places_in_words
from pritchel.experiments.paper.measures import NORM_FLOOR, SHARE_FLOOR
from pritchel.experiments.paper.settings import WIDE
from pritchel.experiments.paper.shrinkage import FACTORIZED, STRUCTURED
from pritchel.experiments.paper.tables import fit_table
from pritchel.experiments.records import Key, Record
from pritchel.experiments.reproduce import Experiment, Finding

UNITS = 100  # of the map; 500, as the paper has, at both bases
LAYER = {
    "learned": {"prior__learn_layer_scale": True},
    "held": {"prior__learn_layer_scale": False},
}
ONE_AT_A_TIME = {
    "no unit norms": {"family__unit_norm": False},
    "log-normal on tau squared": {"family__squared_scales": True},
    "scale draws shared by a batch": {"training__objective": "batch_sampled"},
}
BASES = (OUR_START, NEAR_ONE)
WIDER = "500 units"


def crossed(start: str, layer: str, steps: int) -> Cell:
    """A condition of the crossed part: where scales start, what becomes of the layer's, and for how long."""
    name = f"{start}; layer {layer}; {steps:,} steps"
    return Cell(name, options={**STARTS[start], **LAYER[layer]}, steps=steps, units=UNITS)


def _crossed(steps: int) -> list[Cell]:
    return [crossed(start, layer, steps) for start in STARTS for layer in LAYER]


def alone(change: str, base: str) -> Cell:
    """A base with one other choice."""
    options = {**STARTS[base], **LAYER["learned"], **ONE_AT_A_TIME[change]}
    return Cell(f"{base}; {change}", options=options, units=UNITS)


def _ours() -> list[Cell]:
    return [
        Cell(f"{start}; layer held", OURS, {**begun, **LAYER["held"]}, settings="ours", units=UNITS)
        for start, begun in STARTS.items()
    ]


def _wider() -> list[Cell]:
    return [
        Cell(f"{start}; layer learned", WIDER, {**STARTS[start], **LAYER["learned"]}, units=WIDE) for start in BASES
    ]


TURNING = [  # by the share of the output the claim holds near one and not from our start; by norms it fails near one
    *(crossed(base, "learned", STEPS) for base in BASES),
    crossed(NEAR_ONE, "learned", SHORT),
    alone("no unit norms", NEAR_ONE),
]
OTHERS = [
    *(alone(change, base) for change in ONE_AT_A_TIME for base in BASES),
    *_ours(),
    *_wider(),
    *map(on_nine_tables, TURNING),
]
CELLS = [*_crossed(STEPS), *_crossed(SHORT), *OTHERS, *_crossed(LONG)]
DEFAULTS = f"{OUR_START}; layer held ({OURS})"


def _log10(metric: str, floor: float) -> Callable[[dict[str, Any]], float]:
    """Minus the decimal logarithm, so that smaller is ahead; what is below the floor counts as the floor."""
    return lambda result: -float(np.log10(max(result[metric], floor)))


def _shrinks(claim: str, statistic: str, value: Callable[[dict[str, Any]], float]) -> Comparison:
    told = f"log10 of {statistic}, factorized less structured,"
    return Comparison(claim, told, STRUCTURED, FACTORIZED, value, without_norms)


# The paper's own picture first; then what the smallest units do, the scales, and how many are of any size.
MEASURES = {
    "norms": _shrinks(
        "the 50 smallest norms are smaller",
        f"the mean of the 50 smallest norms (below {NORM_FLOOR:g}: zero)",
        _log10("smallest_norm", NORM_FLOOR),
    ),
    "share": _shrinks(
        "the 50 smallest units carry less of the output",
        f"their share of the output's variance (below {SHARE_FLOOR:g}: zero)",
        _log10("smallest_share", SHARE_FLOOR),
    ),
    "scales": _shrinks(
        "the 50 smallest scales are smaller",
        f"the mean of the 50 smallest scales (below {NORM_FLOOR:g}: zero)",
        _log10("smallest_scale", NORM_FLOOR),
    ),
    "units": _shrinks(
        "fewer units are of any size",
        "the number of units above a hundredth of the largest norm",
        _log10("norms_of_size", 1.0),
    ),
}


LISTED = ("norms", "share")  # what the paper looks at, and what it is about: listed by condition, and judged


def trials(quick: bool) -> list[Key]:
    """Both families under every condition."""
    return cell_keys(CELLS[:3] if quick else CELLS, [MEASURES["norms"]], quick)


def found_by_measure(records: list[Record]) -> dict[str, list[Found]]:
    """What is on record, by measure and condition."""
    return {name: look_up_pairs(records, CELLS, comparison) for name, comparison in MEASURES.items()}


def find(records: list[Record]) -> Finding:
    """Under which conditions the structured family shrinks further, measure by measure."""
    by_measure = found_by_measure(records)
    main = by_measure["norms"]
    rows = []
    for index, each in enumerate(main):
        cells = [_means(each, metric) for metric in ("smallest_norm", "smallest_share", "smallest_scale")]
        counts = " / ".join(f"{value:.0f}" for value in reversed(each.means(lambda result: result["norms_of_size"])))
        verdicts = [found[index].verdict for found in by_measure.values()]
        likelihood = " / ".join(f"{value:.2f}" for value in reversed(each.means(lambda result: result["ll"])))
        rows.append((each.cell.label, str(len(each.pairs)), *cells, counts, likelihood, *verdicts))
    columns = ("condition", "pairs", "mean of 50 smallest norms", "their share of the output", "50 smallest scales")
    columns += ("units of size", "log-likelihood", *(f"by {name}" for name in MEASURES))
    under = [line for name in LISTED for line in _places(by_measure[name])]
    under += [*_counts(by_measure), ("decided by", decided_by(by_measure))]
    under.append(places_in_words(main, CELLS, DEFAULTS)[-1])
    checks = [check for name in LISTED for check in checks_of(by_measure[name])]
    verdict = overall(each.verdict for name in LISTED for each in fullest(by_measure[name]))
    statistic = " ".join(f"{title}: {text}." for title, text in under if title.endswith("on record"))
    return Finding(statistic, verdict, columns, tuple(rows), tuple(checks), tuple(under))


def _means(found: Found, metric: str) -> str:
    """Geometric means, factorized / structured."""
    logs = found.means(lambda result: float(np.log10(max(result[metric], 1e-30))))
    return " / ".join(f"{10**value:.2g}" for value in reversed(logs))


def _places(found: list[Found]) -> list[tuple[str, str]]:
    """Where a measure says that the claim holds, and where not."""
    claim = found[0].comparison.claim if found else ""
    lines = places_in_words(found, CELLS, DEFAULTS)
    return [(f"{claim}: {title}", text) for title, text in lines if title != "on record"]


def _counts(by_measure: dict[str, list[Found]]) -> list[tuple[str, str]]:
    """What the other measures say: in counts of conditions, and by name where they hold."""
    lines = []
    for name, found in by_measure.items():
        if name not in LISTED:
            where = [each.cell.label for each in fullest(found) if each.verdict == "holds"]
            told = f". It holds under {merged(where)}" if where else ""
            lines.append((MEASURES[name].claim, f"{_count(found)}{told}"))
    return lines


def _count(found: list[Found]) -> str:
    """How many conditions have which verdict."""
    verdicts = [each.verdict for each in fullest(found)]
    counts = [f"{PLACES[verdict]} {verdicts.count(verdict)}" for verdict in PLACES if verdict in verdicts]
    return f"{', '.join(counts)} of {len(verdicts)} conditions on record"


def decided_by(by_measure: dict[str, list[Found]]) -> str:
    """What is measured first; then how far each choice moves it over the crossed conditions, in words."""
    measure = "; ".join(f"by {name} the claim {_count(found)}" for name, found in by_measure.items())
    told = []
    for name in LISTED:
        moves = [f"{choice} by {size:.2g}" for size, choice in _moves(by_measure[name])]
        if moves:
            told.append(f"The difference in {name} is moved, in log10 and all else alike, by {'; by '.join(moves)}")
    return f"what is measured ({measure}). {'. '.join(told) or 'Of choices too little is on record'}"


def _moves(found: list[Found]) -> list[tuple[float, str]]:
    """How far each choice of the crossed conditions moves the difference, all else alike: the largest first."""
    means = {each.cell.label: each.interval.mean for each in found}
    names = {(a, b, c): crossed(a, b, c).name for a in STARTS for b in LAYER for c in (SHORT, STEPS, LONG)}
    known = {place: means[name] for place, name in names.items() if name in means}
    moves = []
    for axis, choice in enumerate(("the start of scales", "the layer scale", "the number of steps")):
        along: dict[tuple[Any, ...], list[float]] = {}
        for place, value in known.items():
            along.setdefault(place[:axis] + place[axis + 1 :], []).append(value)
        ranges = [max(values) - min(values) for values in along.values() if len(values) > 1]
        if ranges:
            moves.append((float(np.mean(ranges)), choice))
    base = known.get((NEAR_ONE, "learned", STEPS))
    for change in ONE_AT_A_TIME:
        name = alone(change, NEAR_ONE).name
        if base is not None and name in means:
            moves.append((abs(means[name] - base), f"the choice of {change}, where scales start near one,"))
    return sorted(moves, reverse=True)


EXPERIMENT = Experiment(
    "Map: where structured posteriors shrink further (100 units; 500 at two bases)",
    "The structured approximation consistently recovers solutions that exhibit much stronger shrinkage towards zero.",
    trials,
    fit_table,
    find,
    RECORDS,
)
