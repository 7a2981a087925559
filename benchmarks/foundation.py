"""Does the method do what it says? Paper settings at 500 units, the toy sine at 1,000, and the defaults on four tables.

    python benchmarks/foundation.py            # about ten minutes on two cores
    python benchmarks/foundation.py --splits 2

Prints Markdown tables and writes benchmarks/results/foundation.md.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np

from pritchel import HorseshoeRegressor
from pritchel.data.sources import load_uci
from pritchel.data.toy import sine
from pritchel.experiments.runs import mean_and_error, run_splits

# RMSE and log-likelihood of a prototype's single fit of the same recipe, first five splits: the level to reach.
REFERENCE = {"boston": (2.66, -2.39), "concrete": (5.25, -3.08), "energy": (0.46, -0.70), "yacht": (0.65, -0.96)}


def cell(values) -> str:
    mean, error = mean_and_error(values)
    return f"{mean:.3f} ± {error:.3f}"


def row(*cells) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def header(*names: str) -> list[str]:
    return [row(*names), row(*["---"] * len(names))]


def scores_of(runs) -> tuple[str, str]:
    return cell([run.scores.rmse for run in runs]), cell([run.scores.log_likelihood for run in runs])


def defaults(splits: range) -> list[str]:
    columns = ("RMSE", "log-likelihood", "units kept", "90 % coverage", "constant RMSE / LL", "to reach", "s a fit")
    lines = header("defaults, 50 units", *columns)
    for name, reference in REFERENCE.items():
        start = time.perf_counter()
        runs = run_splits(load_uci(name), splits, lambda split: HorseshoeRegressor(random_state=split))
        seconds = (time.perf_counter() - start) / len(runs)
        constant = np.mean([run.constant[:2] for run in runs], axis=0)
        kept = np.mean([run.estimator.units_kept_[0] for run in runs])
        coverage = np.mean([run.scores.coverage for run in runs])
        pairs = (f"{rmse:.2f} / {likelihood:.2f}" for rmse, likelihood in (constant, reference))
        lines.append(row(name, *scores_of(runs), f"{kept:.1f}", f"{coverage:.0%}", *pairs, f"{seconds:.1f}"))
    return lines


def paper_at_500_units(splits: range) -> list[str]:
    title = "boston, 500 units, `HorseshoeRegressor.paper`"
    lines = header(title, "RMSE", "log-likelihood", "units kept, each split", "constant RMSE", "s in all")
    for family in ("structured", "factorized"):
        start = time.perf_counter()
        runs = run_splits(
            load_uci("boston"),
            splits,
            lambda split, f=family: HorseshoeRegressor.paper(hidden=(500,), family=f, random_state=split),
        )
        kept = ", ".join(str(int(run.estimator.units_kept_[0])) for run in runs)
        constant = np.mean([run.constant.rmse for run in runs])
        seconds = time.perf_counter() - start
        lines.append(row(family, *scores_of(runs), kept, f"{constant:.2f}", f"{seconds:.0f}"))
    return lines


def toy_at_1000_units() -> list[str]:
    title = "sine, 1,000 units, 500 rows"
    lines = header(title, "RMSE to the true curve", "units kept", "mean sd of f", "noise sd (true 0.1)", "s")
    X, y = sine(500)
    grid = np.linspace(-4, 4, 400)[:, None]
    truth = np.sin(grid[:, 0])
    for name, options in {
        "structured": {},
        "factorized": {"family": "factorized"},
        "N(0, 1) prior": {"prior": "gaussian", "family": "factorized"},
    }.items():
        start = time.perf_counter()
        model = HorseshoeRegressor(hidden=(1000,), random_state=0, progress=False, **options).fit(X, y)
        seconds = time.perf_counter() - start
        spread = model.predict_uncertainty(grid)
        rmse = np.sqrt(np.mean((model.predict(grid) - truth) ** 2))
        widths = f"{spread.epistemic.mean():.3f}", f"{spread.aleatoric.mean():.3f}"
        lines.append(row(name, f"{rmse:.3f}", model.units_kept_[0], *widths, f"{seconds:.0f}"))
    lines.append(row("constant predictor", f"{np.sqrt(np.mean((y.mean() - truth) ** 2)):.3f}", "", "", "", ""))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=5, help="splits of each table, from the first on")
    splits = range(parser.parse_args().splits)
    sections = []
    for make in (lambda: defaults(splits), lambda: paper_at_500_units(splits), toy_at_1000_units):
        sections.append("\n".join(make()))
        print(sections[-1], flush=True)
    load = f"Load average at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.\n"
    path = Path(__file__).parent / "results" / "foundation.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n\n".join([*sections, load]))
    print(f"written to {path}")


if __name__ == "__main__":
    main()
