"""The four families under other conditions: start of scales, norms, draws, steps, schedule."""

from pritchel.experiments.paper.conditions import (
    LONG,
    NEAR_ONE,
    OURS,
    STARTS,
    Cell,
    Comparison,
    ahead_by,
    without_norms,
)
from pritchel.experiments.paper.families import PAIRS, difference_name
from pritchel.experiments.paper.map_findings import map_experiment

DEFAULTS = Cell("product one and layer held", OURS, settings="ours")
CELLS = [
    Cell("product one and layer learned"),
    Cell("scales start near one", options=STARTS[NEAR_ONE]),
    Cell("no unit norms", options={"family__unit_norm": False}),
    Cell("scale draws shared by a batch", options={"training__objective": "batch_sampled"}),
    Cell("KL warm-up", options={"training__kl_warmup": 0.5}),
    DEFAULTS,
    Cell("scales start near one", OURS, STARTS[NEAR_ONE], settings="ours"),
    Cell("32,000 steps", steps=LONG),
]


def _method(family: str) -> dict[str, str]:
    return {"prior": "regularized_horseshoe", "family": family}


COMPARISONS = [
    Comparison(
        f"{better} outperforms {worse.replace('_', '-')}",
        f"log-likelihood, {difference_name(better, worse)},",
        _method(better),
        _method(worse),
        ahead_by("ll"),
        without_norms,
    )
    for better, worse in PAIRS
]


EXPERIMENT = map_experiment(
    "Map: the four variational families (50 units)",
    "The structured approximation outperforms the semi-structured variant, and the factorized one predicts better than "
    "the tied one (stated by the paper, not shown).",
    CELLS,
    COMPARISONS,
    DEFAULTS,
)
