"""How good are the predictions? All nine UCI tables, all their splits, beside published scores of the same splits.

    python benchmarks/quality.py                       # about three hours on two cores
    python benchmarks/quality.py --sizes defaults --sets yacht boston --splits 3

Sizes: `defaults` is `HorseshoeRegressor()`: two layers of 100 units offered, three members, noise as the rows ask for
it, pruned and, up to 20,000 rows, sampled. `sampled gaussian` has Gaussian noise instead, `variational` is left at the
first stage, `variational gaussian` is both. `protocol` has the 50 units (protein: 100) in one variational network, with
ReLUs, that published scores were obtained with. `before`, on record only, is what the defaults were when chains had a
metric of positions alone and noise learned late. Every finished split is saved at once in
results/quality_runs.jsonl; a second call goes on from there (`--fresh` forgets it).
"""

import argparse
import csv
import json
import threading
import time
from collections import defaultdict

import numpy as np
from common import RESULTS, table, with_error, write

from pritchel import HorseshoeRegressor
from pritchel.data.sources import UCI, data_folder, load_uci
from pritchel.experiments.runs import SplitRun, run_splits
from pritchel.experiments.statistics import judge, mean_and_error, t_interval

RUNS = RESULTS / "quality_runs.jsonl"
DEEP_ENSEMBLES = "Deep ensembles (M=5)"
GAUSSIAN, VARIATIONAL = {"likelihood": "gaussian"}, {"inference": "variational"}
SIZES = {
    "protocol": lambda name: (
        GAUSSIAN
        | VARIATIONAL
        | {"hidden": (100,) if name == "protein" else (50,), "num_members": 1, "activation": "relu"}
    ),
    "variational gaussian": lambda name: VARIATIONAL | GAUSSIAN,
    "variational": lambda name: VARIATIONAL,
    "sampled gaussian": lambda name: GAUSSIAN,
    "defaults": lambda name: {},
}
TITLES = {
    "defaults": "The defaults: pruned and sampled, noise as the rows ask for it",
    "sampled gaussian": "Gaussian noise, pruned and sampled",
    "variational": "Variational, noise as the rows ask for it",
    "variational gaussian": "Variational, Gaussian noise",
    "before": "The defaults before: chains whose metric knew positions alone, noise that learned late",
    "protocol": "The protocol's sizes: one variational network, 50 units, ReLUs",
}
PAIRS = {  # what is compared split by split: without and with
    ("variational", "defaults"): "Sampled beside variational, noise as the rows ask for it",
    ("variational gaussian", "sampled gaussian"): "Sampled beside variational, Gaussian noise",
    ("before", "defaults"): "Metric by gradients and noise learned about the mean, beside the defaults before",
    ("sampled gaussian", "defaults"): "Noise as the rows ask for it beside Gaussian noise",
}
NUM_TUNED = 16  # splits that settings were chosen on, of one table or another: the first ones; of yacht all
NEVER_SAMPLED = ("protein",)  # over 20,000 rows: by default it is variational
COVERAGE = (0.87, 0.93)  # that 90 % intervals should have


def load_runs() -> list[dict]:
    return [json.loads(line) for line in RUNS.read_text().splitlines()] if RUNS.exists() else []


def run_missing(size: str, name: str, splits: list[int]) -> None:
    """Fit and score the given splits of a table, appending each to the file of runs as it ends."""
    lock = threading.Lock()
    started = time.perf_counter()

    def save(run: SplitRun) -> None:
        estimator = run.estimator
        line = {
            "size": size,
            "set": name,
            "split": run.split,
            "rmse": run.scores.rmse,
            "ll": run.scores.log_likelihood,
            "coverage": run.scores.coverage,
            "constant": run.constant[:2],
            "offered": [len(scales) for scales in estimator.unit_scales_[0]],
            "kept": estimator.units_kept_.mean(0).tolist(),
            "seconds": run.seconds,
        }
        with lock, RUNS.open("a") as file:
            file.write(json.dumps(line) + "\n")
        elapsed = time.perf_counter() - started
        print(
            f"{size} {name} split {run.split}: RMSE {line['rmse']:.4g}, LL {line['ll']:.3f} ({elapsed:.0f} s)",
            flush=True,
        )

    run_splits(
        load_uci(name),
        splits,
        lambda split: HorseshoeRegressor(random_state=split, **SIZES[size](name)),
        on_done=save,
    )


