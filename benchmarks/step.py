"""(a) What does a training step cost? Against a plain JAX network and NumPyro's SVI, at 50 and 500 units, batch 128."""

from functools import partial

import jax
import numpy as np
from common import median_seconds, table, verdict, write
from peers import STEPS, NumPyroNetwork, PlainNetwork, batches, pritchel_trial, uci_problem

from pritchel.infer import fit as fitting


def pritchel_chunk(trial: fitting.Trial, settings: fitting.FitSettings):
    """A function that runs one compiled chunk, warm, as `fit` does."""
    feed = fitting._Feed(trial, settings)
    steps, num_filled = feed.chunk(0)
    template = jax.tree.map(np.asarray, trial.guide)
    params = fitting._ravel(template)
    trainable = fitting._ravel(trial.trainable)

    def run() -> None:
        state = fitting._State(params, fitting._start_adam(params), None, np.zeros((), np.int32))
        rows = float(feed.num_rows)
        chunk = (state, template, trial.model, steps, trainable, num_filled, rows, settings.objective)
        jax.block_until_ready(fitting._run_chunk(*chunk))

    return run


def main() -> None:
    problem = uci_problem("boston")
    rows, data = [], []
    for units in (50, 500):
        trial = pritchel_trial(problem.data, (units,))
        settings = fitting.FitSettings(num_steps=STEPS)
        batch = batches(trial, settings)
        plain, numpyro = PlainNetwork((13, units, 1)), NumPyroNetwork(problem.data, units)
        runs = {
            "plain network": partial(plain.run, batch),
            "Pritchel, moments": pritchel_chunk(trial, settings),
            "Pritchel, sampled": pritchel_chunk(trial, settings._replace(objective="sampled")),
            "NumPyro AutoNormal": partial(numpyro.run, batch),
        }
        steps = {}
        for name, run in runs.items():
            length = STEPS
            if name == "Pritchel, sampled":
                length = fitting._Feed(trial, settings._replace(objective="sampled")).chunk_steps
            steps[name] = median_seconds(run, 11) / min(length, STEPS) * 1e6
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
