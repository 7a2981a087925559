"""How many rows a second are predicted at scale: by Dask, Ray Data and pyarrow alone, beside `predict` in one process?

    python benchmarks/serving.py              # 200,000 rows in eight files, two workers each
    python benchmarks/serving.py --rows 20000

The model is that of examples/score_parquet.py. Workers have its export to numpy, of twenty draws, and import neither
JAX nor Pritchel: the examples that are run here fail if they do. Clusters are started, and have predicted once, before
they are timed; each way writes its answers as Parquet. One thread of linear algebra a worker.
"""

import argparse
import importlib
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

EXAMPLES = Path(__file__).parents[1] / "examples"
NUM_ROWS, NUM_FILES, WORKERS, REPEATS = 200_000, 8, 2, 3


def example(name: str) -> Any:
    """A script in examples/ as a module."""
    if str(EXAMPLES) not in sys.path:
        sys.path.insert(0, str(EXAMPLES))
    return importlib.import_module(name)


def in_process(model, folder: Path) -> None:
    """`TableModel.predict`, file by file, with all draws of the posterior."""
    for path in sorted((folder / "rows").glob("*.parquet")):
        model.predict(pd.read_parquet(path)).to_parquet(folder / "answers.parquet", index=False)


def exported_in_process(folder: Path) -> None:
    """The exported file, in this process."""
    exported = sys.modules.get("exported") or importlib.import_module("exported")
    for path in sorted((folder / "rows").glob("*.parquet")):
        frame = pd.read_parquet(path)
        mean, sd = exported.predict({name: frame[name].to_numpy() for name in ("a", "town")})
        pd.DataFrame({"mean": mean, "sd": sd}).to_parquet(folder / "answers.parquet", index=False)


def by_pyarrow(folder: Path) -> None:
    """A process a file, two at a time: python worker.py IN OUT. Starting Python is part of it."""

    def run(path: Path) -> None:
        words = [sys.executable, "worker.py", str(path), f"{path.stem}-answers.parquet"]
        subprocess.run(words, cwd=folder, check=True, capture_output=True)

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(run, sorted((folder / "rows").glob("*.parquet"))))


@contextmanager
def dask() -> Iterator[None]:
    """A cluster on this machine."""
    from distributed import Client, LocalCluster

    quiet = {"dashboard_address": None, "worker_dashboard_address": None, "host": "127.0.0.1"}
    with LocalCluster(n_workers=WORKERS, threads_per_worker=1, **quiet) as cluster, Client(cluster):
        yield


@contextmanager
def ray() -> Iterator[None]:
    """An instance on this machine."""
    os.environ |= {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    import ray as engine
    import ray.data as tables

    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "error"}
    paths = os.pathsep.join([str(EXAMPLES), *sys.path])  # workers import the example by its name
    engine.init(num_cpus=WORKERS, runtime_env={"env_vars": {"PYTHONPATH": paths}}, **quiet)
    tables.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    try:
        yield
    finally:
        engine.shutdown()


def predicting(name: str, folder: Path) -> Callable[[], None]:
    """What an example does of the files, once its cluster is there."""

    def run() -> None:
        shutil.rmtree(folder / "answers", ignore_errors=True)
        module = example(name)
        if module.predict_all(folder / "rows", folder / "exported.py", folder / "answers") != NUM_ROWS:
            raise SystemExit(f"{name} has not answered every row.")

    return run


def measure(folder: Path, repeats: int) -> dict[str, float]:
    """Rows a second, by the way they are predicted."""
    parquet = example("score_parquet")
    parquet.NUM_FILES, parquet.ROWS = NUM_FILES, NUM_ROWS // NUM_FILES
    model = parquet.fit_and_export(folder)
    (folder / "worker.py").write_text(parquet.WORKER)
    sys.path.insert(0, str(folder))
    ways = {
        "TableModel.predict, this process": lambda: in_process(model, folder),
        "the export to numpy, this process": lambda: exported_in_process(folder),
        f"pyarrow, {WORKERS} processes at a time, each begun anew": lambda: by_pyarrow(folder),
    }
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")  # of workers
    found = {name: _rate(run, repeats) for name, run in ways.items()}
    with dask():
        found[f"Dask map_partitions, {WORKERS} workers"] = _rate(predicting("score_dask", folder), repeats)
    with ray():
        found[f"Ray Data map_batches, {WORKERS} workers"] = _rate(predicting("score_ray", folder), repeats)
    return found


def _rate(run: Callable[[], None], repeats: int) -> float:
    from common import median_seconds  # here: workers that a cluster starts import this file, and are to have no more

    start = time.perf_counter()
    rate = NUM_ROWS / median_seconds(run, repeats)
    print(f"{rate:,.0f} rows a second ({time.perf_counter() - start:.0f} s)", flush=True)
    return rate


def main() -> None:
    global NUM_ROWS
    from common import table, write

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=NUM_ROWS, help="default %(default)s")
    NUM_ROWS = NUM_FILES * max(parser.parse_args().rows // NUM_FILES, 1)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
        found = measure(Path(folder), REPEATS)
    first = next(iter(found.values()))
    rows = [(name, f"{rate:,.0f}", f"{rate / first:.2f}") for name, rate in found.items()]
    lines = [
        f"{NUM_ROWS:,} rows in {NUM_FILES} Parquet files, a number and a category; medians of {REPEATS}, warm.",
        "",
        *table(("", "rows/s", "x the first"), rows),
        "",
        "The first answers with the posterior's own draws, on all cores; the others with the twenty of the export.",
    ]
    write("serving", "Rows predicted a second", lines, {"rows": NUM_ROWS, "rows a second": found})


if __name__ == "__main__":
    main()
