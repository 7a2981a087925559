"""What an experiment is, which there are, and how one is run: trials to records, records to a verdict."""

import importlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from pritchel.experiments.records import Key, Record, Records
from pritchel.experiments.statistics import Verdict, all_hold
from pritchel.posterior.diagnostics import CollapseWarning, FitWarning

# The module of each experiment; it has an `EXPERIMENT`.
EXPERIMENTS: dict[str, str] = {
    name: f"pritchel.experiments.paper.{name}"
    for name in (
        *("widths", "toy", "priors", "shrinkage", "vmg", "low_data", "families", "prior_draws"),
        *("shrinkage_map", "priors_map", "low_data_map", "families_map"),
    )
} | {
    "inclusion": "pritchel.experiments.inclusion",
    "rl-map": "pritchel.experiments.rl.rl_map",
    "rl-acrobot": "pritchel.experiments.rl.rl_acrobot",
}


class Check(NamedTuple):
    """One part of a claim under one kind of settings."""

    claim: str
    settings: str  # "paper" or "ours"; in a map of conditions, the condition
    statistic: str  # the figure that tests it, with its interval
    verdict: Verdict


class Finding(NamedTuple):
    """What the records say of the paper's claim."""

    statistic: str  # one sentence with the figure that tests the claim, and its interval
    verdict: Verdict
    columns: tuple[str, ...] = ()  # a table, if there is one
    rows: tuple[tuple[str, ...], ...] = ()
    checks: tuple[Check, ...] = ()  # the claim in parts, under the paper's settings and ours
    under: tuple[
        tuple[str, str], ...
    ] = ()  # of a map of conditions: where the claim holds, fails, is decided; in words
    note: str = ""  # what else there is to say

    @classmethod
    def of_checks(cls, checks: list[Check], columns: tuple = (), rows: tuple = (), note: str = "") -> "Finding":
        """The finding that the checks under the paper's settings add up to."""
        of_paper = [check for check in checks if check.settings == "paper"]
        statistic = " ".join(f"{check.claim}: {check.statistic} ({check.verdict})." for check in of_paper)
        return cls(statistic, all_hold([check.verdict for check in of_paper]), columns, rows, tuple(checks), note=note)


class Experiment(NamedTuple):
    """One figure or table of the paper."""

    title: str
    claim: str  # what the paper says, in one sentence
    trials: Callable[[bool], list[Key]]  # of the full set, or (True) of a quick one
    run: Callable[[Key], dict[str, Any]]  # trains; returns JSON values
    find: Callable[[list[Record]], Finding]  # judges records; neither trains nor draws
    records: str | None = None  # the file of trials that it shares with others; None: its own name


class Outcome(NamedTuple):
    """What a run came to: the records of its trials, what they say, and the trials that failed."""

    records: list[Record]
    finding: Finding | None
    failures: list[str]


def load(name: str) -> Experiment:
    """The named experiment."""
    return importlib.import_module(EXPERIMENTS[name]).EXPERIMENT


def records_of(name: str, folder: Path) -> Records:
    """The file that an experiment's trials are in."""
    return Records(folder / f"{load(name).records or name}.jsonl")


def run_experiment(
    name: str,
    folder: Path,
    *,
    quick: bool = False,
    n_jobs: int | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Outcome:
    """Run what is missing of an experiment, then judge all of it from its records."""
    experiment = load(name)
    keys = experiment.trials(quick)
    records = records_of(name, folder)
    with warnings.catch_warnings():
        for kind in (CollapseWarning, FitWarning):  # on record: scores stand beside the constant predictor's
            warnings.simplefilter("ignore", kind)
        failures = records.run(keys, experiment.run, n_jobs=n_jobs, say=say)
    found = records.of(keys)
    return Outcome(found, experiment.find(found) if found else None, failures)


class Standing(NamedTuple):
    """What is on record of an experiment, and what it says."""

    finding: Finding
    records: list[Record]
    num_trials: int  # of the set that the records are of
    is_quick: bool

    @property
    def seconds(self) -> float:
        """What the trials took, added up."""
        return sum(record["seconds"] for record in self.records)


def look_up(name: str, folder: Path) -> Standing | None:
    """The finding from what is on record, of the full set or else of the quick one; nothing is trained."""
    experiment, records = load(name), records_of(name, folder)
    for quick in (False, True):
        keys = experiment.trials(quick)
        found = records.of(keys)
        finding = experiment.find(found) if found else None
        if finding is not None and finding.statistic:  # no statistic: nothing to compare yet
            return Standing(finding, found, len(keys), quick)
    return None
