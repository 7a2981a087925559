"""(e) How fast are predictions? Rows a second, full and pruned, against a forward pass in numpy."""

import numpy as np
from common import median_seconds, table, verdict, write

from pritchel import HorseshoeRegressor, Sampling, Training
from pritchel.data.sources import load_uci

UNITS, NUM_ROWS = 500, 20_000
TRAINING = Training(drop_dead_units=False)
FEW_ROWS, SAMPLING = 1000, Sampling()


def main() -> None:
    train_X, train_y, _, _ = load_uci("boston").split(0)
    full = HorseshoeRegressor(
        hidden=(UNITS,),
        training=TRAINING,
        inference="variational",
        likelihood="gaussian",
        num_members=1,
        num_draws=100,
        random_state=0,
        progress=False,
    ).fit(train_X, train_y)
    pruned = full.prune()
    rows = np.resize(train_X, (NUM_ROWS, train_X.shape[1]))
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=shape) for shape in ((train_X.shape[1], UNITS), (UNITS, 1))]

    def numpy_pass() -> None:
        np.maximum(rows @ weights[0], 0) @ weights[1]

    seconds = {
        f"full, {UNITS} units, {full.num_draws} draws": median_seconds(lambda: full.predict(rows, return_std=True), 5),
        f"pruned, {pruned.prune_report_[0].kept[0]} units, {full.num_draws} draws": median_seconds(
            lambda: pruned.predict(rows, return_std=True), 5
        ),
        f"numpy, {UNITS} units, one network": median_seconds(numpy_pass, 5),
    }
    lines = [(name, f"{NUM_ROWS / value:,.0f}", "") for name, value in seconds.items()]
    values = list(seconds.values())
    lines.append(("pruned / full", f"{values[0] / values[1]:.1f} x", verdict(values[0] / values[1], 5, at_least=True)))
    per_pass = values[0] / full.num_draws / values[2]
    lines.append(("full, each draw, against numpy's pass", f"{per_pass:.1f} x the time", ""))
    report = table((f"mean and standard deviation of {NUM_ROWS:,} rows", "rows a second", "target"), lines)
    default = of_the_default(train_X, train_y, rows)
    told = [(name, f"{value:.2f}") for name, value in default.items()]
    report += ["", *table(("the default fit: sampled, noise as the rows ask for it", "s"), told)]
    write("predict", "Prediction, boston", report, seconds | default)


def of_the_default(train_X: np.ndarray, train_y: np.ndarray, rows: np.ndarray) -> dict[str, float]:
    """Seconds that answers of a default fit take."""
    model = HorseshoeRegressor(sampling=SAMPLING, training=TRAINING, random_state=0, progress=False)
    model.fit(train_X, train_y)
    fan = np.arange(1, 100) / 100
    return {
        f"mean and sd, {len(rows):,} rows": median_seconds(lambda: model.predict(rows, return_std=True), 3),
        f"intervals, {FEW_ROWS:,} rows": median_seconds(lambda: model.predict_interval(rows[:FEW_ROWS]), 3),
        f"intervals, {len(rows):,} rows": median_seconds(lambda: model.predict_interval(rows), 1),
        f"99 quantiles, {FEW_ROWS:,} rows": median_seconds(lambda: model.predict_quantiles(rows[:FEW_ROWS], fan), 1),
    }


if __name__ == "__main__":
    main()
