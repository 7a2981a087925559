"""When the slab matters: layer scale, few rows, heavy tails, long training, start of scales, schedule."""

from pritchel.experiments.paper.conditions import (
    LONG,
    NEAR_ONE,
    OURS,
    STARTS,
    Cell,
    Comparison,
    ahead_by,
    repeated,
)
from pritchel.experiments.paper.map_findings import map_experiment
from pritchel.experiments.paper.priors import HS, REG_HS

FLAT = {"prior__layer_scale": 1.0}  # b_g = 1, as in the paper's figure of prior draws
DEFAULTS = Cell("b_g = 1e-5", OURS, settings="ours")
CONDITIONS = [
    Cell("b_g = 1e-5"),
    Cell("b_g = 1", options=FLAT),
    Cell("a tenth of the rows", rows="tenth"),
    Cell("b_g = 1 with a tenth of the rows", options=FLAT, rows="tenth"),
    Cell("heavy-tailed targets", targets="heavy_tailed"),
    Cell("b_g = 1 with heavy-tailed targets", options=FLAT, targets="heavy_tailed"),
    Cell(
        "b_g = 1 with a tenth of the rows and heavy-tailed targets", options=FLAT, rows="tenth", targets="heavy_tailed"
    ),
    Cell("scales start near one", options=STARTS[NEAR_ONE]),
    DEFAULTS,
    Cell("b_g = 1", OURS, FLAT, settings="ours"),
    Cell("b_g = 1 with 32,000 steps", options=FLAT, steps=LONG),
    Cell("32,000 steps", steps=LONG),
]
TURNING = ("b_g = 1e-5", "b_g = 1 with a tenth of the rows")  # against the slab and, where rows are few, for it
CELLS = [*CONDITIONS, *repeated(CONDITIONS, TURNING)]
COMPARISONS = [
    Comparison("reg-HS predicts better than HS", "log-likelihood, reg-HS less HS,", REG_HS, HS, ahead_by("ll"))
]


EXPERIMENT = map_experiment(
    "Map: when the slab matters (HS against reg-HS, factorized, 50 units)",
    "The regularized horseshoe leads to consistent improvements over the horseshoe, more so on smaller data sets.",
    CELLS,
    COMPARISONS,
    DEFAULTS,
)
