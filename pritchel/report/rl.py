"""Pictures of planning with a learned model, from records: rewards, imagined trajectories, learning curves."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from pritchel.experiments.records import Record
from pritchel.experiments.rl.acrobot import Acrobot
from pritchel.experiments.rl.experiment import by_method, interval, reward
from pritchel.experiments.rl.map2d import EDGE
from pritchel.experiments.rl.models import METHODS
from pritchel.experiments.rl.settings import PAPER
from pritchel.report.axes import bare, save_figure
from pritchel.report.palette import BLUE, GOLD, GREY, INK, RED

LIMITS = {"map": (-520.0, 1030.0), "acrobot": (-185.0, 5.0)}
PICTURED = ("bnn-500", "structured-500", "network-100-100", "bnn-100-100", "structured-100-100", "defaults")


def draw_rl(domain_name: str, records: list[Record], folder: Path) -> list[Path]:
    """The figures that the records of a domain allow."""
    name = f"rl-{domain_name}"
    figures = (
        draw_rewards(domain_name, records, folder / f"{name}-rewards.png"),
        draw_imagined(domain_name, records, folder / f"{name}-imagined.png"),
        draw_learning(domain_name, records, folder / f"{name}-learning.png"),
    )
    return [path for path in figures if path is not None]


def draw_rewards(domain_name: str, records: list[Record], path: Path) -> Path:
    """Reward of every seed and method, its mean with a 95 % interval, and the paper's figure."""
    table = by_method(records)
    names = list(table)
    figure = Figure(figsize=(10, 0.42 * len(names) + 1.6), layout="constrained")
    zooms = [LIMITS[domain_name], (940.0, 1001.0)] if domain_name == "map" else [LIMITS[domain_name]]
    axes = np.atleast_1d(figure.subplots(1, len(zooms), sharey=True))
    for axis, limits in zip(axes, zooms, strict=True):
        for row, name in enumerate(names):
            seeds = table[name].values()
            greedy = np.asarray([reward(record) for record in seeds])
            noisy = np.asarray([reward(record, "test_random") for record in seeds])
            axis.scatter(greedy, np.full(len(greedy), row - 0.14), s=16, color=BLUE, alpha=0.75, lw=0)
            if name != "random":
                axis.scatter(noisy, np.full(len(noisy), row + 0.14), s=14, facecolor="none", edgecolor=GREY)
            low, high = interval(greedy)
            if np.isfinite(low):
                axis.plot([low, high], [row - 0.14] * 2, color=INK, lw=1.6, zorder=3)
            axis.plot(greedy.mean(), row - 0.14, "|", color=INK, ms=11, mew=2, zorder=4)
            paper = PAPER.get((domain_name, name))
            if paper is not None:
                axis.plot(paper.reward, row, "D", color=GOLD, ms=6, zorder=5)
        axis.set(xlim=limits, xlabel="mean return per episode on the true domain", yticks=range(len(names)))
        axis.set_yticklabels([METHODS[name].label for name in names])
        axis.grid(axis="x", color=GREY, alpha=0.35, lw=0.6)
        bare(axis)
    axes[0].invert_yaxis()
    if len(zooms) > 1:
        axes[0].set_title("Whole range")
        axes[1].set_title("The paper's range")
    axes[0].plot([], [], "o", color=BLUE, ms=4, label="a seed, greedy (5 late snapshots)")
    axes[0].plot([], [], "o", mfc="none", mec=GREY, ms=4, label="the same with 15 % random actions")
    axes[0].plot([], [], "|-", color=INK, ms=9, mew=2, label="mean, and 95 % interval from 5 seeds on")
    axes[0].plot([], [], "D", color=GOLD, ms=5, label="paper")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    save_figure(figure, path, 130)
    return path


def draw_imagined(domain_name: str, records: list[Record], path: Path) -> Path | None:
    """The same actions in the true domain and in each model: its draws against the truth."""
    pictures = {
        record["key"]["method"]: record["result"]["picture"] for record in records if "picture" in record["result"]
    }
    names = [name for name in PICTURED if name in pictures]
    if not names:
        return None
    num_columns = min(3, len(names))
    num_rows = -(-len(names) // num_columns)
    figure = Figure(
        figsize=(3.7 * num_columns, (3.5 if domain_name == "map" else 2.7) * num_rows), layout="constrained"
    )
    axes = np.atleast_1d(figure.subplots(num_rows, num_columns, sharex=True, sharey=True)).ravel()
    for axis, name in zip(axes, names, strict=False):
        (_draw_paths if domain_name == "map" else _draw_heights)(axis, pictures[name])
        axis.set_title(METHODS[name].label, fontsize=10)
        axis.label_outer()
        bare(axis)
    for axis in axes[len(names) :]:
        axis.set_visible(False)
    handles = {label: handle for handle, label in zip(*axes[0].get_legend_handles_labels(), strict=True)}
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles), frameon=False, fontsize=9
    )
    save_figure(figure, path, 130)
    return path


