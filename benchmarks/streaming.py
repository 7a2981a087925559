"""How much memory and time does a fit from Parquet files take, and is it as good as one from memory?

    python benchmarks/streaming.py [rows in millions, 20 by default] [folder for the files]

Files that are there are not made again. Each fit has a process of its own, so that its peak of memory is its own.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from common import table, verdict, write

from pritchel import HorseshoeRegressor
from pritchel.data.sources import data_folder

MILLIONS, SHARD_ROWS, NUM_FEATURES = 20.0, 1_000_000, 10
STEPS = 2000  # of the fit to many rows: it is memory and reading that are measured
LIMIT_MB, NUM_TEST_FLIGHTS = 1500, 20_000
ON_FLIGHTS = {"likelihood": "gaussian", "num_members": 1, "random_state": 0, "inference": "variational"}


def make_shards(folder: Path, num_rows: int) -> None:
    """Parquet files of a million rows each: ten inputs of which three count."""
    folder.mkdir(parents=True, exist_ok=True)
    for index, start in enumerate(range(0, num_rows, SHARD_ROWS)):
        path, rows = folder / f"part-{index:04d}.parquet", min(SHARD_ROWS, num_rows - start)
        if path.exists():
            continue
        rng = np.random.default_rng(index)
        X = rng.normal(size=(rows, NUM_FEATURES)).astype(np.float32)
        y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=rows)
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(NUM_FEATURES)]).assign(y=y)
        frame.to_parquet(path.with_suffix(".tmp"), index=False)
        path.with_suffix(".tmp").rename(path)


def flights_folder(folder: Path) -> Path:
    """The flights to train on as eight files in the order of the source, and those to test on beside them."""
    with np.load(data_folder() / "standin" / "flights.npz", allow_pickle=False) as arrays:
        X, y, names = arrays["X"].astype(float), arrays["y"].astype(float), arrays["columns"].tolist()
    order = np.random.default_rng(0).permutation(len(y))
    frame = pd.DataFrame(X, columns=names).assign(delay=y)
    (folder / "train").mkdir(parents=True, exist_ok=True)
    frame.iloc[order[:NUM_TEST_FLIGHTS]].to_parquet(folder / "test.parquet", index=False)
    train = frame.iloc[np.sort(order[NUM_TEST_FLIGHTS:])]
    for index, rows in enumerate(np.array_split(np.arange(len(train)), 8)):
        train.iloc[rows].to_parquet(folder / "train" / f"part-{index}.parquet", index=False)
    return folder


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fit_shards(folder: str, num_members: str) -> dict:
    """A fit to many rows; when reading ended, and the peak."""
    start, ends = time.perf_counter(), {}
    before = peak_mb()

    def progress(state) -> None:
        ends[state.stage] = time.perf_counter() - start

    model = HorseshoeRegressor(num_members=int(num_members), random_state=0, progress=progress)
    model.set_params(training__num_steps=STEPS).fit(folder, "y")
    seconds, rng = time.perf_counter() - start, np.random.default_rng(10**6)
    X = pd.DataFrame(rng.normal(size=(5000, NUM_FEATURES)), columns=model.feature_names_in_)
    truth = np.sin(2 * X["x0"]) + X["x1"] * X["x2"]
    error = float(np.sqrt(np.mean((model.predict(X) - truth) ** 2)) / truth.std())
    return {"peak": peak_mb(), "before": before, "reading": ends["reading"], "seconds": seconds, "error": error}


def fit_flights(folder: str, source: str) -> dict:
    """A fit to the flights, from their files, through a buffer, or from memory; and its scores on others."""
    train, test = Path(folder) / "train", pd.read_parquet(Path(folder) / "test.parquet")
    model, start = HorseshoeRegressor(**ON_FLIGHTS, progress=False), time.perf_counter()
    if source == "memory":
        frame = pd.read_parquet(train)
        model.fit(frame.drop(columns="delay"), frame["delay"])
    else:
        model.set_params(training__buffer_rows="auto" if source == "auto" else int(source)).fit(train, "delay")
    seconds, X = time.perf_counter() - start, test.drop(columns="delay")
    rmse = float(np.sqrt(np.mean((model.predict(X) - test["delay"]) ** 2)))
    return {"seconds": seconds, "peak": peak_mb(), "rmse": rmse, "ll": float(model.log_prob(X, test["delay"]).mean())}


def in_a_process(name: str, *arguments: str) -> dict:
    """A figure of a process of its own."""
    command = [sys.executable, __file__, name, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    millions = float(sys.argv[1]) if len(sys.argv) > 1 else MILLIONS
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(tempfile.gettempdir()) / "pritchel-streaming"
    shards, num_rows = folder / f"rows-{millions:g}m", int(millions * 1e6)
    load = os.getloadavg()[0]
    make_shards(shards, num_rows)
    on_disk = sum(path.stat().st_size for path in shards.iterdir()) / 2**20
    many = {members: in_a_process("fit_shards", str(shards), members) for members in ("1", "3")}
    flights = flights_folder(folder / "flights")
    sources = {
        "memory": "memory",
        "auto": "Parquet, the default buffer (holds all)",
        "80000": "Parquet, a buffer of 80,000 rows",
        "20000": "Parquet, a buffer of 20,000 rows",
    }
    on_flights = {source: in_a_process("fit_flights", str(flights), source) for source in sources}
    highest = max(own["peak"] for own in many.values())
    lines = [
        f"{num_rows:,} rows of {NUM_FEATURES} inputs, {on_disk:,.0f} MB in files of a million; {STEPS:,} steps.",
        "",
        *table(
            (
                "members",
                "peak RSS, MB",
                "s, first pass",
                "s in all",
                "rows/s, first pass",
                "RMSE / spread of the truth",
            ),
            [
                (
                    n,
                    f"{v['peak']:,.0f}",
                    f"{v['reading']:.1f}",
                    f"{v['seconds']:.1f}",
                    f"{num_rows / v['reading']:,.0f}",
                    f"{v['error']:.3f}",
                )
                for n, v in many.items()
            ],
        ),
        "",
        f"Peak memory of a process, MB: {highest:,.0f}, {verdict(highest, LIMIT_MB)}. Load at the start: {load:.1f}.",
        "",
        "The flights table, one member, default steps, in files in the order of the source (by month):",
        "",
        *table(
            ("rows from", "s", "peak RSS, MB", "RMSE", "log-likelihood"),
            [
                (told, f"{v['seconds']:.0f}", f"{v['peak']:,.0f}", f"{v['rmse']:.2f}", f"{v['ll']:.3f}")
                for told, v in ((sources[name], on_flights[name]) for name in sources)
            ],
        ),
    ]
    data = {"rows": num_rows, "many": many, "flights": on_flights, "load at the start": load}
    write("streaming", "Fits from batches: memory, time and quality", lines, data)


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] in ("fit_shards", "fit_flights"):
        print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
    else:
        main()
