"""What an experiment is, which there are, and how one is run: trials to records, records to figures and a verdict."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pritchel.records import Key, Records

Verdict = Literal["holds", "does not hold", "unclear"]

# The module of each experiment; it has an `EXPERIMENT`.
EXPERIMENTS: dict[str, str] = {
    "rl-map": "pritchel.experiments.rl.rl_map",
    "rl-acrobot": "pritchel.experiments.rl.rl_acrobot",
}


class Finding(NamedTuple):
    """What the records say of the paper's claim."""

    figures: list[Path]
    statistic: str  # one sentence with the figure that tests the claim, and its interval
    verdict: Verdict
    columns: tuple[str, ...] = ()  # a table, if there is one
    rows: tuple[tuple[str, ...], ...] = ()


class Experiment(NamedTuple):
    """One figure or table of the paper."""

    title: str
    claim: str  # what the paper says, in one sentence
    trials: Callable[[bool], list[Key]]  # of the full set, or (True) of a quick one
    run: Callable[[Key], dict[str, Any]]  # trains; returns JSON values
    find: Callable[[list[dict[str, Any]], Path], Finding]  # records to figures in a folder; never trains


class Outcome(NamedTuple):
    """A finding, and the trials that failed."""

    finding: Finding | None
    failures: list[str]


def load(name: str) -> Experiment:
    """The named experiment."""
    return importlib.import_module(EXPERIMENTS[name]).EXPERIMENT


def run_experiment(
    name: str,
    folder: Path,
    *,
    quick: bool = False,
    n_jobs: int | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Outcome:
    """Run what is missing of an experiment, then draw it from its records."""
    experiment = load(name)
    keys = experiment.trials(quick)
    records = Records(folder / f"{name}.jsonl")
    failures = records.run(keys, experiment.run, n_jobs=n_jobs, say=say)
    found = records.of(keys)
    return Outcome(experiment.find(found, folder) if found else None, failures)
