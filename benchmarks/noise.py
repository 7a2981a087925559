"""Does noise that may depend on the inputs do harm where it does not? Large made-up tables, beside Gaussian noise.

    python benchmarks/noise.py                    # about half an hour on two cores
    python benchmarks/noise.py --rows 15000 --seeds 2

Friedman's function of ten columns with noise of known laws, and scores on 5,000 rows: how far the predicted mean is
from the true one, how far the log-likelihood is below the truth's. Both fits are the defaults but for the likelihood.
Every finished fit is saved at once in results/noise_runs.jsonl; a second call goes on from there.
"""

import argparse
import time
import warnings
from functools import partial
from typing import Any

import numpy as np
from common import RESULTS, on_record, recorded, table, with_error, write
from scipy import stats
from sklearn.datasets import make_friedman1

from pritchel import HorseshoeRegressor

RUNS = RESULTS / "noise_runs.jsonl"
NUM_TEST = 5000
ROWS = (15_000, 30_000, 100_000)
LIKELIHOODS = ("gaussian", "auto")
LAWS = {  # of the noise, given the columns
    "constant": lambda X: stats.norm(0, np.ones(len(X))),
    "changing": lambda X: stats.norm(0, np.exp(1.5 * X[:, 5] - 0.75)),
    "heavy tails": lambda X: stats.t(3, 0, np.full(len(X), 0.7)),
}
HARM = 1.1  # errors of the mean up to so many times those under Gaussian noise are no harm


def made_up(law: str, num_rows: int, seed: int) -> tuple[np.ndarray, ...]:
    """Rows and targets to fit and to score, true means of the latter, and the truth's log density of their targets."""
    X, mean = make_friedman1(num_rows + NUM_TEST, noise=0.0, random_state=seed)
    noise = LAWS[law](X)
    errors = noise.rvs(random_state=np.random.default_rng(seed))
    y, new = mean + errors, slice(num_rows, None)
    return X[:num_rows], y[:num_rows], X[new], y[new], mean[new], noise.logpdf(errors)[new]


def run(key: dict[str, Any]) -> dict[str, Any]:
    """What a fit comes to."""
    X, y, test_X, test_y, mean, truth = made_up(key["noise"], key["rows"], key["seed"])
    model = HorseshoeRegressor(likelihood=key["likelihood"], random_state=key["seed"], progress=False)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X, y)
    seconds = time.perf_counter() - start
    low, high = model.predict_interval(test_X, 0.9).T
    return {
        "error": float(np.sqrt(np.mean((model.predict(test_X) - mean) ** 2))),
        "regret": float(truth.mean() - model.log_prob(test_X, test_y).mean()),
        "coverage": float(np.mean((low <= test_y) & (test_y <= high))),
        "noise_report": str(model.noise_report_),
        "units": model.units_kept_.mean(0).tolist(),
        "seconds": seconds,
    }


def report(runs: list[dict]) -> list[str]:
    """A row a law and size, both likelihoods beside each other, and whether the one that may adapt did harm."""
    rows, harmed, num_pairs = [], [], 0
    for law in LAWS:
        for size in sorted({own["rows"] for own in runs}):
            of = {
                name: {own["seed"]: own for own in runs if (own["noise"], own["rows"], own["likelihood"]) == place}
                for name in LIKELIHOODS
                for place in [(law, size, name)]
            }
            seeds = sorted(set.intersection(*(set(by_seed) for by_seed in of.values())))
            if not seeds:
                continue
            pairs = [[of[name][seed] for seed in seeds] for name in LIKELIHOODS]
            errors = [np.mean([own["error"] for own in part]) for part in pairs]
            num_pairs += 1
            if errors[1] > HARM * errors[0]:
                harmed.append(f"{law}, {size:,} rows")
            cells = [
                with_error([own[name] for own in part]) for name in ("error", "regret", "coverage") for part in pairs
            ]
            rows.append((law, f"{size:,}", len(seeds), *cells, pairs[1][0]["noise_report"]))
    columns = ["noise", "rows", "seeds", "error of the mean, Gaussian", "auto"]
    columns += ["below the truth, Gaussian", "auto", "90 % coverage, Gaussian", "auto", "what auto says of it"]
    told = f"The mean is further off, by more than a tenth, in {len(harmed)} of {num_pairs} cases"
    return [*table(columns, rows), "", told + "".join(f"; {case}" for case in harmed) + "."]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=list(ROWS))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--page", action="store_true", help="write the page from what is on record, and fit nothing")
    options = parser.parse_args()
    keys = [
        {"noise": law, "rows": size, "seed": seed, "likelihood": name}
        for seed in range(options.seeds)
        for size in options.rows
        for law in LAWS
        for name in LIKELIHOODS
    ]
    for key in keys if not options.page else []:
        recorded(RUNS, key, partial(run, key))
    runs = on_record(RUNS)
    write("noise", "Noise as the rows ask for it, where tables are large", report(runs), {"runs": runs})


if __name__ == "__main__":
    main()
