"""(a) What does a training step cost? Against a plain JAX network and NumPyro's SVI, at 50 and 500 units, batch 128."""

from collections.abc import Callable
from functools import partial

import jax
import numpy as np
from common import median_seconds, table, verdict, write
from peers import STEPS, NumPyroNetwork, PlainNetwork, batches, pritchel_trial, uci_problem

from pritchel.infer.feed import Feed
from pritchel.infer.step import State, ravel, run_chunk, start_adam
from pritchel.infer.trial import FitSettings, Trial

UNITS, REPEATS = (50, 500), 11


def pritchel_chunk(trial: Trial, settings: FitSettings) -> tuple[Callable[[], None], int]:
    """A function that runs one compiled chunk, warm, as `fit` does, and its number of steps."""
    feed = Feed(trial, settings, trial.guide)
    steps, num_filled = feed.chunk(0)
    template = jax.tree.map(np.asarray, trial.guide)
    params, trainable = ravel(template), ravel(trial.trainable)

    def run() -> None:
        state = State(params, start_adam(params), None, np.zeros((), np.int32))
        rows = float(feed.num_rows)
        chunk = (state, template, trial.model, steps, trainable, num_filled, rows, settings.objective)
        jax.block_until_ready(run_chunk(*chunk))

    return run, num_filled


def main() -> None:
    problem = uci_problem("boston")
    rows, data = [], []
    for units in UNITS:
        trial = pritchel_trial(problem.data, (units,))
        settings = FitSettings(num_steps=STEPS)
        batch = batches(trial, settings)
        plain, numpyro = PlainNetwork((problem.num_features, units, 1)), NumPyroNetwork(problem.data, units)
        runs = {
            "plain network": (partial(plain.run, batch), STEPS),
            "Pritchel, moments": pritchel_chunk(trial, settings),
            "Pritchel, sampled": pritchel_chunk(trial, settings._replace(objective="sampled")),
            "NumPyro AutoNormal": (partial(numpyro.run, batch), STEPS),
        }
        steps = {name: median_seconds(run, REPEATS) / length * 1e6 for name, (run, length) in runs.items()}
        for name, microseconds in steps.items():
            ratio = microseconds / steps["plain network"]
            note = verdict(ratio, 3) if name == "Pritchel, moments" else ""
            rows.append((units, name, f"{microseconds:.0f}", f"{ratio:.1f}", note))
            data.append({"units": units, "method": name, "microseconds": microseconds, "ratio": ratio})
        speed = steps["NumPyro AutoNormal"] / steps["Pritchel, moments"]
        rows.append((units, "NumPyro / Pritchel", "", f"{speed:.1f}", verdict(speed, 1, at_least=True)))
    lines = table(("units", "", "us a step", "x plain network", "target"), rows)
    write("step", "Time of a training step, boston, batch 128", lines, data)


if __name__ == "__main__":
    main()
