"""What the tests of processes that share a fit have each of them do: `python -m tests.processes CASE FOLDER`.

Started alone, it is the fit of one process. What came of it goes to a file of the folder, by the process's number.
"""

import sys
from pathlib import Path

import numpy as np

from pritchel import HorseshoeRegressor, processes
from pritchel.data.dataset import Dataset
from pritchel.infer.members import fit_members
from pritchel.infer.plan import SamplingPlan
from pritchel.infer.sample import sample_members

TINY = {
    "hidden": (8,),
    "family": "factorized",
    "likelihood": "gaussian",
    "training__num_steps": 120,
    "training__learning_rate": 0.05,
    "inference": "variational",
    "num_members": 1,
    "progress": False,
    "random_state": 0,
}
# By name: what is changed of the above. Rows are 90, so that a batch of 32 is of passes, and one of 128 of all rows.
FITS = {
    "passes": {"training__batch_size": 32},
    "whole": {},
    "sampled": {"training__batch_size": 31, "training__objective": "sampled"},
    "batch_sampled": {"training__batch_size": 31, "training__objective": "batch_sampled"},
    "structured": {"family": "structured", "hidden": (6, 5), "num_members": 2},
    "average": {"training__average": 0.9, "training__batch_size": 32},
    "early": {"training__early_stopping": True, "training__num_steps": 3000, "training__patience": 1},
    "dead": {"hidden": (40,), "training__drop_dead_units": True, "training__num_steps": 1500},
    "vmg": {"family": "vmg", "prior": "gaussian"},
    "seedless": {"random_state": None, "training__num_steps": 20},
}


def rows(num=90, seed=7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(num, 3))
    return X, 10 + 3 * np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=num)


def fit(name):
    X, y = rows()
    model = HorseshoeRegressor().set_params(**TINY | FITS[name]).fit(X, y)
    mean, sd = model.predict(X, return_std=True)
    widths = [member.guide.widths[1:-1] for member in model.posterior_.members]
    return {"elbo": model.elbo_, "mean": mean, "sd": sd, "steps": model.n_iter_, "widths": np.asarray(widths)}


def stream(_name):
    X, y = rows(200)
    parts = [(X[start : start + 50], y[start : start + 50]) for start in range(0, 200, 50)]
    changes = {"training__batch_size": 32, "training__buffer_rows": 80}
    model = HorseshoeRegressor().set_params(**TINY | changes).fit(parts)
    return {"elbo": model.elbo_, "mean": model.predict(X)}


def chains(_name):
    """Three chains from members that were never fitted, and are the same whatever the processes."""
    X, y = rows(40)
    data = Dataset(X.astype(np.float32), (y[:, None] - 10).astype(np.float32), np.ones(40, np.float32))
    options = HorseshoeRegressor().set_params(**TINY | {"training__num_steps": 1, "num_members": 3}).options()
    fits = fit_members(data, options, 0)
    start = [fit.member._replace(guide=_rounded(fit.member.guide)) for fit in fits]
    plan = SamplingPlan(20, 20, 4, 0.8, 10)
    sampled = sample_members(start, data, plan, 0)
    found = {f"trace{index}": chain.log_density for index, (_, chain) in enumerate(sampled)}
    return found | {f"draws{index}": own.draws.hidden[0] for index, (own, _) in enumerate(sampled)}


def _rounded(guide):
    """The guide with numbers that two processes and one agree upon to the bit."""
    import jax

    return jax.tree.map(lambda leaf: np.round(np.asarray(leaf), 2), guide)


def other_rows(_name):
    X, y = rows(90, seed=processes.join())
    try:
        HorseshoeRegressor().set_params(**TINY).fit(X, y)
    except processes.ProcessError as error:
        return {"said": np.asarray(str(error))}
    return {"said": np.asarray("nothing")}


OTHERS = {"stream": stream, "chains": chains, "other_rows": other_rows}


def main(cases, folder):
    number = processes.join() if processes.place() is not None else 0
    for case in cases.split(","):
        found = OTHERS.get(case, fit)(case)
        np.savez(Path(folder) / f"{case}-{number}.npz", **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
