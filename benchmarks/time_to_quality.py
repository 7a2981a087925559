"""Seconds until Pritchel is as good as each peer ends, and as it ends itself: from the shortest schedule that is.

    python benchmarks/time_to_quality.py                 # about fifteen minutes on two idle cores
    python benchmarks/time_to_quality.py --peers NGBoost --cases boston:5

A schedule is a number of steps before sampling and of iterations in the chains, shorter and shorter than the default's.
Seconds are those of a second fit, compiled; of peers of their first, as nothing is compiled but bde (its second).
Scores are means over the cases, which are splits that no setting was chosen on. Each case of each method, and each
schedule, is a line of results/time_to_quality_runs.jsonl; a second call goes on from there.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import RESULTS, recorded, table, write
from default import ARENA, in_process, python_of

RUNS = RESULTS / "time_to_quality_runs.jsonl"
CASES = (("boston", 5), ("concrete", 5), ("energy", 5), ("boston", 6), ("concrete", 6), ("energy", 6))
PEERS = ("Deep ensemble", "bde", "NGBoost", "Gaussian process")
IS_COMPILED = ("bde",)
SCHEDULES = ((500, 30, 20), (1000, 60, 40), (2000, 90, 60), (2000, 150, 100), (4000, 150, 100), (4000, 300, 200))
NEARLY = 0.02  # nats


def fit_schedule(schedule: tuple[int, ...], name: str, split: int) -> None:
    """Print the seconds of a second fit, and its test log-likelihood."""
    import warnings

    from pritchel import HorseshoeRegressor, Sampling, Training
    from pritchel.data.sources import load_uci

    num_steps, num_warmup, num_samples = schedule
    train_X, train_y, test_X, test_y = load_uci(name).split(split)
    sampling = Sampling(num_warmup=num_warmup, num_samples=num_samples)
    model = HorseshoeRegressor(training=Training(num_steps=num_steps), sampling=sampling, random_state=split)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of chains that are short: they are meant to be
        model.set_params(progress=False).fit(train_X, train_y)
        start = time.perf_counter()
        model.fit(train_X, train_y)
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "log_likelihood": float(model.log_prob(test_X, test_y).mean())}))


def of_schedule(schedule: tuple[int, ...], case: tuple[str, int]) -> dict[str, float]:
    words = [sys.executable, __file__, "--fit", *map(str, (*schedule, *case))]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def of_peer(name: str, case: tuple[str, int]) -> dict[str, float]:
    from pritchel.data.sources import load_uci

    sys.path.insert(0, str(ARENA))
    python = python_of(name)
    if python is None:
        raise SystemExit(f"{name} is not installed: `make arena ARENA=--page` sets up what it needs, or leave it out.")
    train_X, train_y, test_X, test_y = load_uci(case[0]).split(case[1])
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "data.npz"
        np.savez(place, X=train_X, y=train_y, test_X=test_X, test_y=test_y, rows=test_X)
        found = in_process(name, python, place)
    return {"seconds": found["second" if name in IS_COMPILED else "first"], "log_likelihood": found["log_likelihood"]}


def means(found: list[dict[str, float]]) -> tuple[float, float]:
    """Seconds and log-likelihood over the cases."""
    return statistics.mean(own["seconds"] for own in found), statistics.mean(own["log_likelihood"] for own in found)


def soonest(schedules: dict[str, tuple[float, float]], target: float) -> tuple[str, float] | None:
    """The schedule of the fewest seconds whose log-likelihood is as high as the target."""
    reached = [(seconds, name) for name, (seconds, score) in schedules.items() if score >= target]
    return None if not reached else (min(reached)[1], min(reached)[0])


def report(peers: dict[str, tuple[float, float]], schedules: dict[str, tuple[float, float]]) -> list[str]:
    """Both tables: every schedule, and every target."""
    rows = [(name, f"{seconds:.1f}", f"{score:.3f}") for name, (seconds, score) in schedules.items()]
    lines = table(("steps, warm-up + draws", "seconds", "log-likelihood"), rows)
    own = list(schedules.values())[-1]
    targets = {**peers, f"Pritchel's own, less {NEARLY:g}": (own[0], own[1] - NEARLY)}
    rows = []
    for name, (seconds, score) in targets.items():
        found = soonest(schedules, score)
        said = ("never", "", "") if found is None else (f"{found[1]:.1f}", found[0], f"{found[1] / seconds:.2f}")
        rows.append((name, f"{score:.3f}", f"{seconds:.1f}", *said))
    columns = ("as good as", "log-likelihood", "its seconds", "Pritchel's seconds until then", "schedule", "ratio")
    return [*lines, "", *table(columns, rows)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", nargs=5, help=argparse.SUPPRESS)
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=PEERS)
    parser.add_argument(
        "--cases", nargs="+", default=[f"{name}:{split}" for name, split in CASES], metavar="TABLE:SPLIT"
    )
    options = parser.parse_args()
    if options.fit:
        *schedule, name, split = options.fit
        fit_schedule(tuple(map(int, schedule)), name, int(split))
        return
    cases = [(name, int(split)) for name, split in (words.split(":") for words in options.cases)]
    found: dict[str, list[dict[str, float]]] = {}
    for case in cases:
        of_case = {"table": case[0], "split": case[1]}
        for name in options.peers:
            own = recorded(RUNS, {"method": name, **of_case}, lambda name=name, case=case: of_peer(name, case))
            found.setdefault(name, []).append(own)
        for schedule in SCHEDULES:
            name = "{:,}, {} + {}".format(*schedule)
            own = recorded(RUNS, {"method": name, **of_case}, lambda own=schedule, case=case: of_schedule(own, case))
            found.setdefault(name, []).append(own)
    told = {name: means(own) for name, own in found.items()}
    peers = {name: told.pop(name) for name in options.peers}
    about = "Means over " + ", ".join(f"{name} {split}" for name, split in cases) + "."
    write("time_to_quality", "Time to quality", [about, "", *report(peers, told)], {"peers": peers, "schedules": told})


if __name__ == "__main__":
    main()
