"""What does a person wait for who uses the defaults? Fits, answers, memory; beside what they would use instead.

python benchmarks/default.py                         # about ten minutes on two idle cores
python benchmarks/default.py --methods Pritchel NGBoost --repeats 1

Each method is the arena's (`arena/methods`), in a process of its own and in the environment that it lives in: `make
arena ARENA=--page` sets up those of NGBoost and bde. Without them they are left out, and the page says so.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ARENA = Path(__file__).parent / "arena"
METHODS = (
    "Pritchel",
    "Pritchel, variational",
    "Pritchel, fast",
    "Deep ensemble",
    "bde",
    "NGBoost",
    "Gaussian process",
    "Gradient boosting",
)
TABLE, NUM_ROWS, REPEATS = "boston", 20_000, 3
LEVELS = np.array([0.05, 0.95])
MEASURES = {
    "first fit, s": "first",
    "processor s": "first_processor",
    "second fit, s": "second",
    "means, ms": "mean",
    "90 % intervals, ms": "intervals",
    "memory, MB": "megabytes",
    "log-likelihood": "log_likelihood",
}


def measure(name: str, place: str) -> dict[str, float]:
    """All figures of one method, in this process, which has fitted nothing yet."""
    began, processor = time.perf_counter(), time.process_time()
    sys.path.insert(0, str(ARENA))
    from registry import METHODS as known

    with np.load(place, allow_pickle=False) as file:
        data = dict(file)
    fit = known[name].fit_numbers
    assert fit is not None
    fit(data["X"], data["y"], 0)
    found = {"first": time.perf_counter() - began, "first_processor": time.process_time() - processor}
    began = time.perf_counter()
    fitted = fit(data["X"], data["y"], 0)
    found["second"] = time.perf_counter() - began
    found["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    answer = fitted.predict(data["test_X"])
    if answer.log_density is not None:
        found["log_likelihood"] = float(np.mean(answer.log_density(data["test_y"])))
    fitted.predict(data["rows"][:100]).quantiles(LEVELS)
    began = time.perf_counter()
    many = fitted.predict(data["rows"])
    found["mean"] = 1000 * (time.perf_counter() - began)
    many.quantiles(LEVELS)
    found["intervals"] = 1000 * (time.perf_counter() - began)
    return found


def python_of(name: str) -> Path | None:
    """The interpreter that has a method's packages; None: there is none yet."""
    from registry import METHODS as known

    other = ARENA.parents[1] / f".venv-{known[name].environment}" / "bin" / "python"
    if other.exists():
        return other
    needs_more = any(package in ("ngboost", "sklearn-contrib-bde") for package in known[name].packages)
    return None if needs_more else Path(sys.executable)


def in_process(name: str, python: Path, place: Path) -> dict[str, float]:
    told = {**os.environ, "PRITCHEL_CACHE": "off"}  # a first fit, as everybody else's
    words = [str(python), __file__, "--only", name, str(place)]
    said = subprocess.run(words, check=True, capture_output=True, text=True, env=told).stdout
    return json.loads(said.splitlines()[-1])


def run(names: list[str], repeats: int) -> dict[str, dict[str, float]]:
    """Medians of each method's figures, the methods in turns; those that cannot run here are left out."""
    from pritchel.data.sources import load_uci

    train_X, train_y, test_X, test_y = load_uci(TABLE).split(0)
    found: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "data.npz"
        rows = np.resize(train_X, (NUM_ROWS, train_X.shape[1]))
        np.savez(place, X=train_X, y=train_y, test_X=test_X, test_y=test_y, rows=rows)
        for repeat in range(repeats):
            for name in names:
                if (python := python_of(name)) is not None:
                    print(f"{name}, {repeat + 1} of {repeats}", file=sys.stderr, flush=True)
                    found.setdefault(name, []).append(in_process(name, python, place))
    return {name: {key: statistics.median(own[key] for own in all_) for key in all_[0]} for name, all_ in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs=2, metavar=("METHOD", "ROWS"), help="measure this one here, and print it")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(measure(*options.only)))
        return
    from common import table, write

    sys.path.insert(0, str(ARENA))
    found = run(list(options.methods), options.repeats)
    rows = [(name, *(_told(own, key) for key in MEASURES.values())) for name, own in found.items()]
    lines = table((f"{TABLE}, 455 rows; answers for {NUM_ROWS:,}", *MEASURES), rows)
    if missing := [name for name in options.methods if name not in found]:
        lines += ["", f"Not here: {', '.join(missing)} (`make arena ARENA=--page` sets up what they need)."]
    write("default", "The defaults, as people meet them", lines, found)


def _told(own: dict[str, Any], key: str) -> str:
    value = own.get(key)
    if value is None:
        return ""
    return f"{value:.2f}" if key == "log_likelihood" else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    main()
