"""The last figure: functions drawn from horseshoe and regularized-horseshoe priors that share their base weights."""

from pathlib import Path
from typing import Any

import numpy as np

from pritchel.estimators.regressor import HorseshoeRegressor
from pritchel.experiments.records import Key
from pritchel.experiments.reproduce import Check, Experiment, Finding
from pritchel.experiments.statistics import judge, t_interval
from pritchel.report.figures import ALIVE, BAND

WIDTHS = (50, 500, 5000)
NUM_SHOWN = 5
GRID = np.linspace(-3, 3, 121)
SCALES = {"paper": 1.0, "ours": 1e-5}  # b_g: the figure's, and the one that all fits use
PRIORS = {"horseshoe": "HS", "regularized_horseshoe": "reg-HS"}


def trials(quick: bool) -> list[Key]:
    """Every width, under the figure's layer scale and under the one used for fitting."""
    return [
        {"units": units, "settings": settings, "layer_scale": scale, "draws": 100 if quick else 400, "seed": 0}
        for units in WIDTHS
        for settings, scale in SCALES.items()
    ]


def draw(key: Key) -> dict[str, Any]:
    """Matched functions: five to show, and the ratio of root-mean-square slopes for all."""
    functions = {}
    for prior in PRIORS:
        model = HorseshoeRegressor.paper(
            hidden=(key["units"],), prior=prior, activation="tanh", layer_scale_prior=key["layer_scale"]
        )
        functions[prior] = model.prior_predictive(GRID[:, None], key["draws"], random_state=key["seed"])
    slopes = {prior: np.sqrt(np.mean(np.diff(f, axis=0) ** 2, axis=0)) for prior, f in functions.items()}
    ratios = np.log(slopes["horseshoe"] / slopes["regularized_horseshoe"])
    shown = {
        prior: [[float(f"{v:.3g}") for v in column] for column in f.T[:NUM_SHOWN]] for prior, f in functions.items()
    }
    return {"functions": shown, "log_slope_ratios": [float(f"{ratio:.3g}") for ratio in ratios]}


def find(records: list[dict[str, Any]], folder: Path) -> Finding:
    """Whether the regularized function of a matched pair is the smoother one."""
    checks, rows = [], []
    for record in records:
        key, ratios = record["key"], np.asarray(record["result"]["log_slope_ratios"])
        interval = t_interval(ratios)
        claim = f"reg-HS functions of {key['units']:,} units are smoother than their HS twins"
        text = f"ln of the ratio of rms slopes, HS over reg-HS, {interval}, {interval.num} pairs"
        checks.append(Check(claim, key["settings"], text, judge(interval)))
        smoother = f"{np.mean(ratios > 0):.0%}"
        rows.append((f"{key['layer_scale']:g}", f"{key['units']:,}", smoother, f"{np.exp(np.median(ratios)):.3g}"))
    columns = ("b_g", "units", "pairs with reg-HS smoother", "median ratio of slopes, HS over reg-HS")
    return Finding.of_checks([_figure(records, folder / "prior_draws.png")], checks, columns, tuple(rows))


def _figure(records: list[dict[str, Any]], path: Path) -> Path:
    from matplotlib.figure import Figure

    units = sorted({record["key"]["units"] for record in records})
    panels = [(settings, prior) for settings in SCALES for prior in PRIORS]
    figure = Figure(figsize=(12, 2.5 * len(units) + 0.4), layout="constrained")
    axes = figure.subplots(len(units), len(panels), sharex=True, squeeze=False)
    colours = (BAND, ALIVE, "#6a994e", "#8d5a97", "#d9a441")
    for row, count in zip(axes, units, strict=True):
        for axis, (settings, prior) in zip(row, panels, strict=True):
            for record in records:
                if (record["key"]["units"], record["key"]["settings"]) == (count, settings):
                    for function, colour in zip(record["result"]["functions"][prior], colours, strict=True):
                        axis.plot(GRID, function, lw=1.3, color=colour)
            axis.set_title(f"{PRIORS[prior]}, {count:,} units, $b_g$ = {SCALES[settings]:g}", fontsize=9)
            axis.spines[["top", "right"]].set_visible(False)
            axis.tick_params(labelsize=8)
    for axis in axes[-1]:
        axis.set_xlabel("x")
    for axis in axes[:, 0]:
        axis.set_ylabel("f(x)")
    figure.suptitle("Five prior draws each; a colour marks the same base weights under both priors", fontsize=11)
    figure.savefig(path, dpi=110)
    return path


EXPERIMENT = Experiment(
    "Prior samples: functions from HS and reg-HS priors that share base weights (tanh)",
    "The regularized horseshoe leads to smoother functions than the horseshoe, thus affording stronger regularization.",
    trials,
    draw,
    find,
)
