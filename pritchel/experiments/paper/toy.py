"""Figure 2: on the sine, a horseshoe network of 1,000 units prunes itself and keeps its band narrow."""

from pritchel.experiments.paper.curve import NUM_SEEDS, QUICK_STEPS, fit_curve, log_ratio, values
from pritchel.experiments.paper.settings import NAMES, SETTINGS
from pritchel.experiments.records import Key, Record
from pritchel.experiments.reproduce import Check, Experiment, Finding
from pritchel.experiments.statistics import judge, t_interval

METHODS = {
    "BNN, N(0, 1)": {"prior": "gaussian", "family": "factorized"},
    "reg-HS, factorized": {"prior": "regularized_horseshoe", "family": "factorized"},
    "reg-HS, structured": {"prior": "regularized_horseshoe", "family": "structured"},
}
BNN, FACTORIZED, STRUCTURED = METHODS.values()
NUM_ROWS, UNITS, QUICK_UNITS = 500, 1000, 40


def trials(quick: bool) -> list[Key]:
    """Every method, seed and kind of settings."""
    return [
        {
            "rows": NUM_ROWS,
            "split": seed,
            **method,
            "units": QUICK_UNITS if quick else UNITS,
            "settings": settings,
            "steps": QUICK_STEPS if quick else None,
        }
        for seed in range(1 if quick else NUM_SEEDS)
        for settings in SETTINGS
        for method in METHODS.values()
    ]


def find(records: list[Record]) -> Finding:
    """Whether the BNN's band is wider than the structured fit's, and whether that fit is closer than the factorized."""
    checks, rows = [], []
    for settings in SETTINGS:

        def of(metric: str, method: dict[str, str], settings: str = settings):
            return values(records, metric, settings=settings, **method)

        ratio = log_ratio(of("predictive_sd", BNN), of("predictive_sd", STRUCTURED))
        text = f"ln of the ratio of predictive sds {ratio}, {ratio.num} seeds"
        claim = "the BNN over-estimates the predictive sd beside structured reg-HS"
        checks.append(Check(claim, settings, text, judge(ratio)))
        first, second = of("curve_rmse", FACTORIZED), of("curve_rmse", STRUCTURED)
        num = min(len(first), len(second))
        gap = t_interval(first[:num] - second[:num])
        text = f"RMSE to the true curve, factorized less structured, {gap}, {gap.num} seeds"
        checks.append(Check("structured fits better than factorized", settings, text, judge(gap)))
        for name, method in METHODS.items():
            if not len(of("kept", method)):
                continue
            kept = of("kept", method)
            cells = [f"{of(m, method).mean():.3f}" for m in ("predictive_sd", "function_sd", "noise_sd", "curve_rmse")]
            span = f"{kept.min()} to {kept.max()}" if kept.min() < kept.max() else str(kept.min())
            rows.append((NAMES[settings], name, *cells, f"{of('coverage', method).mean():.1%}", span))
    columns = (
        "settings",
        "method",
        "predictive sd",
        "sd of f",
        "noise sd (true 0.1)",
        "RMSE to sin x (constant: 0.66)",
    )
    return Finding.of_checks(checks, (*columns, "90 % coverage", "units kept"), tuple(rows))


EXPERIMENT = Experiment(
    "Figure 2: the toy sine with 1,000 units",
    "A BNN severely over-estimates predictive uncertainty; reg-HS networks prune excess capacity and improve it, and "
    "the structured approximation best alleviates under-fitting.",
    trials,
    fit_curve,
    find,
)