def published() -> tuple[dict, dict]:
    """RMSE and log-likelihood of tuned MC dropout by split, and all methods' means, from the folder beside the data."""
    folder = data_folder().parent / "published"
    by_split = defaultdict(dict)
    with (folder / "mcdropout_gal_per_split.csv").open() as file:
        for row in csv.DictReader(file):
            by_split[row["dataset"]][int(row["split"])] = (float(row["rmse"]), float(row["ll"]))
    means = {}
    with (folder / "uci_published.csv").open() as file:
        for row in csv.DictReader(file):
            means[row["dataset"], row["method"], row["metric"]] = float(row["mean"])
    return by_split, means


def in_cell(run: dict, size: str, name: str) -> bool:
    return (run["size"], run["set"]) == (size, name)


def coverage_in_words(size: str, runs: list[dict]) -> str:
    """Whether intervals hold what they promise, and where not."""
    low, high = COVERAGE
    found = {name: [run["coverage"] for run in runs if in_cell(run, size, name)] for name in UCI}
    shares = {name: mean_and_error(values) for name, values in found.items() if values}
    outside = [f"{name} {100 * s:.1f} ± {100 * e:.1f}" for name, (s, e) in shares.items() if not low <= s <= high]
    told = f"90 % intervals hold {100 * low:.0f} to {100 * high:.0f} % of the test rows on "
    return told + f"{len(shares) - len(outside)} of {len(shares)}" + "".join(f", not {own}" for own in outside) + "."


def report(size: str, runs: list[dict]) -> tuple[list[str], dict]:
    by_split, means = published()
    rows, ahead = [], {"dropout": 0, "ensembles": 0, "sets": 0}
    for name in UCI:
        mine = sorted((run for run in runs if in_cell(run, size, name)), key=lambda run: run["split"])
        if not mine:
            continue
        digits = 5 if name == "naval" else 3
        likelihoods = np.array([run["ll"] for run in mine])
        gains = [run["ll"] - by_split[name][run["split"]][1] for run in mine]
        gain, error = mean_and_error(gains)
        ensembles = means.get((name, DEEP_ENSEMBLES, "ll"))
        ahead["sets"] += 1
        ahead["dropout"] += int(gain > 0)
        ahead["ensembles"] += int(ensembles is not None and likelihoods.mean() > ensembles)
        dropout_rmse = np.mean([by_split[name][run["split"]][0] for run in mine])
        constant = np.mean([run["constant"] for run in mine], axis=0)
        kept = np.mean([run["kept"] for run in mine], axis=0)
        units = " + ".join(f"{k:.0f} of {o}" for k, o in zip(kept, mine[0]["offered"], strict=True))
        rows.append(
            (
                name,
                len(mine),
                with_error([run["rmse"] for run in mine], digits),
                f"{dropout_rmse:.{digits}f}",
                f"{constant[0]:.{digits}f}",
                with_error(likelihoods),
                f"{gain:+.3f} ± {error:.3f}",
                "" if ensembles is None else f"{ensembles:.2f}",
                f"{constant[1]:.2f}",
                f"{np.mean([run['coverage'] for run in mine]):.0%}",
                units,
                f"{np.mean([run['seconds'] for run in mine]):.1f}",
            )
        )
    columns = (
        "",
        "splits",
        "RMSE",
        "MC dropout",
        "constant",
        "log-likelihood",
        "over MC dropout, paired",
        "deep ensembles",
        "constant",
        "90 % coverage",
        "units kept",
        "s a fit",
    )
    total = sum(run["seconds"] for run in runs if run["size"] == size)
    summary = (
        f"Log-likelihood ahead of tuned MC dropout on {ahead['dropout']} of {ahead['sets']} tables and of deep "
        f"ensembles on {ahead['ensembles']}. {coverage_in_words(size, runs)} The fits took {total / 60:.0f} minutes of "
        "wall time, summed, several at a time."
    )
    return [*table(columns, rows), "", summary], ahead


