"""The areas in turn, each in a process of its own, until the time is over; and a page of what held and what did not."""

import json
import multiprocessing
import os
import subprocess
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from tests.soak.area import Area
from tests.soak.fits import KilledFits, LittleMemory, Repeats
from tests.soak.folders import DamagedFolders, Specs
from tests.soak.saves import Checkpoints, Crowds, FullDisks, Kills
from tests.soak.tables import Archives, Tables

AREAS: dict[str, type[Area]] = {
    "kills": Kills,
    "crowds": Crowds,
    "disks": FullDisks,
    "checkpoints": Checkpoints,
    "specs": Specs,
    "folders": DamagedFolders,
    "tables": Tables,
    "archives": Archives,
    "memory": LittleMemory,
    "repeats": Repeats,
    "fits": KilledFits,
}
RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
MOST_SHOWN = 5


def try_area(name: str, seed: int, first: int, num_tries: int, seconds: float, queue: Any) -> None:
    """Try one area from some number on, for some seconds; tell how many tries were made, and the failures."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    failures, done, start = [], 0, time.monotonic()
    with tempfile.TemporaryDirectory(prefix="pritchel-soak-") as folder:
        try:
            area = AREAS[name](Path(folder))
        except Exception:
            queue.put((0, [{"try": None, "error": traceback.format_exc(limit=-3)}], time.monotonic() - start))
            return
        while done < num_tries and time.monotonic() - start < seconds:
            number = first + done
            try:
                area.attempt(np.random.default_rng([seed, number]))
            except Exception:
                failures.append({"try": number, "error": traceback.format_exc(limit=-3)})
            done += 1
    queue.put((done, failures, time.monotonic() - start))


def run(names: list[str], seed: int, minutes: float, num_tries: int, state_path: Path) -> dict[str, Any]:
    """Each area in a process of its own, until its tries are made or its share of the time is over."""
    state = json.loads(state_path.read_text()) if state_path.exists() else {"seed": seed, "areas": {}}
    end = time.monotonic() + 60 * minutes
    for index, name in enumerate(names):
        at = state["areas"].setdefault(name, {"tries": 0, "failures": [], "seconds": 0.0})
        left = num_tries - at["tries"]
        seconds = (end - time.monotonic()) / (len(names) - index)
        if left <= 0 or seconds <= 0:
            continue
        print(f"{name}: tries {at['tries']} to {at['tries'] + left} of seed {state['seed']}", end="", flush=True)
        context = multiprocessing.get_context("spawn")
        queue = context.Queue()
        process = context.Process(target=try_area, args=(name, state["seed"], at["tries"], left, seconds, queue))
        process.start()
        done, failures, took = queue.get()
        process.join()
        at["tries"] += done
        at["failures"] += failures
        at["seconds"] = round(at["seconds"] + took, 1)
        at["commits"] = [*dict.fromkeys([*at.get("commits", []), commit()])]
        state_path.write_text(json.dumps(state, indent=1) + "\n")
        print(f"; {done} made in {took:.0f} s, {len(failures)} failed", flush=True)
        for failure in failures[:MOST_SHOWN]:
            print(f"try {failure['try']}:\n{failure['error']}")
    return state


def commit() -> str:
    """The commit that is tried; "unknown" outside a checkout."""
    git = ["git", "-C", str(RESULTS.parent), "rev-parse", "--short=7", "HEAD"]
    return subprocess.run(git, capture_output=True, text=True).stdout.strip() or "unknown"


def report(state: dict[str, Any]) -> str:
    """A page of what was tried."""
    lines = ["# Hard use: the last campaign", "", f"`make soak`, seed {state['seed']}.", ""]
    lines += ["| area | what | tries | failures | seconds | commit |", "| --- | --- | --- | --- | --- | --- |"]
    for name, at in state["areas"].items():
        cells = [name, AREAS[name].about, at["tries"], len(at["failures"]), round(at["seconds"])]
        lines.append("| " + " | ".join(map(str, [*cells, ", ".join(at["commits"])])) + " |")
    failures = [(name, failure) for name, at in state["areas"].items() for failure in at["failures"]]
    for name, failure in failures[:20]:
        lines += ["", f"{name}, try {failure['try']}:", "", "```", failure["error"].strip(), "```"]
    return "\n".join([*lines, ""])
