"""(f) How does a fit grow? With rows (1,000 to 256,000), units (50 to 2,000) and depth (1 to 3)."""

import resource
import time

import numpy as np
from common import median_seconds, table, verdict, write
from peers import pritchel_trial

from pritchel import HorseshoeRegressor, Training
from pritchel.data.dataset import Dataset, prepare
from pritchel.data.sources import data_folder
from pritchel.infer.run import fit
from pritchel.infer.trial import FitSettings

STEPS = FitSettings(num_steps=500, drop_dead_units=False)
ROWS, UNITS, DEPTHS = (1000, 4000, 16_000, 64_000, 256_000), (50, 100, 200, 500, 1000, 2000), (1, 2, 3)
NUM_TEST_FLIGHTS, ON_FLIGHTS = 20_000, {"likelihood": "gaussian", "num_members": 1, "random_state": 0}
SHORT = Training(num_steps=1000, batch_size=256)


def made_up(num_rows: int, num_features: int = 8) -> Dataset:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(num_rows, num_features))
    return prepare(X, np.sin(X[:, :1]) + X[:, 1:2] + 0.1 * rng.normal(size=(num_rows, 1)))[0]


def step_time(data: Dataset, hidden: tuple[int, ...]) -> float:
    """Microseconds a step, warm."""
    trial = pritchel_trial(data, hidden)
    return median_seconds(lambda: fit(trial, STEPS), 3) / STEPS.num_steps * 1e6


def flights() -> tuple[list[str], dict]:
    """The whole of the large table: seconds, error against the constant, and peak memory against the data's size."""
    with np.load(data_folder() / "standin" / "flights.npz", allow_pickle=False) as arrays:
        X, y = arrays["X"].astype(float), arrays["y"].astype(float)
    order = np.random.default_rng(0).permutation(len(y))
    test, train = order[:NUM_TEST_FLIGHTS], order[NUM_TEST_FLIGHTS:]
    few = train[:2000]
    HorseshoeRegressor(**ON_FLIGHTS | {"training": SHORT}).fit(X[few], y[few])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    model = HorseshoeRegressor(**ON_FLIGHTS).fit(X[train], y[train])
    seconds = time.perf_counter() - start
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / (X[train].nbytes + y[train].nbytes)
    rmse = float(np.sqrt(np.mean((model.predict(X[test]) - y[test]) ** 2)))
    figures = {"rows": len(train), "seconds": seconds, "rmse": rmse, "constant": float(y[test].std()), "memory": memory}
    row = (f"{len(train):,}", f"{seconds:.0f}", f"{rmse:.2f}", f"{figures['constant']:.2f}", f"{memory:.1f}")
    columns = (
        "flights, rows",
        "s, one member, default steps",
        "RMSE",
        "constant",
        "peak memory beyond that of fitting 2,000 rows / data in float64",
    )
    return table(columns, [row]), figures


def main() -> None:
    large, figures = flights()
    rows = {n: step_time(made_up(n), (50,)) for n in ROWS}
    units = {n: step_time(made_up(4000), (n,)) for n in UNITS}
    depth = {n: step_time(made_up(4000), (100,) * n) for n in DEPTHS}
    flat = max(rows.values()) / min(rows.values())
    lines = [
        *table(
            ("rows", "us a step", "s an epoch"),
            [(f"{n:,}", f"{v:.0f}", f"{v * n / 128e6:.2f}") for n, v in rows.items()],
        ),
        "",
        f"Slowest step over fastest, 1,000 to 256,000 rows: {flat:.2f}, {verdict(flat, 1.5)}.",
        "",
        *table(
            ("units, one layer", "us a step", "us a unit"), [(n, f"{v:.0f}", f"{v / n:.2f}") for n, v in units.items()]
        ),
        "",
        *table(("hidden layers of 100", "us a step"), [(n, f"{v:.0f}") for n, v in depth.items()]),
        "",
        *large,
    ]
    write(
        "growth",
        "Growth with rows, units and depth, batch 128",
        lines,
        {"rows": rows, "units": units, "depth": depth, "flights": figures},
    )


if __name__ == "__main__":
    main()
