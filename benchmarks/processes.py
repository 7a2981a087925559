"""What does it cost, and gain, to share every batch among processes? Time of a step by processes, width and batch.

Each process has one core, as if it were a machine of its own. Bytes are those of the sum over processes at each step,
read from the compiled program.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import median_seconds, table, write
from peers import pritchel_trial

from pritchel import processes
from pritchel.cli.launch import free_address
from pritchel.crew import Crew
from pritchel.data.dataset import Dataset
from pritchel.infer.feed import Feed
from pritchel.infer.shared_step import run_shared_chunk, shared_arguments
from pritchel.infer.step import State, ravel, run_chunk, start_adam
from pritchel.infer.trial import FitSettings

NUM_ROWS, NUM_FEATURES, REPEATS = 20_000, 50, 5
UNITS, BATCHES, PROCESSES = (50, 200, 800), (128, 1024, 8192), (1, 2)
COLUMNS = ("rows", "units", "batch", "processes", "seconds_a_step", "bytes_a_step", "parameters", "sums_a_step")


def rows() -> Dataset:
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(NUM_ROWS, NUM_FEATURES)).astype(np.float32)
    return Dataset(inputs, np.sin(inputs[:, :1]), np.ones(NUM_ROWS, np.float32))


def chunk_of(crew: Crew | None, data: Dataset, units: int, batch: int) -> tuple[Callable[[], Any], int, Any]:
    """A function that runs one compiled chunk, its number of steps, and the arguments of the shared program."""
    import jax

    trial, settings = pritchel_trial(data, (units, units)), FitSettings(num_steps=10_000, batch_size=batch)
    steps, num_steps = Feed(trial, settings, trial.guide, crew=crew).chunk(0)
    template = jax.tree.map(np.asarray, trial.guide)
    params, trainable = ravel(template), ravel(trial.trainable)

    def arguments() -> tuple[Any, ...]:
        state = State(params, start_adam(params), None, np.zeros((), np.int32))
        own = (state, template, trial.model, steps, trainable, num_steps, float(NUM_ROWS), settings.objective)
        return own if crew is None else shared_arguments(crew, *own)

    program = run_chunk if crew is None else run_shared_chunk
    return lambda: jax.block_until_ready(program(*arguments())), num_steps, arguments


def sums_of(text: str) -> list[int]:
    """Numbers of floats that each sum over processes in the loop of a compiled program adds up."""
    loop = re.search(r"body=%?([\w.\-]+)", text)
    body = text.split(f"%{loop[1]} ", 1)[1].split("\n}", 1)[0] if loop else ""
    shapes = re.findall(r"= f32\[([\d,]*)\]\S* all-reduce(?:-start)?\(", body)
    return [int(np.prod([int(size) for size in shape.split(",") if size])) for shape in shapes]


def work(options: argparse.Namespace) -> None:
    """In each process: time every case; the first one prints them."""
    crew = processes.crew() if processes.place() is not None and processes.join() >= 0 else None
    data = rows()
    for units in options.units:
        for batch in options.batches:
            run, num_steps, arguments = chunk_of(crew, data, units, batch)
            seconds = median_seconds(run, REPEATS) / num_steps
            own = arguments()
            sums = [] if crew is None else sums_of(run_shared_chunk.lower(*own).compile().as_text())
            count = 1 if crew is None else crew.count
            found = (NUM_ROWS, units, batch, count, seconds, 4 * sum(sums), own[0].params.size, len(sums))
            if processes.is_first():
                print(json.dumps(dict(zip(COLUMNS, found, strict=True))), flush=True)


def measure(count: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """All cases with so many processes, each with one core."""
    address, started = free_address(), []
    for index in range(count):
        told = {processes.VARIABLE: f"{address},{count},{index}"} if count > 1 else {}
        env = os.environ | {"NPROC": "1", "OMP_NUM_THREADS": "1"} | told
        words = [sys.executable, str(Path(__file__)), "--work"]
        words += ["--units", *map(str, options.units), "--batches", *map(str, options.batches)]
        started.append(subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True))
    said = [own.communicate()[0] for own in started]
    if any(own.returncode for own in started):
        raise SystemExit("A process has failed.")
    return [json.loads(line) for line in said[0].splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, nargs="+", default=UNITS, help="in each of two hidden layers")
    parser.add_argument("--batches", type=int, nargs="+", default=BATCHES, help="rows in a step")
    parser.add_argument("--processes", type=int, nargs="+", default=PROCESSES)
    parser.add_argument("--work", action="store_true", help="be one of the processes")
    options = parser.parse_args()
    (work if options.work else report)(options)


def report(options: argparse.Namespace) -> None:
    """Measure and write."""
    data = [found for count in options.processes for found in measure(count, options)]
    alone = {(own["units"], own["batch"]): own["seconds_a_step"] for own in data if own["processes"] == 1}
    shown = []
    for own in data:
        gain = alone[own["units"], own["batch"]] / own["seconds_a_step"]
        own["efficiency"] = gain / own["processes"]
        figures = (f"{1e3 * own['seconds_a_step']:.3g}", f"{gain:.2f}", f"{own['efficiency']:.0%}")
        size = f"{own['bytes_a_step'] / 1e3:,.0f}" if own["processes"] > 1 else ""
        names = ("units", "batch", "processes", "parameters")
        shown.append((*(f"{own[name]:,}" for name in names), *figures, size, own["sums_a_step"] or ""))
    columns = (
        "units",
        "batch",
        "processes",
        "parameters",
        "ms a step",
        "times as fast",
        "efficiency",
        "kB summed",
        "sums",
    )
    lines = table(columns, shown)
    about = f"Two hidden layers, {NUM_FEATURES} inputs, {NUM_ROWS:,} rows."
    lines += ["", f"{about} One core a process; processes of one machine, over loopback (gloo)."]
    write("processes", "Time of a training step by processes that share every batch", lines, data)


if __name__ == "__main__":
    main()
