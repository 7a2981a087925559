"""What would a fit cost that these machines cannot run? A cost model, fitted to measurements of real fits.

    python benchmarks/cost_model.py            # what is on record is not measured again
    python benchmarks/cost_model.py --again    # all of it: some fifteen minutes on an idle machine

Seconds a step are those between two states of progress of a fit, so that compiling is not in them. The model's four
coefficients are fitted by least squares of relative errors, to two thirds of the settings; the others tell how good it
is. `results/processes.json`, where it is there, has the steps of one and two processes. The section of docs/scale.md
between the comments that name this script is written anew from the figures.
"""

import argparse
import itertools
import json
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from common import RESULTS, recorded, table, write
from scipy.optimize import nnls

from pritchel import HorseshoeRegressor, Training

RUNS = RESULTS / "cost_model_runs.jsonl"
PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
BEGIN, END = "<!-- figures of benchmarks/cost_model.py -->", "<!-- end of the figures -->"
UNITS, BATCHES, FEATURES = (25, 50, 100, 200), (64, 256, 1024), 10
BASE = {"units": 50, "batch": 256, "members": 1, "rows": 20_000, "features": FEATURES, "source": "memory"}
HELD_OUT = {(25, 256), (50, 64), (100, 1024), (200, 256)}
ROWS, STREAMED, MEMBERS, BUFFER = (2000, 200_000), (200_000, 800_000), (2, 3), 50_000
ROWS_SEEN, LARGE_BATCHES, TEST_ROWS = 2_048_000, (256, 1024, 4096, 16_384), 5000
STEPS = 2000


class Plan(NamedTuple):
    """The fit to be predicted, and what is assumed of its network; everything here is a choice, not a measurement."""

    rows: int = 10**9
    hosts: int = 64
    units: int = 100
    batch: int = 256  # rows of a step, of all hosts together
    members: int = 3
    steps: int = 32_000  # the default of a fit to many rows
    bytes_a_second: float = 1.25e9  # of the network between two hosts: 10 Gbit/s
    latency: float = 50e-6  # seconds until a message of theirs arrives


def settings() -> list[dict[str, Any]]:
    """Every fit that is timed: the grid that the model is fitted to, and what is changed beside it."""
    grid = [BASE | {"units": units, "batch": batch} for units in UNITS for batch in BATCHES]
    grid += [BASE | {"features": 40}]
    more = [BASE | {"rows": rows} for rows in ROWS] + [BASE | {"members": members} for members in MEMBERS]
    return grid + more + [BASE | {"rows": rows, "source": "files"} for rows in STREAMED]


def is_of_the_grid(setting: dict[str, Any]) -> bool:
    """Whether it differs from the base by the network and its batches alone."""
    return all(setting[name] == BASE[name] for name in ("members", "rows", "source"))


def is_held_out(setting: dict[str, Any]) -> bool:
    """Whether the model is not fitted to it, but judged by it."""
    return setting["features"] != FEATURES or (setting["units"], setting["batch"]) in HELD_OUT


def made_up(num_rows: int, num_features: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Inputs of which three count, and a target with a little noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(num_rows, num_features))
    return X, truth(X) + 0.1 * rng.normal(size=num_rows)


def truth(X: np.ndarray) -> np.ndarray:
    return np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]


class Clock:
    """When a fit told how far it was."""

    def __init__(self):
        self.start, self.told = time.perf_counter(), []

    def __call__(self, state: Any) -> None:
        """A state of progress."""
        self.told.append((state.stage, state.trial, state.step, time.perf_counter() - self.start))

    def seconds_a_step(self) -> float:
        """The median over stretches between two states of a member: what else the machine does moves it little."""
        found = sorted((trial, step, at) for stage, trial, step, at in self.told if stage == "fitting")
        ends = itertools.pairwise(found)
        return float(np.median([(to[2] - at[2]) / (to[1] - at[1]) for at, to in ends if to[0] == at[0]]))

    def seconds_reading(self) -> float | None:
        """Until all rows had been read once, of a source of batches."""
        return max((at for stage, _, _, at in self.told if stage == "reading"), default=None)


def estimator(setting: dict[str, Any], steps: int, progress: Any) -> HorseshoeRegressor:
    training = Training(num_steps=steps, batch_size=setting["batch"], buffer_rows=BUFFER, drop_dead_units=False)
    how = {"hidden": (setting["units"],) * 2, "likelihood": "gaussian", "inference": "variational"}
    return HorseshoeRegressor(
        **how, num_members=setting["members"], training=training, random_state=0, progress=progress
    )