def compare(before: str, after: str, runs: list[dict]) -> list[str]:
    """Two sizes on the splits that both have run, table by table; none where there are no such splits."""
    rows, num_ahead, num_all = [], 0, 0
    verdicts = {score: defaultdict(list) for score in ("ll", "rmse")}
    for name in UCI:
        found = [{run["split"]: run for run in runs if in_cell(run, size, name)} for size in (before, after)]
        splits = sorted(found[0].keys() & found[1].keys())
        if not splits:
            continue
        (old, new), digits = ([own[split] for split in splits] for own in found), 5 if name == "naval" else 3
        gains = {split: b["ll"] - a["ll"] for split, a, b in zip(splits, old, new, strict=True)}
        for score, sign in (("ll", 1), ("rmse", -1)):
            better = t_interval(sign * (b[score] - a[score]) for a, b in zip(old, new, strict=True))
            verdicts[score][judge(better)].append(name)
        fresh = [gain for split, gain in gains.items() if split >= NUM_TUNED]
        num_ahead, num_all = num_ahead + sum(gain > 0 for gain in gains.values()), num_all + len(gains)
        rows.append(
            (
                name,
                len(splits),
                *(f"{np.mean([run['ll'] for run in own]):.3f}" for own in (old, new)),
                with_error(gains.values()),
                with_error(fresh) if fresh else "",
                *(f"{np.mean([run['rmse'] for run in own]):.{digits}f}" for own in (old, new)),
                with_error([b["rmse"] - a["rmse"] for a, b in zip(old, new, strict=True)], digits),
                *(f"{np.mean([run['coverage'] for run in own]):.0%}" for own in (old, new)),
            )
        )
    columns = (
        "",
        "splits",
        f"log-likelihood, {before}",
        after,
        "gain, paired",
        f"from split {NUM_TUNED} on",
        f"RMSE, {before}",
        after,
        "change, paired",
        f"90 % coverage, {before}",
        after,
    )
    if not rows:
        return []
    told = [f"{word}: {in_words(verdicts[score])}." for score, word in (("ll", "Log-likelihood"), ("rmse", "RMSE"))]
    return [*table(columns, rows), "", f"Ahead in log-likelihood on {num_ahead} of {num_all} splits. {' '.join(told)}"]


def in_words(tables: dict[str, list[str]]) -> str:
    """By 95 % intervals of the paired differences: on which tables better, worse, or neither."""
    words = {"holds": "better", "does not hold": "worse", "unclear": "no worse by more than error"}
    return "; ".join(f"{words[verdict]} on {', '.join(tables[verdict])}" for verdict in words if tables[verdict])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--sets", nargs="+", choices=UCI, default=list(UCI))
    parser.add_argument("--splits", type=int, default=20, help="at most so many of each table's splits")
    parser.add_argument("--fresh", action="store_true", help="forget runs saved earlier")
    options = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    if options.fresh:
        RUNS.unlink(missing_ok=True)
    for size in options.sizes:
        for name in options.sets:
            if size == "variational" and name in NEVER_SAMPLED:
                continue  # the defaults are that
            done = {run["split"] for run in load_runs() if in_cell(run, size, name)}
            num_splits = min(options.splits, len(load_uci(name).test_index))
            missing = [split for split in range(num_splits) if split not in done]
            if missing:
                run_missing(size, name, missing)
    runs = load_runs()
    lines, summary = [], {}
    for size, title in TITLES.items():
        if any(run["size"] == size for run in runs):
            part, summary[size] = report(size, runs)
            lines += [f"## {title}", "", *part, ""]
    for pair, title in PAIRS.items():
        if part := compare(*pair, runs):
            lines += [f"## {title}", "", *part, ""]
    write("quality", "Quality on nine tables", lines, {"summary": summary, "runs": runs})


if __name__ == "__main__":
    main()
