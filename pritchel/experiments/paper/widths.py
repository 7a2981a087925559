"""Figure 1: with N(0, 1) priors, the wider the network, the wider its predictive band."""

import itertools

from pritchel.experiments.paper.curve import NUM_SEEDS, QUICK_STEPS, fit_curve, log_ratio, values
from pritchel.experiments.paper.settings import NAMES, SETTINGS
from pritchel.experiments.records import Key, Record
from pritchel.experiments.reproduce import Check, Experiment, Finding
from pritchel.experiments.statistics import judge

WIDTHS, QUICK_WIDTHS = (10, 100, 1000), (10, 40)
NUM_ROWS = 100


def trials(quick: bool) -> list[Key]:
    """Every width, seed and kind of settings."""
    return [
        {
            "rows": NUM_ROWS,
            "split": seed,
            "prior": "gaussian",
            "family": "factorized",
            "units": units,
            "settings": settings,
            "steps": QUICK_STEPS if quick else None,
        }
        for seed in range(1 if quick else NUM_SEEDS)
        for units in (QUICK_WIDTHS if quick else WIDTHS)
        for settings in SETTINGS
    ]


def widths_of(records: list[Record]) -> list[int]:
    """The widths on record, narrowest first."""
    return sorted({record["key"]["units"] for record in records})


def find(records: list[Record]) -> Finding:
    """Whether the mean predictive sd grows from each width to the next."""
    widths = widths_of(records)
    checks, rows = [], []
    for settings in SETTINGS:
        of = {units: values(records, "predictive_sd", units=units, settings=settings) for units in widths}
        for narrow, wide in itertools.pairwise(widths):
            if not len(of[narrow]) or not len(of[wide]):
                continue
            ratio = log_ratio(of[wide], of[narrow])
            claim = f"the band grows from {narrow} to {wide} units"
            text = f"ln of the ratio of predictive sds {ratio}, {ratio.num} seeds"
            checks.append(Check(claim, settings, text, judge(ratio)))
        for units in widths:
            if not len(of[units]):
                continue
            cells = [f"{of[units].mean():.3f}"]
            for metric in ("function_sd", "noise_sd", "curve_rmse", "coverage"):
                cells.append(f"{values(records, metric, units=units, settings=settings).mean():.3f}")
            rows.append((NAMES[settings], str(units), *cells))
    columns = ("settings", "units", "predictive sd", "sd of f", "noise sd (true 0.1)", "RMSE to sin x", "90 % coverage")
    return Finding.of_checks(checks, columns, tuple(rows))


EXPERIMENT = Experiment(
    "Figure 1: predictive bands of N(0, 1)-prior networks of 10, 100 and 1,000 units",
    "With fixed data, increasing the capacity of a network with N(0, 1) priors leads to over-inflated uncertainty.",
    trials,
    fit_curve,
    find,
)