def _draw_paths(axis: Any, pictures: list[dict[str, Any]]) -> None:
    axis.fill_between([0, EDGE], 0, EDGE, color=GOLD, alpha=0.18, lw=0, label="goal")
    axis.plot([0, EDGE], [0, 0], color=INK, lw=2.5, label="wall")
    for picture in pictures:
        true = np.asarray(picture["true"])
        for drawn in np.asarray(picture["imagined"]):
            line = np.vstack([true[:1], drawn])
            axis.plot(*line.T, color=BLUE, lw=0.7, alpha=0.35, label="imagined, a draw each")
        axis.plot(*true.T, color=RED, lw=1.6, marker="o", ms=2.5, label="true")
    axis.set(xlim=(-EDGE, EDGE), ylim=(-EDGE, EDGE), aspect="equal", xticks=(-2, 0, 2), yticks=(-2, 0, 2))


def _draw_heights(axis: Any, pictures: list[dict[str, Any]]) -> None:
    height = np.vectorize(lambda a, b: -np.cos(a) - np.cos(a + b))
    goal = Acrobot().length1
    true = np.asarray(pictures[0]["true"])
    drawn = np.asarray(pictures[0]["imagined"])
    drawn = np.concatenate([np.broadcast_to(true[0], (len(drawn), 1, true.shape[1])), drawn], axis=1)
    heights = height(drawn[..., 0], drawn[..., 1])
    time = np.arange(len(true))
    low, middle, high = np.quantile(heights, (0.05, 0.5, 0.95), axis=0)
    axis.fill_between(time, low, high, color=BLUE, alpha=0.22, lw=0, label="90 % of draws")
    for line in heights[:4]:
        axis.plot(time, line, color=BLUE, lw=0.6, alpha=0.5, label="imagined, a draw each")
    axis.plot(time, middle, color=BLUE, lw=1.6, label="their median")
    axis.plot(time, height(true[:, 0], true[:, 1]), color=RED, lw=1.6, label="true")
    axis.axhline(goal, color=INK, lw=0.8, ls=":", label="goal")
    axis.set(xlabel="step", ylabel="height of the tip", ylim=(-2.1, 2.1))


def draw_learning(domain_name: str, records: list[Record], path: Path) -> Path | None:
    """Return while learning: as imagined in the world learned in, and greedily on the true domain."""
    table = {name: seeds for name, seeds in by_method(records).items() if name != "random"}
    if not table:
        return None
    num_columns = min(4, len(table))
    num_rows = -(-len(table) // num_columns)
    figure = Figure(figsize=(3 * num_columns, 2.1 * num_rows), layout="constrained")
    axes = np.atleast_1d(figure.subplots(num_rows, num_columns, sharex=True, sharey=True)).ravel()
    for axis, (name, seeds) in zip(axes, table.items(), strict=False):
        curves = [record["result"]["curve"] for record in seeds.values()]
        _draw_band(axis, curves, "imagined", GREY, "return in the world learned in (with exploration)")
        _draw_band(axis, curves, "true", BLUE, "greedy return on the true domain")
        axis.set_title(METHODS[name].label, fontsize=9)
        axis.set_ylim(LIMITS[domain_name])
        bare(axis)
    for index, axis in enumerate(axes[len(table) :], len(table)):
        axis.set_visible(False)
        axes[index - num_columns].tick_params(labelbottom=True)
    figure.supxlabel("episodes learned from (lines: median over seeds, bands: quartiles)", fontsize=9)
    figure.supylabel("return", fontsize=9)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False, fontsize=9)
    save_figure(figure, path, 130)
    return path


def _draw_band(axis: Any, curves: list[dict[str, Any]], what: str, colour: str, label: str) -> None:
    """Median and quartiles over seeds at each snapshot that at least half of the seeds have."""
    length = int(np.median([len(curve[what]) for curve in curves]))
    episodes, low, middle, high = [], [], [], []
    for index in range(length):
        values = [curve[what][index] for curve in curves if len(curve[what]) > index]
        episodes.append(np.median([curve["episodes"][index] for curve in curves if len(curve[what]) > index]))
        quartiles = np.quantile(values, (0.25, 0.5, 0.75))
        for part, value in zip((low, middle, high), quartiles, strict=True):
            part.append(value)
    axis.fill_between(episodes, low, high, color=colour, alpha=0.25, lw=0)
    axis.plot(episodes, middle, color=colour, lw=1.4, label=label)
