"""Is the variational answer as good as the sampled one where tables are large? What sampling adds, by rows.

    python benchmarks/large_tables.py                    # about an hour on two cores
    python benchmarks/large_tables.py --rows 2000 8000 --seeds 1
    python benchmarks/large_tables.py --uci protein --rows

A made-up table: Friedman's function of ten columns, noise whose spread depends on one of them, and scores on 5,000 rows
beside those of the truth. Both fits are the defaults but for `inference`: the same networks, pruned and sampled or not.
Every finished fit is saved at once in results/large_tables_runs.jsonl; a second call goes on from there.
"""

import argparse
import time
import warnings
from functools import partial
from typing import Any

import numpy as np
from common import RESULTS, on_record, recorded, table, with_error, write
from scipy import stats

from pritchel import HorseshoeRegressor
from pritchel.data.sources import load_uci
from pritchel.experiments.scores import estimator_scores

RUNS = RESULTS / "large_tables_runs.jsonl"
NUM_TEST = 5000
ROWS = (2000, 8000, 20_000, 50_000)
INFERENCES = ("variational", "sampled")


def made_up(num_rows: int, seed: int) -> tuple[np.ndarray, ...]:
    """Training rows and targets, those to test on, and the truth's log density of each of these."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(num_rows + NUM_TEST, 10))
    mean = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    sd = np.exp(1.5 * X[:, 5] - 0.75)
    y = mean + sd * rng.normal(size=len(X))
    new = slice(num_rows, None)
    return X[:num_rows], y[:num_rows], X[new], y[new], stats.norm.logpdf(y, mean, sd)[new]


def run(key: dict[str, Any]) -> dict[str, Any]:
    """Scores of one fit; of a made-up table also how far its log-likelihood is below the truth's."""
    truth = None
    if key["table"] == "made up":
        train_X, train_y, test_X, test_y, truth = made_up(key["rows"], key["seed"])
    else:
        train_X, train_y, test_X, test_y = load_uci(key["table"]).split(key["seed"])
    model = HorseshoeRegressor(inference=key["inference"], random_state=key["seed"], progress=False)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(train_X, train_y)
    seconds = time.perf_counter() - start
    scores = estimator_scores(model, test_X, test_y)
    found = {"rmse": scores.rmse, "ll": scores.log_likelihood, "coverage": scores.coverage, "seconds": seconds}
    found |= {"units": model.units_kept_.mean(0).tolist(), "report": str(model.sampling_report_)}
    return found if truth is None else found | {"regret": float(truth.mean()) - scores.log_likelihood}


def report(runs: list[dict]) -> list[str]:
    """A row a table and size, both inferences beside each other, and what sampling gains, paired by seed."""
    places = sorted({(own["table"], own["rows"] or 0) for own in runs})
    rows = []
    for place in places:
        by_seed: dict[int, dict[str, dict]] = {}
        for own in runs:
            if (own["table"], own["rows"] or 0) == place:
                by_seed.setdefault(own["seed"], {})[own["inference"]] = own
        pairs = [both for both in by_seed.values() if len(both) == len(INFERENCES)]
        if not pairs:
            continue

        def each(name: str, pairs: list[dict] = pairs, digits: int = 3) -> list[str]:
            return [with_error([both[how].get(name, np.nan) for both in pairs], digits) for how in INFERENCES]

        gains = [both["sampled"]["ll"] - both["variational"]["ll"] for both in pairs]
        shown = "regret" if place[0] == "made up" else "ll"
        title = f"{place[0]}, {place[1]:,} rows" if place[1] else place[0]
        seconds = [f"{np.mean([both[how]['seconds'] for both in pairs]):.0f}" for how in INFERENCES]
        rows.append(
            (title, len(pairs), *each(shown), with_error(gains), *each("rmse", digits=2), *each("coverage"), *seconds)
        )
    columns = ["table", "seeds", "below the truth (or log-likelihood), variational", "sampled", "gain, paired"]
    columns += ["RMSE, variational", "sampled", "90 % coverage, variational", "sampled", "s, variational", "s, sampled"]
    return table(columns, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=list(ROWS), help="sizes of the made-up table")
    parser.add_argument("--uci", nargs="*", default=["protein"], help="benchmark tables besides; seeds are splits")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--page", action="store_true", help="write the page from what is on record, and fit nothing")
    options = parser.parse_args()
    places = [("made up", rows) for rows in options.rows] + [(name, None) for name in options.uci]
    keys = [
        {"table": name, "rows": rows, "seed": seed, "inference": how}
        for seed in range(options.seeds)
        for name, rows in places
        for how in INFERENCES
    ]
    for key in keys if not options.page else []:
        recorded(RUNS, key, partial(run, key))
    runs = on_record(RUNS)
    write("large_tables", "Large tables: what sampling adds", report(runs), {"runs": runs})


if __name__ == "__main__":
    main()
