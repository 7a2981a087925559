"""Which figures an experiment has."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from pritchel.experiments.records import Record
from pritchel.report.inclusion import draw_inclusion
from pritchel.report.paper.bands import draw_toy, draw_widths
from pritchel.report.paper.intervals import draw_families, draw_low_data, draw_priors
from pritchel.report.paper.maps import draw_families_map, draw_low_data_map, draw_priors_map, draw_shrinkage_map
from pritchel.report.paper.prior_draws import draw_prior_draws
from pritchel.report.paper.shrinkage import draw_shrinkage
from pritchel.report.paper.vmg import draw_vmg
from pritchel.report.rl import draw_rl

# By the experiment's name: records to PNGs in a folder. One that is not here has no figure.
FIGURES: dict[str, Callable[[list[Record], Path], list[Path]]] = {
    "widths": draw_widths,
    "toy": draw_toy,
    "priors": draw_priors,
    "shrinkage": draw_shrinkage,
    "vmg": draw_vmg,
    "low_data": draw_low_data,
    "families": draw_families,
    "prior_draws": draw_prior_draws,
    "inclusion": draw_inclusion,
    "shrinkage_map": draw_shrinkage_map,
    "priors_map": draw_priors_map,
    "low_data_map": draw_low_data_map,
    "families_map": draw_families_map,
    "rl-map": partial(draw_rl, "map"),
    "rl-acrobot": partial(draw_rl, "acrobot"),
}


def draw_figures(name: str, records: list[Record], folder: Path) -> list[Path]:
    """The figures of an experiment, written to a folder; none if it has none."""
    return FIGURES[name](records, folder) if name in FIGURES else []
