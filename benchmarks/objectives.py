"""Do the two objectives, closed-form moments and sampling, end at the same bound and the same scores?"""

import numpy as np
from common import table, with_error, write

from pritchel import HorseshoeRegressor, Training
from pritchel.data.sources import load_uci
from pritchel.experiments.runs import run_splits

SETS = ("yacht", "boston", "energy", "concrete", "wine")
SPLITS = range(5)
TRAINING = Training()
LAST_STEPS = 500  # the bound is noisy a step: averaged over the last


def main() -> None:
    rows, data = [], []
    for name in SETS:
        runs = {}
        for objective in ("moments", "sampled"):
            runs[objective] = run_splits(
                load_uci(name),
                SPLITS,
                lambda split, objective=objective: HorseshoeRegressor(
                    hidden=(50,),
                    num_members=1,
                    training=TRAINING.changed(objective=objective),
                    inference="variational",
                    likelihood="gaussian",
                    random_state=split,
                ),
            )
        num_rows = len(load_uci(name).split(0)[1])
        figures = {
            "elbo": lambda run, n=num_rows: float(run.estimator.elbo_[:, -LAST_STEPS:].mean() / n),
            "rmse": lambda run: run.scores.rmse,
            "log_likelihood": lambda run: run.scores.log_likelihood,
            "units": lambda run: float(np.sum(run.estimator.units_kept_)),
            "seconds": lambda run: run.seconds,
        }
        values = {key: {o: [get(run) for run in runs[o]] for o in runs} for key, get in figures.items()}
        rows.append((name, *(with_error(values[key][o]) for key in list(figures)[:3] for o in runs)))
        rows[-1] += tuple(f"{np.mean(values['units'][o]):.1f}" for o in runs)
        data.append({"set": name, **values})
    columns = ["table"]
    for figure in ("ELBO a row", "RMSE", "log-likelihood", "units kept"):
        columns += [f"{figure}, moments", "sampled"]
    write("objectives", "Moments against sampling, 50 units, five splits", table(columns, rows), data)


if __name__ == "__main__":
    main()
