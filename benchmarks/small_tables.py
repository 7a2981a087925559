"""Does a fit know when there is little to learn? Small, noisy, linear and empty tables, beside ridge and the constant.

    python benchmarks/small_tables.py                    # about half an hour on two cores
    python benchmarks/small_tables.py --seeds 1 --tables "noise 100 x 10"

Scores are on 1,000 rows that were not fitted (diabetes: a quarter of its rows). Ridge is scikit-learn's `BayesianRidge`
on standardized columns, the constant a Gaussian with the training rows' mean and spread. Every finished fit is saved at
once in results/small_tables_runs.jsonl; a second call goes on from there.
"""

import argparse
import json
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from common import RESULTS, table, with_error, write
from scipy import stats
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pritchel import HorseshoeRegressor
from pritchel.experiments.scores import estimator_scores
from pritchel.experiments.statistics import mean_and_error

RUNS = RESULTS / "small_tables_runs.jsonl"
NUM_TEST = 1000
Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def noise(num_rows: int, num_columns: int, slopes: float, seed: int) -> Split:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(num_rows + NUM_TEST, num_columns))
    y = slopes * X @ rng.normal(size=num_columns) + rng.normal(size=len(X))
    return X[:num_rows], y[:num_rows], X[num_rows:], y[num_rows:]


def diabetes(seed: int) -> Split:
    train_X, test_X, train_y, test_y = train_test_split(*load_diabetes(return_X_y=True), random_state=seed)
    return train_X, train_y, test_X, test_y


def friedman(num_rows: int, seed: int) -> Split:
    X, y = make_friedman1(num_rows + NUM_TEST, noise=1.0, random_state=seed)
    return X[:num_rows], y[:num_rows], X[num_rows:], y[num_rows:]


TABLES: dict[str, Callable[[int], Split]] = {
    "diabetes": diabetes,
    "noise 100 x 10": lambda seed: noise(100, 10, 0.0, seed),
    "noise 300 x 30": lambda seed: noise(300, 30, 0.0, seed),
    "noise 1000 x 30": lambda seed: noise(1000, 30, 0.0, seed),
    "linear 50 x 10": lambda seed: noise(50, 10, 0.5, seed),
    "linear 200 x 10": lambda seed: noise(200, 10, 0.5, seed),
    "Friedman 100 x 10": lambda seed: friedman(100, seed),
}


def gaussian_scores(y: np.ndarray, mean: Any, sd: Any) -> dict[str, float]:
    return {
        "rmse": float(np.sqrt(np.mean((y - mean) ** 2))),
        "ll": float(stats.norm.logpdf(y, mean, sd).mean()),
        "coverage": float(np.mean(np.abs(y - mean) <= stats.norm.ppf(0.95) * sd)),
    }


def network_scores(inference: str, likelihood: str, split: Split, seed: int) -> dict[str, float]:
    train_X, train_y, test_X, test_y = split
    model = HorseshoeRegressor(likelihood=likelihood, inference=inference, random_state=seed, progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # collapse is the right answer on noise
        model.fit(train_X, train_y)
    scores = estimator_scores(model, test_X, test_y)
    units = model.units_kept_.mean(0).sum()
    return {"rmse": scores.rmse, "ll": scores.log_likelihood, "coverage": scores.coverage, "units": float(units)}


def ridge_scores(split: Split) -> dict[str, float]:
    train_X, train_y, test_X, test_y = split
    model = make_pipeline(StandardScaler(), BayesianRidge()).fit(train_X, train_y)
    return gaussian_scores(test_y, *model.predict(test_X, return_std=True))


METHODS: dict[str, Callable[[Split, int], dict[str, float]]] = {
    "adaptive": lambda split, seed: network_scores("sampled", "auto", split, seed),
    "sampled": lambda split, seed: network_scores("sampled", "gaussian", split, seed),
    "variational": lambda split, seed: network_scores("variational", "gaussian", split, seed),
    "ridge": lambda split, seed: ridge_scores(split),
    "constant": lambda split, seed: gaussian_scores(split[3], split[1].mean(), split[1].std()),
}


def load_runs() -> list[dict]:
    return [json.loads(line) for line in RUNS.read_text().splitlines()] if RUNS.exists() else []


SIMPLE = ("ridge", "constant")
COVERAGE = (0.85, 0.95)


def over_simple(runs: list[dict], name: str, method: str) -> list[float]:
    """Log-likelihood over the better of ridge and the constant, of each seed that all three have."""
    by_method = {
        own: {run["seed"]: run["ll"] for run in runs if (run["table"], run["method"]) == (name, own)}
        for own in (method, *SIMPLE)
    }
    seeds = sorted(set.intersection(*(set(own) for own in by_method.values())))
    return [by_method[method][seed] - max(by_method[own][seed] for own in SIMPLE) for seed in seeds]


def report(runs: list[dict]) -> list[str]:
    lines, complaints = [], []
    for name in TABLES:
        rows = []
        for method in METHODS:
            mine = [run for run in runs if (run["table"], run["method"]) == (name, method)]
            if mine:
                scores = [with_error([run[score] for run in mine]) for score in ("rmse", "ll", "coverage")]
                units = f"{np.mean([run['units'] for run in mine]):.0f}" if "units" in mine[0] else ""
                gains = [] if method in SIMPLE else over_simple(runs, name, method)
                rows.append((method, len(mine), *scores, with_error(gains) if gains else "", units))
                if method == "adaptive":
                    complaints += judge(name, gains, float(np.mean([run["coverage"] for run in mine])))
        if rows:
            columns = (
                "",
                "seeds",
                "RMSE",
                "log-likelihood",
                "90 % coverage",
                "log-likelihood over the better of ridge and constant",
                "units kept, of 200",
            )
            lines += [f"## {name}", "", *table(columns, rows), ""]
    told = "; ".join(complaints) or "nowhere behind by more than two errors, coverage between 85 and 95 % everywhere"
    return [f"The default (adaptive): {told}.", "", *lines]


def judge(name: str, gains: list[float], coverage: float) -> list[str]:
    """What is wrong with the default on a table, in words."""
    found = []
    mean, error = mean_and_error(gains)
    if mean < -2 * error:
        found.append(f"{name}: behind by {-mean:.3f} ± {error:.3f}")
    if not COVERAGE[0] <= coverage <= COVERAGE[1]:
        found.append(f"{name}: {coverage:.0%} in 90 % intervals")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    done = {(run["table"], run["method"], run["seed"]) for run in load_runs()}
    for seed in range(options.seeds):
        for name in options.tables:
            for method in options.methods:
                if (name, method, seed) not in done:
                    run = {"table": name, "method": method, "seed": seed, **METHODS[method](TABLES[name](seed), seed)}
                    with RUNS.open("a") as file:
                        file.write(json.dumps(run) + "\n")
                    print(run, flush=True)
    runs = load_runs()
    write("small_tables", "Small, noisy, linear and empty tables", report(runs), {"runs": runs})


if __name__ == "__main__":
    main()
