"""(b) How long from typing the command to a fitted model? Boston, 50 units, 8,000 steps, each in a fresh process."""

import argparse
import statistics
import subprocess
import sys
import time

from common import table, verdict, write

NUM_STEPS = 8000


def fit_pritchel() -> None:
    from pritchel import HorseshoeRegressor, Training
    from pritchel.data.sources import load_uci

    train_X, train_y, _, _ = load_uci("boston").split(0)
    training = Training(num_steps=NUM_STEPS)
    HorseshoeRegressor(
        hidden=(50,), num_members=1, training=training, inference="variational", likelihood="gaussian", progress=False
    ).fit(train_X, train_y)


def fit_plain() -> None:
    from peers import STEPS, PlainNetwork, batches, pritchel_trial, uci_problem

    from pritchel.infer.trial import FitSettings

    problem = uci_problem("boston")
    batch = batches(pritchel_trial(problem.data, (50,)), FitSettings(num_steps=STEPS))
    network = PlainNetwork((problem.num_features, 50, 1))
    for _ in range(NUM_STEPS // STEPS):
        network.run(batch)


def fit_numpyro() -> None:
    from peers import STEPS, NumPyroNetwork, batches, pritchel_trial, uci_problem

    from pritchel.infer.trial import FitSettings

    problem = uci_problem("boston")
    batch = batches(pritchel_trial(problem.data, (50,)), FitSettings(num_steps=STEPS))
    network = NumPyroNetwork(problem.data, 50)
    for _ in range(NUM_STEPS // STEPS):
        network.run(batch)


def fit_gaussian_process() -> None:
    import numpy as np
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    from pritchel.data.sources import load_uci

    train_X, train_y, _, _ = load_uci("boston").split(0)
    inputs = (train_X - train_X.mean(0)) / train_X.std(0)
    kernel = ConstantKernel() * RBF(np.ones(inputs.shape[1])) + WhiteKernel()
    GaussianProcessRegressor(kernel, normalize_y=True).fit(inputs, train_y)


FITS = {
    "plain network": fit_plain,
    "Pritchel": fit_pritchel,
    "NumPyro AutoNormal": fit_numpyro,
    "GaussianProcessRegressor": fit_gaussian_process,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=FITS, help="fit this one here and now, and measure nothing")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if options.only:
        FITS[options.only]()
        return
    seconds = {}
    for name in FITS:
        times = []
        for _ in range(options.repeats):
            start = time.perf_counter()
            subprocess.run([sys.executable, __file__, "--only", name], check=True)
            times.append(time.perf_counter() - start)
        seconds[name] = statistics.median(times)
    plain = seconds["plain network"]
    rows = [
        (name, f"{value:.1f}", f"{value / plain:.1f}", verdict(value / plain, 3) if name == "Pritchel" else "")
        for name, value in seconds.items()
    ]
    lines = table(("", "s", "x plain network", "target"), rows)
    write("cold", "From a cold process to a fitted model: boston, 50 units, 8,000 steps", lines, seconds)


if __name__ == "__main__":
    main()
