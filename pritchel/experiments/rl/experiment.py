"""Both domains' experiment for `pritchel reproduce`: its trials, and the table and verdict from their records."""

from functools import partial

import numpy as np

from pritchel.experiments.records import Key, Record
from pritchel.experiments.reproduce import Experiment, Finding, Verdict
from pritchel.experiments.rl.models import METHODS
from pritchel.experiments.rl.protocol import run_trial
from pritchel.experiments.rl.settings import PAPER

NUM_SEEDS, NUM_QUICK_SEEDS = 10, 1
ARCHITECTURES = ("500", "100-100")
REHEARSED = ("random", "defaults", "simulator", "structured-100-100", "bnn-100-100", "mean")
NUM_RESAMPLES = 4000
MIN_SEEDS = 5  # fewer give no interval and no verdict: a bootstrap of two is their range


def trials(
    quick: bool, num_seeds: int | None = None, size: str | None = None, without: tuple[str, ...] = ()
) -> list[Key]:
    """Seed by seed, so that whatever is done is a balanced table; each collection one seed ahead of its models.

    The quick set is a rehearsal: most of its time goes into programs that are compiled once a method, so it has one
    method of each kind.
    """
    num_seeds = num_seeds or (NUM_QUICK_SEEDS if quick else NUM_SEEDS)
    size = size or ("quick" if quick else "full")
    offered = REHEARSED if size == "quick" else METHODS
    others = [name for name in offered if name not in ("collect", *without)]
    keys: list[Key] = [{"size": size, "seed": 0, "method": "collect"}]
    for seed in range(num_seeds):
        ahead = [("collect", seed + 1)] if seed + 1 < num_seeds else []
        keys += [{"size": size, "seed": s, "method": name} for name, s in [*ahead, *((m, seed) for m in others)]]
    return keys


def reward(record: Record, tests: str = "test") -> float:
    """Mean return over the late snapshots; `tests` is "test" (greedy) or "test_random"."""
    return float(np.mean([test["return"] for test in record["result"].get(tests, record["result"]["test"])]))


def interval(values: np.ndarray) -> tuple[float, float]:
    """95 % bootstrap interval of the mean over seeds; not a number for fewer than `MIN_SEEDS`."""
    if len(values) < MIN_SEEDS:
        return float("nan"), float("nan")
    rng = np.random.default_rng(0)
    means = rng.choice(values, (NUM_RESAMPLES, len(values))).mean(1)
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)


def by_method(records: list[Record]) -> dict[str, dict[int, Record]]:
    """Records by method, then seed, in the table's order."""
    table: dict[str, dict[int, Record]] = {name: {} for name in METHODS}
    for record in records:
        table[record["key"]["method"]][record["key"]["seed"]] = record
    return {name: dict(sorted(seeds.items())) for name, seeds in table.items() if seeds}


def _with_interval(values: list[float], digits: int) -> str:
    if not values:
        return ""
    array = np.asarray(values)
    low, high = interval(array)
    text = f"{array.mean():.{digits}f}"
    if np.isnan(low):
        return f"{text} ({array.min():.{digits}f} to {array.max():.{digits}f})" if len(array) > 1 else text
    return f"{text} [{low:.{digits}f}, {high:.{digits}f}]"


def table_rows(domain_name: str, records: list[Record]) -> tuple[tuple[str, ...], ...]:
    """One row a method: seeds, errors, rewards with intervals, and the paper's figures."""
    rows = []
    for name, seeds in by_method(records).items():
        fits = [record["result"]["fit"] for record in seeds.values() if "fit" in record["result"]]
        greedy = [reward(record) for record in seeds.values()]
        noisy = [reward(record, "test_random") for record in seeds.values()]
        paper = PAPER.get((domain_name, name))
        rmse = [_with_interval([fit["rmse"] for fit in fits], 3)]
        if domain_name == "acrobot":
            rmse.append(_with_interval([fit["rmse_wrapped"] for fit in fits], 3))
        rows.append(
            (
                METHODS[name].label,
                f"{len(seeds)}",
                *rmse,
                _with_interval(greedy, 1),
                f"{np.median(greedy):.1f}",
                _with_interval(noisy, 1) if name != "random" else "",
                f"{paper.rmse:.3f}" if paper else "",
                f"{paper.reward:.1f}" if paper else "",
            )
        )
    return tuple(rows)


def columns(domain_name: str) -> tuple[str, ...]:
    """Headings of `table_rows`."""
    rmse = ("test RMSE", "angles wrapped") if domain_name == "acrobot" else ("test RMSE",)
    return ("", "seeds", *rmse, "reward, greedy", "median", "reward, 15 % random", "paper RMSE", "paper reward")


def paired_gains(records: list[Record], architecture: str, tests: str = "test") -> np.ndarray:
    """Reward of structured reg-HS over the BNN's, seed by seed."""
    table = by_method(records)
    ours, theirs = table.get(f"structured-{architecture}", {}), table.get(f"bnn-{architecture}", {})
    return np.asarray([reward(ours[seed], tests) - reward(theirs[seed], tests) for seed in ours if seed in theirs])


def judge(records: list[Record]) -> tuple[str, Verdict]:
    """The claim in one sentence with its interval, and the verdict: whether structured beats the BNN in both sizes.

    "unclear" also while there are too few seeds for an interval.
    """
    parts, intervals = [], []
    for architecture in ARCHITECTURES:
        gains = paired_gains(records, architecture)
        if len(gains) == 0:
            return "No pair of a structured model and a BNN is on record yet.", "unclear"
        low, high = interval(gains)
        intervals.append((low, high))
        spread = f"[{low:+.1f}, {high:+.1f}]" if np.isfinite(low) else f"({gains.min():+.1f} to {gains.max():+.1f})"
        parts.append(f"x-{architecture}-y {gains.mean():+.1f} {spread}, {len(gains)} seeds")
    sentence = (
        "Reward of structured reg-HS over the BNN (greedy, mean of late snapshots, paired by seed; [95 % bootstrap] or "
        f"(range) below {MIN_SEEDS} seeds): " + "; ".join(parts) + "."
    )
    if all(low > 0 for low, _ in intervals):
        return sentence, "holds"
    return sentence, "does not hold" if any(high < 0 for _, high in intervals) else "unclear"


def _find(domain_name: str, records: list[Record]) -> Finding:
    return Finding(*judge(records), columns(domain_name), table_rows(domain_name, records))


def make_experiment(domain_name: str, title: str, without: tuple[str, ...] = ()) -> Experiment:
    """The experiment of one domain, with all methods but some."""
    claim = (
        "With few transitions a standard BNN underfits and the policy learned in it suffers; structured reg-HS fits "
        "better and its policy earns more, in both architectures."
    )
    own_trials = partial(trials, without=without)
    return Experiment(title, claim, own_trials, partial(run_trial, domain_name), partial(_find, domain_name))
