"""(d) What does dropping dead units during training gain, and does it change the outcome? 500 units."""

import numpy as np
from common import median_seconds, table, verdict, with_error, write
from peers import STEPS, PlainNetwork, batches, pritchel_trial, uci_problem

from pritchel import HorseshoeRegressor, Training
from pritchel.data.sources import load_uci
from pritchel.experiments.runs import run_splits
from pritchel.guide.prune_rule import surviving_units_of
from pritchel.infer.run import fit
from pritchel.infer.trial import FitSettings

UNITS, NUM_STEPS = 500, 8000
SETS = ("yacht", "boston", "energy", "concrete", "wine")


def speed() -> tuple[list[str], dict]:
    problem = uci_problem("boston")
    trial = pritchel_trial(problem.data, (UNITS,))
    settings = FitSettings(num_steps=NUM_STEPS)
    batch = batches(trial, settings)

    def plain() -> None:
        network = PlainNetwork((problem.num_features, UNITS, 1))
        for _ in range(NUM_STEPS // STEPS):
            network.run(batch)

    seconds = {
        "plain network": median_seconds(plain, 3),
        "Pritchel, all units to the end": median_seconds(
            lambda: fit(trial, settings._replace(drop_dead_units=False)), 3
        ),
        "Pritchel, dead units dropped": median_seconds(lambda: fit(trial, settings._replace(drop_dead_units=True)), 3),
    }
    dropped = seconds["Pritchel, dead units dropped"]
    gain, to_plain = seconds["Pritchel, all units to the end"] / dropped, dropped / seconds["plain network"]
    rows = [(name, f"{value:.2f}", "") for name, value in seconds.items()]
    rows.append(("gain by dropping", f"{gain:.1f} x", verdict(gain, 4, at_least=True)))
    rows.append(("dropping / plain network", f"{to_plain:.1f} x", verdict(to_plain, 1)))
    return table(("boston, 500 units, 8,000 steps, warm", "s", "target"), rows), seconds


def outcome(splits: range) -> tuple[list[str], list]:
    rows, data = [], []
    for name in SETS:
        runs = {}
        for drop in (False, True):
            runs[drop] = run_splits(
                load_uci(name),
                splits,
                lambda split, drop=drop: HorseshoeRegressor(
                    hidden=(UNITS,),
                    num_members=1,
                    training=Training(num_steps=NUM_STEPS, drop_dead_units=drop),
                    inference="variational",
                    likelihood="gaussian",
                    random_state=split,
                ),
            )
        kept = {drop: [units_of(run.estimator) for run in runs[drop]] for drop in runs}
        both = [len(a & b) for a, b in zip(kept[False], kept[True], strict=True)]
        either = [len(a | b) for a, b in zip(kept[False], kept[True], strict=True)]
        rows.append(
            (
                name,
                *(f"{np.mean([len(units) for units in kept[drop]]):.1f}" for drop in (False, True)),
                f"{np.sum(both) / np.sum(either):.0%}",
                *(with_error([run.scores.rmse for run in runs[drop]]) for drop in (False, True)),
                *(with_error([run.scores.log_likelihood for run in runs[drop]]) for drop in (False, True)),
            )
        )
        data.append({"set": name, "kept": {str(drop): [len(u) for u in kept[drop]] for drop in kept}, "both": both})
    columns = (
        "",
        "units kept, all stay",
        "dropped",
        "the same ones",
        "RMSE, all stay",
        "dropped",
        "LL, all stay",
        "dropped",
    )
    return table(columns, rows), data


def units_of(estimator: HorseshoeRegressor) -> set[int]:
    member = estimator.posterior_.members[0]
    return set(member.kept[0][surviving_units_of(member)[0]].tolist())


def main() -> None:
    first, seconds = speed()
    second, kept = outcome(range(2))
    lines = [*first, "", *second]
    write("dead_units", "Dropping dead units during training", lines, {"seconds": seconds, "kept": kept})


if __name__ == "__main__":
    main()
