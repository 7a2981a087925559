"""VMG and structured reg-HS with a tenth of the rows: width, start of scales, steps, noise prior, schedule."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from pritchel.experiments.paper.conditions import (
    LONG,
    NEAR_ONE,
    OURS,
    SHORT,
    STARTS,
    STEPS,
    Cell,
    Comparison,
    ahead_by,
    repeated,
)
from pritchel.experiments.paper.low_data import TABLES
from pritchel.experiments.paper.map_findings import map_experiment
from pritchel.experiments.paper.settings import NARROW
from pritchel.experiments.paper.shrinkage import STRUCTURED
from pritchel.experiments.paper.vmg import VMG

UNITS = 100
FEW = partial(Cell, rows="tenth", units=UNITS, tables=TABLES)
DEFAULTS = FEW("100 units", OURS, settings="ours")
CONDITIONS = [
    FEW("100 units"),
    FEW("scales start near one", options=STARTS[NEAR_ONE]),
    FEW("50 units", units=NARROW),
    FEW("b_g = 1", options={"prior__layer_scale": 1.0}),
    FEW("weak noise prior (also of VMG)", options={"likelihood__noise_prior": [0.1, 0.1]}),
    FEW("2,000 steps", steps=SHORT),
    FEW("32,000 steps", steps=LONG),
    FEW("KL warm-up", options={"training__kl_warmup": 0.5}),
    DEFAULTS,
    FEW("scales start near one", OURS, STARTS[NEAR_ONE], settings="ours"),
]
# Against reg-HS with the paper's strong noise prior, for it with a weak one, as ours is.
TURNING = ("100 units", "weak noise prior (also of VMG)", DEFAULTS.label)
CELLS = [*CONDITIONS, *repeated(CONDITIONS, TURNING)]


def concerns(cell: Cell, method: Mapping[str, Any]) -> Cell:
    """What a condition means for a method; for VMG 50 units, its own schedule, and the noise prior."""
    if method is not VMG:
        return cell
    options = {name: value for name, value in cell.options.items() if name.startswith("likelihood__")}
    return cell._replace(options=options, units=NARROW, steps=STEPS)


def _share_of_constant(result: dict[str, Any]) -> float:
    """Minus the RMSE by the constant predictor's: tables of any unit together."""
    return -result["rmse"] / result["constant_rmse"]


COMPARISONS = [
    Comparison(claim, f"{statistic}, reg-HS over VMG,", STRUCTURED, VMG, value, concerns)
    for claim, statistic, value in (
        ("reg-HS has the better log-likelihood", "gain in log-likelihood", ahead_by("ll")),
        ("reg-HS has the better RMSE", "gain in RMSE by the constant's", _share_of_constant),
    )
]


EXPERIMENT = map_experiment(
    "Map: VMG against structured reg-HS with a tenth of the rows",
    "In limited data regimes the shrinkage of reg-HS leads to clear improvements in predictive performance over VMG.",
    CELLS,
    COMPARISONS,
    DEFAULTS,
)
