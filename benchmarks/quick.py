"""Did something get slower? A few ratios against peers in the same run, beside those on record; under three minutes.

python benchmarks/quick.py            # measures, compares, ends with 1 where a ratio is worse by more than a quarter
python benchmarks/quick.py --record   # the same, and the figures are the record from now on

Every figure is a ratio of two times of this run, so that the machine and what else it does matter little: the thing
that people wait for, against a bare version of the same work.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from common import RESULTS, table, write
from peers import STEPS, PlainNetwork, batches, pritchel_trial
from step import pritchel_chunk

from pritchel import HorseshoeRegressor, Sampling, Training
from pritchel.cores import one_blas_thread
from pritchel.data.dataset import prepare
from pritchel.infer.trial import FitSettings

HIDDEN = ((50,), (500,), (100, 100))
REPEATS, NUM_ROWS, NUM_FEATURES = 7, 450, 13
SLOWER = 1.25  # times the ratio on record: beyond that, something has changed
RECORD = RESULTS / "quick.json"


def made_up_table() -> tuple[np.ndarray, np.ndarray]:
    """As large as boston, and no download."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(NUM_ROWS, NUM_FEATURES))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=NUM_ROWS)


def in_turns(first: Callable[[], Any], second: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Median over repeats of the first's time divided by the second's next to it, both warm."""
    first()
    second()
    ratios = []
    for _ in range(repeats):
        times = [time.perf_counter()]
        for run in (first, second):
            run()
            times.append(time.perf_counter())
        ratios.append((times[1] - times[0]) / (times[2] - times[1]))
    return statistics.median(ratios)


def step_ratio(hidden: tuple[int, ...], X: np.ndarray, y: np.ndarray) -> float:
    """A training step against one of a plain network."""
    trial, settings = pritchel_trial(prepare(X, y[:, None])[0], hidden), FitSettings(num_steps=STEPS)
    run, length = pritchel_chunk(trial, settings)
    plain = PlainNetwork((X.shape[1], *hidden, 1))
    return in_turns(run, partial(plain.run, batches(trial, settings))) * STEPS / length


def prediction_ratios(X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Answers of a small sampled fit against the bare products that its draws need."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a fit that is as brief as this
        model = HorseshoeRegressor(
            inference="sampled",
            hidden=(50,),
            training=Training(num_steps=500, drop_dead_units=False),
            sampling=Sampling(num_warmup=20, num_samples=50),
            num_draws=60,
            random_state=0,
            progress=False,
        ).fit(X, y)
    rows = np.resize(X, (4000, X.shape[1]))
    rng = np.random.default_rng(0)
    units = round(statistics.mean(len(member.kept[0]) for member in model.posterior_.members))
    weights = [(rng.normal(size=(X.shape[1], units)), rng.normal(size=(units, 1))) for _ in range(60)]

    def bare() -> None:
        with one_blas_thread():
            for into, out in weights:
                np.maximum(rows @ into, 0) @ out

    return {
        "mean and sd / bare passes": in_turns(lambda: model.predict(rows, return_std=True), bare),
        "90 % intervals / bare passes": in_turns(lambda: model.predict_interval(rows), bare, 3),
    }


def startup_ratio() -> float:
    """Importing what `pritchel predict` needs, against starting Python with numpy and pandas."""

    def started(text: str) -> Callable[[], Any]:
        return lambda: subprocess.run([sys.executable, "-c", text], check=True)

    return in_turns(started("import pritchel.tables.groups"), started("import numpy, pandas"), 5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="keep these figures for the next time")
    options = parser.parse_args()
    X, y = made_up_table()
    found = {f"step, {' + '.join(map(str, hidden))} / plain network": step_ratio(hidden, X, y) for hidden in HIDDEN}
    found |= prediction_ratios(X, y)
    found["loading the library to predict / numpy and pandas"] = startup_ratio()
    before = json.loads(RECORD.read_text())["results"] if RECORD.exists() else {}
    slower = [name for name, ratio in found.items() if ratio > SLOWER * before.get(name, np.inf)]
    rows = [
        (name, f"{ratio:.2f}", f"{before[name]:.2f}" if name in before else "", "SLOWER" if name in slower else "")
        for name, ratio in found.items()
    ]
    lines = table(("time / time", "now", "on record", ""), rows)
    if options.record or not before:
        write("quick", "Ratios that should not grow", table(("time / time", ""), [row[:2] for row in rows]), found)
    print("\n".join(lines))
    for name in slower:
        print(f"Slower by {found[name] / before[name] - 1:.0%}: {name}. Run again on an idle machine before you look.")
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
