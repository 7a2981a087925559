"""Many small models: what does a group cost among a thousand, against a loop of single fits?

    python benchmarks/groups.py                # 1,000 groups of 200 rows: ten minutes or so on two idle cores
    python benchmarks/groups.py --groups 100
    python benchmarks/groups.py --again        # else what a run before has measured is not measured again

A small setting for small tables: 20 hidden units, one member, 1,000 steps, no sampling. Both ways hold a tenth of each
group's rows out and write a model folder a group. What threads and loops run has been compiled before they are timed;
loky's processes compile their own.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from common import RESULTS, recorded, table, write

from pritchel import HorseshoeRegressor, TableModel, Training, fit_groups
from pritchel.cores import num_cores

RUNS = RESULTS / "groups_runs.jsonl"
NUM_GROUPS, NUM_ROWS, NUM_ALONE = 1000, 200, 20
HOW = HorseshoeRegressor(
    hidden=(20,),
    likelihood="gaussian",
    inference="variational",
    training=Training(num_steps=1000, drop_dead_units=False),
    num_members=1,
    random_state=0,
    progress=False,
)


def made_up(num_groups: int) -> pd.DataFrame:
    """Curves of four inputs, one of them idle, that differ from group to group."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(num_groups, NUM_ROWS, 4))
    slopes = rng.normal(size=(3, num_groups, 1))
    y = slopes[0] * np.sin(2 * X[..., 0]) + slopes[1] * X[..., 1] + slopes[2] * X[..., 0] * X[..., 2]
    y += 0.2 * rng.normal(size=y.shape)
    frame = pd.DataFrame(X.reshape(-1, 4), columns=list("abcd"))
    return frame.assign(y=y.ravel(), store=np.repeat([f"store {number}" for number in range(num_groups)], NUM_ROWS))


def seconds_a_group(run: Callable[[], object], num: int) -> float:
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) / num


def alone(frame: pd.DataFrame, folder: Path, num: int) -> None:
    """A loop over the first groups, as one would write it."""
    for number in range(num):
        rows = frame.iloc[number * NUM_ROWS : (number + 1) * NUM_ROWS].drop(columns="store")
        TableModel(HOW).fit(rows, "y").save(folder / f"alone-{number}", overwrite=True)


def bare(frame: pd.DataFrame, num: int) -> None:
    """The fits alone: no table, no scores, no folder."""
    for number in range(num):
        rows = frame.iloc[number * NUM_ROWS : (number + 1) * NUM_ROWS]
        HorseshoeRegressor(**HOW.get_params(deep=False)).fit(rows[list("abcd")].to_numpy(), rows["y"].to_numpy())


def measure(num_groups: int, folder: Path) -> dict[str, tuple[int, float]]:
    """Groups, and seconds a group, by the way they are fitted; each way is on record once it is done."""
    frame, num_alone = made_up(num_groups), min(NUM_ALONE, num_groups)

    def together(name: str) -> None:
        models = fit_groups(frame, "y", "store", folder / name, model=TableModel(HOW), overwrite=True, say=print)
        assert len(models.groups) == num_groups

    def on_workers() -> None:
        with joblib.parallel_config("loky", n_jobs=num_cores()):
            together("workers")

    def warmed(run: Callable[[], object]) -> Callable[[], object]:
        alone(frame, folder, 1)
        return run

    ways = {
        "fit_groups, threads": (num_groups, lambda: together("threads")),
        "fit_groups, loky's processes, each compiling": (num_groups, on_workers),
        "a loop of TableModel.fit and save": (num_alone, lambda: alone(frame, folder, num_alone)),
        "a loop of HorseshoeRegressor.fit": (num_alone, lambda: bare(frame, num_alone)),
    }
    found = {}
    for name, (num, run) in ways.items():
        key = {"way": name, "groups": num, "rows": NUM_ROWS}
        found[name] = recorded(RUNS, key, lambda run=run, num=num: {"seconds": seconds_a_group(warmed(run), num)})
    return {name: (one["groups"], one["seconds"]) for name, one in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=NUM_GROUPS, help="default %(default)s")
    parser.add_argument("--again", action="store_true", help="forget what is on record")
    arguments = parser.parse_args()
    if arguments.again:
        RUNS.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        found = measure(arguments.groups, Path(folder))
    first = next(iter(found.values()))[1]
    rows = [(name, f"{num:,}", f"{each:.3f}", f"{each / first:.1f}") for name, (num, each) in found.items()]
    lines = [
        *table(("", "groups", "s a group", "x the first"), rows),
        "",
        "A loop of `TableModel.fit` also fits the simpler methods beside each network and finds what its columns are",
        "worth, which `fit_groups` leaves out; a loop of `HorseshoeRegressor.fit` neither scores nor writes.",
    ]
    write("groups", f"Many small models: {NUM_ROWS} rows, 20 units, 1,000 steps each", lines, found)


if __name__ == "__main__":
    main()
