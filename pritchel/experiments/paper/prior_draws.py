"""The last figure: functions drawn from horseshoe and regularized-horseshoe priors that share their base weights."""

from typing import Any

import numpy as np

from pritchel.estimators.regressor import HorseshoeRegressor
from pritchel.experiments.records import Key, Record
from pritchel.experiments.reproduce import Check, Experiment, Finding
from pritchel.experiments.statistics import judge, t_interval

WIDTHS = (50, 500, 5000)
NUM_SHOWN = 5
GRID = np.linspace(-3, 3, 121)
SCALES = {"paper": 1.0, "ours": 1e-5}  # b_g: the figure's, and the one that all fits use
PRIORS = {"horseshoe": "HS", "regularized_horseshoe": "reg-HS"}


def trials(quick: bool) -> list[Key]:
    """Every width, under the figure's layer scale and under the one used for fitting."""
    return [
        {"units": units, "settings": settings, "layer_scale": scale, "draws": 20 if quick else 400, "seed": 0}
        for units in WIDTHS
        for settings, scale in SCALES.items()
    ]


def draw(key: Key) -> dict[str, Any]:
    """Matched functions: five to show, and the ratio of root-mean-square slopes for all."""
    functions = {}
    for prior in PRIORS:
        model = HorseshoeRegressor.paper(
            hidden=(key["units"],), prior=prior, activation="tanh", prior__layer_scale=key["layer_scale"]
        )
        functions[prior] = model.prior_predictive(GRID[:, None], key["draws"], random_state=key["seed"])
    slopes = {prior: np.sqrt(np.mean(np.diff(f, axis=0) ** 2, axis=0)) for prior, f in functions.items()}
    ratios = np.log(slopes["horseshoe"] / slopes["regularized_horseshoe"])
    shown = {
        prior: [[float(f"{v:.3g}") for v in column] for column in f.T[:NUM_SHOWN]] for prior, f in functions.items()
    }
    return {"functions": shown, "log_slope_ratios": [float(f"{ratio:.3g}") for ratio in ratios]}


def find(records: list[Record]) -> Finding:
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
    return Finding.of_checks(checks, columns, tuple(rows))


EXPERIMENT = Experiment(
    "Prior samples: functions from HS and reg-HS priors that share base weights (tanh)",
    "The regularized horseshoe leads to smoother functions than the horseshoe, thus affording stronger regularization.",
    trials,
    draw,
    find,
)
