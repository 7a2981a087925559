"""The last figure: matched functions from both horseshoe priors."""

from pathlib import Path

from matplotlib.figure import Figure

from pritchel.experiments.paper.prior_draws import GRID, PRIORS, SCALES
from pritchel.experiments.records import Record, matching
from pritchel.report.axes import bare, save_figure
from pritchel.report.palette import SERIES


def draw_prior_draws(records: list[Record], folder: Path) -> list[Path]:
    """A row a width; a column a prior and layer scale."""
    units = sorted({record["key"]["units"] for record in records})
    panels = [(settings, prior) for settings in SCALES for prior in PRIORS]
    figure = Figure(figsize=(12, 2.5 * len(units) + 0.4), layout="constrained")
    axes = figure.subplots(len(units), len(panels), sharex=True, squeeze=False)
    for row, count in zip(axes, units, strict=True):
        for axis, (settings, prior) in zip(row, panels, strict=True):
            for record in matching(records, units=count, settings=settings):
                for function, colour in zip(record["result"]["functions"][prior], SERIES, strict=True):
                    axis.plot(GRID, function, lw=1.3, color=colour)
            axis.set_title(f"{PRIORS[prior]}, {count:,} units, $b_g$ = {SCALES[settings]:g}", fontsize=9)
            bare(axis, 8)
    for axis in axes[-1]:
        axis.set_xlabel("x")
    for axis in axes[:, 0]:
        axis.set_ylabel("f(x)")
    figure.suptitle("Five prior draws each; a colour marks the same base weights under both priors", fontsize=11)
    path = folder / "prior_draws.png"
    save_figure(figure, path, 110)
    return [path]
