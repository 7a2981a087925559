"""Does the method do what the paper says? Its settings on boston with 500 units, and the toy sine with 1,000.

python benchmarks/foundation.py            # about four minutes on two cores
python benchmarks/foundation.py --splits 2
"""

import argparse
import time

import numpy as np
from common import table, with_error, write

from pritchel import HorseshoeRegressor
from pritchel.data.sources import load_uci
from pritchel.data.toy import sine
from pritchel.experiments.runs import run_splits


def paper_at_500_units(splits: range) -> list[tuple]:
    rows = []
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
        scores = (with_error([run.scores[index] for run in runs]) for index in range(2))
        rows.append((family, *scores, kept, f"{constant:.2f}", f"{seconds:.0f}"))
    return rows


def toy_at_1000_units() -> list[tuple]:
    rows = []
    X, y = sine(500)
    grid = np.linspace(-4, 4, 400)[:, None]
    truth = np.sin(grid[:, 0])
    for name, options in {
        "structured": {},
        "factorized": {"family": "factorized"},
        "N(0, 1) prior": {"prior": "gaussian", "family": "factorized"},
    }.items():
        start = time.perf_counter()
        model = HorseshoeRegressor(
            hidden=(1000,), linear=False, num_members=1, random_state=0, progress=False, **options
        ).fit(X, y)
        seconds = time.perf_counter() - start
        spread = model.predict_uncertainty(grid)
        rmse = np.sqrt(np.mean((model.predict(grid) - truth) ** 2))
        widths = f"{spread.epistemic.mean():.3f}", f"{spread.aleatoric.mean():.3f}"
        rows.append((name, f"{rmse:.3f}", int(model.units_kept_[0]), *widths, f"{seconds:.0f}"))
    rows.append(("constant predictor", f"{np.sqrt(np.mean((y.mean() - truth) ** 2)):.3f}", "", "", "", ""))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=5, help="splits of boston, from the first on")
    paper = paper_at_500_units(range(parser.parse_args().splits))
    toy = toy_at_1000_units()
    title = "boston, 500 units, `HorseshoeRegressor.paper`"
    lines = [
        *table((title, "RMSE", "log-likelihood", "units kept, each split", "constant RMSE", "s in all"), paper),
        "",
        *table(
            (
                "sine, 1,000 units, 500 rows",
                "RMSE to the true curve",
                "units kept",
                "mean sd of f",
                "noise sd (true 0.1)",
                "s",
            ),
            toy,
        ),
    ]
    write(
        "foundation",
        "The paper's settings at 500 units, and the sine at 1,000",
        lines,
        [*map(list, paper), *map(list, toy)],
    )


if __name__ == "__main__":
    main()