def measure(setting: dict[str, Any], steps: int, folder: Path) -> dict[str, Any]:
    """Seconds a step of a real fit, and how many numbers it learns."""
    X, y = made_up(setting["rows"], setting["features"])
    clock, model = Clock(), None
    if setting["source"] == "files":
        shards = folder / f"rows-{setting['rows']}"
        shards.mkdir(exist_ok=True)
        for index, rows in enumerate(np.array_split(np.arange(len(y)), 4)):
            frame = pd.DataFrame(X[rows], columns=[f"x{j}" for j in range(X.shape[1])]).assign(y=y[rows])
            frame.astype(np.float32).to_parquet(shards / f"{index}.parquet", index=False, row_group_size=50_000)
        steps = max(steps, 3 * setting["rows"] // setting["batch"])  # some passes
        clock.start = time.perf_counter()
        model = estimator(setting, steps, clock).fit(shards, "y")
    else:
        model = estimator(setting, steps, clock).fit(X, y)
    members = model.posterior_.members
    learned = sum(np.size(leaf) for leaf in _leaves(members[0].guide))
    return {"seconds": clock.seconds_a_step(), "reading": clock.seconds_reading(), "learned": int(learned)}


def _leaves(tree: Any) -> list[Any]:
    import jax

    return jax.tree.leaves(tree)


def quality(batch: int, steps: int) -> dict[str, Any]:
    """How far a fit is from the truth, on new rows, as a part of its spread."""
    X, y = made_up(100_000, FEATURES)
    model = estimator(BASE | {"batch": batch}, steps, False).fit(X, y)
    new = made_up(TEST_ROWS, FEATURES, seed=1)[0]
    error = float(np.sqrt(np.mean((model.predict(new) - truth(new)) ** 2)) / truth(new).std())
    return {"batch": batch, "steps": steps, "error": error}


def weights(units: int, features: int) -> int:
    """Of a network with two hidden layers."""
    return (features + 1) * units + (units + 1) * units + units + 1


def terms(setting: dict[str, Any]) -> np.ndarray:
    """What a step's seconds are a sum of: itself, a weight, a weight and row, a unit and row."""
    own, batch = weights(setting["units"], setting["features"]), setting["batch"]
    return np.array([1.0, own, own * batch, setting["units"] * batch])


NAMES = ("a", "b", "c", "d")
LARGE = "64 hosts, 256 rows each"


def fitted(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The coefficients, by least squares of relative errors, none below zero; and how far off the model is."""
    grid = [run for run in runs if is_of_the_grid(run)]
    used = [run for run in grid if not is_held_out(run)]
    design = np.stack([terms(run) / run["seconds"] for run in used])
    size = design.max(0)
    found = nnls(design / size, np.ones(len(used)))[0] / size
    for run in grid:
        run["predicted"] = float(terms(run) @ found)
    off = {
        name: [abs(r["predicted"] / r["seconds"] - 1) for r in grid if is_held_out(r) == out]
        for name, out in (("fitted", False), ("held_out", True))
    }
    return {
        "coefficients": dict(zip(NAMES, found.tolist(), strict=True)),
        "settings": {name: len(own) for name, own in off.items()},
        "median_error": {name: float(np.median(own)) for name, own in off.items()},
        "largest_error": {name: float(np.max(own)) for name, own in off.items()},
    }


def others(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """What rows in memory, members side by side and reading from files add to the step of the base."""
    base = next(run for run in runs if all(run[name] == value for name, value in BASE.items()))
    own = [run for run in runs if not is_of_the_grid(run)]
    of_rows = {
        run["rows"]: run["seconds"] / base["seconds"]
        for run in own
        if run["source"] == "memory" and run["members"] == 1
    }
    slower = {run["members"]: run["seconds"] / base["seconds"] for run in own if run["members"] > 1}
    crowd = [(ratio - 1) / (members - 1) for members, ratio in slower.items()]
    streamed = [run for run in own if run["source"] == "files"]
    return {
        "base": base["seconds"],
        "rows": of_rows,
        "members": slower,
        "crowd": float(np.mean(crowd)),
        "read": max(float(np.mean([(run["seconds"] - base["seconds"]) / run["batch"] for run in streamed])), 0.0),
        "scan": float(np.mean([run["reading"] / run["rows"] for run in streamed])),
        "learned": {run["units"]: run["learned"] for run in runs if run["features"] == FEATURES},
    }


def exchanges(model: dict[str, Any]) -> list[dict[str, Any]]:
    """Steps of one and two processes that share each batch, as `processes.py` measured them, if it has.

    Efficiency is the gain over one process, divided by how many there are; `beyond` the seconds that a step takes
    beyond one process's for its share of the rows, by the model's proportions.
    """
    path = RESULTS / "processes.json"
    if not path.exists():
        return []
    runs = json.loads(path.read_text())["results"]
    names = ("units", "batch", "processes", "seconds_a_step", "bytes_a_step")
    if any(name not in run for run in runs for name in names):
        raise SystemExit(f"{path} must hold a list of runs with {', '.join(names)}.")
    alone = {(run["units"], run["batch"]): run["seconds_a_step"] for run in runs if run["processes"] == 1}
    found = []
    for run in (run for run in runs if (run["units"], run["batch"]) in alone):
        one, many = alone[run["units"], run["batch"]], run["processes"]
        whole, share = (compute_seconds(model, run["units"], rows) for rows in (run["batch"], run["batch"] / many))
        own = {name: run[name] for name in names} | {"efficiency": one / many / run["seconds_a_step"]}
        found.append(own | {"beyond": run["seconds_a_step"] - one * share / whole, "sums": run.get("sums_a_step", 1)})
    return found


def compute_seconds(model: dict[str, Any], units: int, batch: float) -> float:
    """A step of one member in one process, without reading."""
    setting = {"units": units, "batch": batch, "features": FEATURES}
    return float(terms(setting) @ np.array([model["coefficients"][name] for name in NAMES]))


def predicted(model: dict[str, Any], more: dict[str, Any], plan: Plan, sums: int = 1) -> dict[str, float]:
    """What the planned fit takes: hosts share out rows and batches, and sum their gradients at every step.

    A ring of p hosts sends 2 (p - 1) messages one after the other for each sum, and 2 (p - 1) / p of the numbers.
    Efficiency is the gain over one host, divided by how many there are.
    """
    crowd = 1 + more["crowd"] * (plan.members - 1)

    def computed(batch: float) -> tuple[float, float]:
        return compute_seconds(model, plan.units, batch) * crowd, more["read"] * batch * plan.members

    compute, read = computed(plan.batch / plan.hosts)
    num_bytes = 4 * learned_at(more, plan.units) * plan.members
    ring = 2 * (plan.hosts - 1)
    late, wire = sums * ring * plan.latency, ring / plan.hosts * num_bytes / plan.bytes_a_second
    step, first_pass = compute + read + late + wire, more["scan"] * plan.rows / plan.hosts
    return {
        "first_pass": first_pass,
        "compute": compute,
        "read": read,
        "late": late,
        "wire": wire,
        "bytes": num_bytes,
        "step": step,
        "hours": (step * plan.steps + first_pass) / 3600,
        "efficiency": sum(computed(plan.batch)) / plan.hosts / step,
        "share_seen": plan.steps * plan.batch / plan.rows,
    }


def learned_at(more: dict[str, Any], units: int) -> int:
    """Numbers that a network learns, of a width that was measured."""
    return int({int(name): own for name, own in more["learned"].items()}[units])


def figures(runs: list[dict[str, Any]], large: list[dict[str, Any]]) -> dict[str, Any]:
    """Everything that the page says."""
    model, more = fitted(runs), others(runs)
    measured, slow = exchanges(model), {"latency": 1e-3, "bytes_a_second": 1.25e8}
    sums = max((run["sums"] for run in measured), default=1)
    plans = {
        "one host": Plan(hosts=1),
        "64 hosts": Plan(),
        LARGE: Plan(batch=64 * 256),
        f"{LARGE}, 1 ms and 1 Gbit/s": Plan(batch=64 * 256, **slow),
        "64 hosts, 4,096 rows each": Plan(batch=64 * 4096),
    }
    return {
        "model": model,
        "more": more,
        "processes": measured,
        "plans": {name: {**plan._asdict(), **predicted(model, more, plan, sums)} for name, plan in plans.items()},
        "large_batches": large,
        "load": float(np.median([run["load"] for run in (*runs, *large)])),
        "runs": runs,
    }


def section(found: dict[str, Any]) -> list[str]:
    """The page's section, every figure from the record."""
    parts = (_formula(found["model"]), _beside(found["more"]), _exchanged(found["processes"]))
    parts += (_planned(found["plans"]), _broken(found["plans"], found["more"]), _batches(found["large_batches"]))
    lines = [line for part in parts for line in (*part, "")]
    return [*lines, f"Two cores, with a load of {found['load']:.1f} at the median while this was measured."]


def _text(*sentences: str, indent: str = "") -> list[str]:
    """Sentences as lines of the page."""
    return textwrap.wrap(" ".join(sentences), 120, subsequent_indent=indent, break_on_hyphens=False)


def _formula(model: dict[str, Any]) -> list[str]:
    scales = {"a": (1e6, "us"), "b": (1e9, "ns"), "c": (1e12, "ps"), "d": (1e12, "ps")}
    own = ", ".join(f"{name} = {model['coefficients'][name] * x:.3g} {unit}" for name, (x, unit) in scales.items())
    (near, most), (near_new, most_new) = (
        [_percent(model[kind][name]) for kind in ("median_error", "largest_error")] for name in ("fitted", "held_out")
    )
    used, unused = (model["settings"][name] for name in ("fitted", "held_out"))
    return [
        "A step of *B* rows of a network with two hidden layers of *K* units, and *W* weights in all, takes",
        "",
        f"    a + b W + c W B + d K B,   {own}.",
        "",
        *_text(
            f"Fitted to {used} settings (25 to 200 units, 64 to 1,024 rows a step), that is off by {near} at the",
            f"median and {most} at most; on {unused} settings that it was not fitted to, by {near_new} and {most_new}.",
        ),
    ]


def _beside(more: dict[str, Any]) -> list[str]:
    rows = ", ".join(f"{ratio:.2f} x as long with {int(rows):,}" for rows, ratio in more["rows"].items())
    members = ", ".join(f"{ratio:.2f} x as long with {members}" for members, ratio in more["members"].items())
    scan, read = 1e6 * more["scan"], 1e6 * more["read"]
    return [
        f"Beside it, at 50 units and 256 rows a step, {1e6 * more['base']:.0f} us from 20,000 rows in memory:",
        "",
        f"- **Rows in memory** do not enter: a step is {rows} of them.",
        *_text(
            f"- **Members side by side**: {members}. The model adds {more['crowd']:.2f} of a step for every member",
            "after the first.",
            indent="  ",
        ),
        f"- **From Parquet files**: {scan:.1f} us a row in the first pass, {read:.2f} us a row of every step after it.",
    ]


def _exchanged(runs: list[dict[str, Any]]) -> list[str]:
    if not runs:
        return ["Steps of two processes are not on record here; `benchmarks/processes.py` is to measure them."]
    columns = ("units", "rows a step", "processes", "us a step", "bytes a step", "efficiency", "us beyond computing")
    rows = [
        (
            run["units"],
            f"{run['batch']:,}",
            run["processes"],
            f"{1e6 * run['seconds_a_step']:.0f}",
            f"{run['bytes_a_step']:,.0f}",
            _percent(run["efficiency"]),
            f"{1e6 * run['beyond']:.0f}" if run["processes"] > 1 else "",
        )
        for run in runs
    ]
    told = "Processes of one machine that share each batch ([the script](../benchmarks/processes.py)):"
    return [told, "", *table(columns, rows)]


def _planned(plans: dict[str, Any]) -> list[str]:
    columns = (
        "",
        "rows a step",
        "first pass, s",
        "compute, ms",
        "reading, ms",
        "network, ms",
        "MB a step",
        "hours",
        "efficiency",
    )
    rows = [
        (
            name,
            f"{plan['batch']:,}",
            f"{plan['first_pass']:,.0f}",
            f"{1e3 * plan['compute']:.2f}",
            f"{1e3 * plan['read']:.2f}",
            f"{1e3 * (plan['late'] + plan['wire']):.2f}",
            f"{plan['bytes'] / 1e6:.2f}",
            f"{plan['hours']:.1f}",
            _percent(plan["efficiency"]),
            _percent(plan["share_seen"]),
        )
        for name, plan in plans.items()
    ]
    plan = plans["64 hosts"]
    late, rate = 1e6 * plan["latency"], 8e-9 * plan["bytes_a_second"]
    return [
        *_text(
            f"What that makes of {plan['rows']:,} rows of {FEATURES} columns, with {plan['units']} units,",
            f"{plan['members']} members and {plan['steps']:,} steps, where hosts share out the rows of every step and",
            "sum their gradients in a ring:",
        ),
        "",
        *table((*columns, "of the rows seen"), rows),
        "",
        *_text(
            f"Assumed, not measured: {late:.0f} us until a message arrives and {rate:.0f} Gbit/s, unless the line says",
            "otherwise; hosts like this one, none of which waits for another.",
        ),
    ]


def _broken(plans: dict[str, Any], more: dict[str, Any]) -> list[str]:
    few, plan, slow = plans["64 hosts"], plans[LARGE], plans[f"{LARGE}, 1 ms and 1 Gbit/s"]
    own = plan["batch"] / plan["hosts"] * plan["members"]
    computed = own / plan["compute"]
    ring, sent = 2 * (plan["hosts"] - 1), plan["bytes"] / 1e6
    return [
        "Where it breaks:",
        "",
        *_text(
            f"- **The default batch**: of {few['batch']} rows each of {few['hosts']} hosts has",
            f"{few['batch'] // few['hosts']}, and computes for {1e3 * few['compute']:.1f} ms of the",
            f"{1e3 * few['step']:.1f} ms of a step: an efficiency of {_percent(few['efficiency'])}.",
            indent="  ",
        ),
        *_text(
            f"- **The network**: {ring} messages one after the other take {1e3 * plan['late']:.1f} ms of a step that",
            f"computes for {1e3 * plan['compute']:.1f} ms; of 1 ms each, {1e3 * slow['late']:.0f} ms. The numbers",
            f"themselves, {sent:.2f} MB, take {1e3 * plan['wire']:.2f} ms. A tree instead of a ring would help.",
            indent="  ",
        ),
        *_text(
            f"- **Reading**: a host computes {computed:,.0f} rows a second with {plan['batch'] // plan['hosts']} rows",
            f"a step; it reads {1 / more['scan']:,.0f} in the first pass, which all members share, and then",
            f"{1 / more['read']:,.0f}." if more["read"] else "as fast, to what can be told here.",
            indent="  ",
        ),
        *_text(
            f"- **Steps**: {plan['batch']:,} rows a step see more rows in as many steps, not fewer steps: fewer of",
            "them, with as many rows in all, are a worse fit, as below.",
            indent="  ",
        ),
        *_text(
            "- **Memory** is no limit: a host holds buffers, whatever the rows",
            "([figures](../benchmarks/results/streaming.md)).",
            indent="  ",
        ),
    ]


def _batches(runs: list[dict[str, Any]]) -> list[str]:
    rows = [(f"{run['batch']:,}", f"{run['steps']:,}", f"{run['error']:.3f}") for run in runs]
    return [
        f"{ROWS_SEEN:,} rows in fewer and larger steps, and how far a fit ends from the truth (RMSE over its spread):",
        "",
        *table(("rows a step", "steps", "error"), rows),
    ]


def _percent(part: float) -> str:
    return f"{100 * part:.0f} %"


def write_section(lines: list[str]) -> None:
    """The page with its section as these lines."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    if not after:
        raise SystemExit(f"{PAGE} has no place for the figures: {BEGIN} ... {END}")
    PAGE.write_text("\n".join([f"{before}{BEGIN}", "", *lines, "", f"{END}{after}"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--again", action="store_true", help="forget what is on record")
    parser.add_argument("--steps", type=int, default=STEPS, help="of a fit that is timed; default %(default)s")
    arguments = parser.parse_args()
    if arguments.again:
        RUNS.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        runs = [recorded(RUNS, one, lambda own=one: measure(own, arguments.steps, Path(folder))) for one in settings()]
    large = [(batch, max(ROWS_SEEN // batch, 2)) for batch in LARGE_BATCHES]
    errors = [recorded(RUNS, {"batch": b, "steps": s}, lambda b=b, s=s: quality(b, s)) for b, s in large]
    found = figures(runs, errors)
    lines = section(found)
    # Links of a page in another folder.
    beside = [line.replace("../benchmarks/results/", "").replace("../benchmarks/", "../") for line in lines]
    write("cost_model", "What a step costs, and what that makes of a billion rows", beside, found)
    write_section(lines)


if __name__ == "__main__":
    main()
