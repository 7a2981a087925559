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


def paper_at_500_units(splits: range) -> list[str]:
    table = load_uci("boston")
    lines = [
        "| boston, 500 units, `HorseshoeRegressor.paper` | RMSE | log-likelihood | units kept, each split | constant RMSE | s |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for family in ("structured", "factorized"):
        start = time.perf_counter()
        runs = run_splits(
            table, splits, lambda split, f=family: HorseshoeRegressor.paper(hidden=(500,), family=f, random_state=split)
        )
        kept = ", ".join(str(int(run.estimator.units_kept_[0])) for run in runs)
        lines.append(
            f"| {family} | {cell([r.scores.rmse for r in runs])} | {cell([r.scores.log_likelihood for r in runs])} | {kept} "
            f"| {np.mean([r.constant.rmse for r in runs]):.2f} | {time.perf_counter() - start:.0f} |"
        )
    return lines


def toy_at_1000_units() -> list[str]:
    lines = [
        "| sine, 1,000 units, 500 rows | RMSE to the true curve | units kept | mean sd of f | noise sd (true 0.1) | s |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    X, y = sine(500)
    grid = np.linspace(-4, 4, 400)[:, None]
    for name, options in {
        "structured": {},
        "factorized": {"family": "factorized"},
        "N(0, 1) prior": {"prior": "gaussian", "family": "factorized"},
    }.items():
        start = time.perf_counter()
        model = HorseshoeRegressor(hidden=(1000,), random_state=0, progress=False, **options).fit(X, y)
        spread = model.predict_uncertainty(grid)
        rmse = np.sqrt(np.mean((model.predict(grid) - np.sin(grid[:, 0])) ** 2))
        lines.append(
            f"| {name} | {rmse:.3f} | {model.units_kept_[0]} | {spread.epistemic.mean():.3f} "
            f"| {spread.aleatoric.mean():.3f} | {time.perf_counter() - start:.0f} |"
        )
    lines.append(f"| constant predictor | {np.sqrt(np.mean((y.mean() - np.sin(grid)) ** 2)):.3f} | | | | |")
    return lines


def defaults(splits: range) -> list[str]:
    lines = [
        "| defaults, 50 units | RMSE | log-likelihood | units kept | 90 % coverage | constant RMSE / LL | to reach | s a fit |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, (rmse, log_likelihood) in REFERENCE.items():
        start = time.perf_counter()
        runs = run_splits(load_uci(name), splits, lambda split: HorseshoeRegressor(random_state=split))
        seconds = (time.perf_counter() - start) / len(runs)
        lines.append(
            f"| {name} | {cell([r.scores.rmse for r in runs])} | {cell([r.scores.log_likelihood for r in runs])} "
            f"| {np.mean([r.estimator.units_kept_[0] for r in runs]):.1f} | {np.mean([r.scores.coverage for r in runs]):.0%} "
            f"| {np.mean([r.constant.rmse for r in runs]):.2f} / {np.mean([r.constant.log_likelihood for r in runs]):.2f} "
            f"| {rmse} / {log_likelihood} | {seconds:.1f} |"
        )
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
