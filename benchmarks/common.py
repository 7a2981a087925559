"""What the benchmark scripts share: where results go, the machine they ran on, Markdown tables, timing."""

import importlib.metadata
import json
import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pritchel import __version__
from pritchel.experiments.statistics import mean_and_error

os.environ["PRITCHEL_CACHE"] = "off"  # for the processes that a script starts, too: cold is cold
RESULTS = Path(__file__).parent / "results"
PACKAGES = ("jax", "jaxlib", "numpy", "scikit-learn", "numpyro")


def environment() -> dict[str, Any]:
    """Versions, cores and the load of the minute before."""
    versions = {"pritchel": __version__}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": [round(load, 1) for load in os.getloadavg()],
        "versions": versions,
    }


def median_seconds(run: Callable[[], Any], repeats: int) -> float:
    """Median wall time of a call that has been warmed up once."""
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def table(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> list[str]:
    """A Markdown table as lines."""
    columns = list(columns)
    lines = [columns, ["---"] * len(columns), *rows]
    return ["| " + " | ".join(map(str, line)) + " |" for line in lines]


def with_error(values: Iterable[float], digits: int = 3) -> str:
    """Mean and standard error; of one value, itself."""
    mean, error = mean_and_error(list(values))
    return f"{mean:.{digits}f}" if math.isnan(error) else f"{mean:.{digits}f} ± {error:.{digits}f}"


def verdict(ratio: float, limit: float, *, at_least: bool = False) -> str:
    """Whether a ratio meets its target, in words."""
    is_met = ratio >= limit if at_least else ratio <= limit
    return f"{'met' if is_met else 'MISSED'} (target {'at least' if at_least else 'at most'} {limit:g})"


def recorded(path: Path, key: dict[str, Any], run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What is on record for a key, or what a run of it finds, which then is; a line each, and the key is part of it."""
    for known in _lines(path):
        if known["key"] == key:
            return key | known["found"]
    found = run() | {"load": round(os.getloadavg()[0], 1)}
    path.parent.mkdir(exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps({"key": key, "found": found}) + "\n")
    print(key, found, flush=True)
    return key | found


def on_record(path: Path) -> list[dict[str, Any]]:
    """Every key with what was found for it, in the order they were run."""
    return [line["key"] | line["found"] for line in _lines(path)]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def write(name: str, title: str, lines: list[str], data: Any) -> None:
    """Print a report, and write it as Markdown and its figures as JSON."""
    about = environment()
    machine = ", ".join(f"{package} {version}" for package, version in about["versions"].items())
    footer = f"Python {about['python']}, {machine}; {about['cores']} cores, load {about['load'][0]} at the end."
    text = "\n".join([f"# {title}", "", *lines, "", footer, ""])
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text(text)
    (RESULTS / f"{name}.json").write_text(json.dumps({"environment": about, "results": data}, indent=1) + "\n")
    print(text)
