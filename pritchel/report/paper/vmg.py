"""Figure 3, bottom: structured reg-HS beside VMG, and how many of its units are left."""

from pathlib import Path

from matplotlib.figure import Figure

from pritchel.experiments.paper.settings import NAMES, SETTINGS
from pritchel.experiments.paper.tables import train_rows
from pritchel.experiments.paper.vmg import VARIANTS, gains, shares_kept
from pritchel.experiments.records import Record
from pritchel.report.axes import bare, save_figure
from pritchel.report.palette import BLUE, GREY, RED
from pritchel.report.paper.intervals import LABEL_SIZE, intervals_by_table

COLOURS = {"": GREY, "pruned.": RED, "tuned.": BLUE}


def draw_vmg(records: list[Record], folder: Path) -> list[Path]:
    """A column a kind of settings: log-likelihoods less VMG's above, units kept below."""
    names = list(train_rows(records))
    figure = Figure(figsize=(12, 7), layout="constrained")
    axes = figure.subplots(2, len(SETTINGS), sharex=True, sharey="row", height_ratios=(3, 2))
    for (above, below), settings in zip(axes.T, SETTINGS, strict=True):
        intervals_by_table(above, gains(records, settings), names, colours=COLOURS, labels=VARIANTS)
        above.set_title(NAMES[settings], fontsize=10)
        above.set_yscale("symlog", linthresh=0.5)
        shares = {names.index(data): 100 * part.mean() for data, part in shares_kept(records, settings).items()}
        below.bar(list(shares), list(shares.values()), color=RED, width=0.5)
        for place, share in shares.items():
            below.annotate(f"{share:.1f}%", (place, share), ha="center", va="bottom", fontsize=8)
        below.set_xticks(range(len(names)), names, rotation=30, ha="right")
        bare(below, LABEL_SIZE)
    axes[0, 0].set_ylabel("test log-likelihood,\nstructured reg-HS less VMG")
    axes[0, 0].legend(frameon=False, fontsize=9)
    axes[1, 0].set_ylabel("units kept, %")
    figure.suptitle("Above zero: better than VMG (50 units, protein 100). Mean and 95 % interval", fontsize=10)
    path = folder / "vmg.png"
    save_figure(figure, path, 110)
    return [path]
