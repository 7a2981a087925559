"""What does sampling cost? A default fit of concrete's first split, with and without it, each in fresh processes.

python benchmarks/two_stages.py                      # about five minutes on two idle cores
"""

import argparse
import statistics
import subprocess
import sys
import time

from common import table, verdict, write

REPEATS = 3
INFERENCES = ("variational", "auto")


def fit_twice(inference: str) -> None:
    """Print the seconds from the first import to a fitted model, and those of a second fit."""
    start = time.perf_counter()
    from pritchel import HorseshoeRegressor
    from pritchel.data.sources import load_uci

    train_X, train_y, _, _ = load_uci("concrete").split(0)
    for _ in range(2):
        HorseshoeRegressor(inference=inference, random_state=0, progress=False).fit(train_X, train_y)
        print(time.perf_counter() - start)
        start = time.perf_counter()


def seconds(inference: str) -> tuple[float, float]:
    words = [sys.executable, __file__, "--fit", inference]
    first, second = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    return float(first), float(second)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", choices=INFERENCES, help="fit twice in this process and print the seconds")
    if inference := parser.parse_args().fit:
        fit_twice(inference)
        return
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in INFERENCES}
    for _ in range(REPEATS):
        for name in INFERENCES:
            found[name].append(seconds(name))
    cold, warm = ({name: statistics.median(pair[part] for pair in found[name]) for name in found} for part in (0, 1))
    rows = [(name, f"{cold[name]:.1f}", f"{warm[name]:.1f}") for name in found]
    ratios = [times["auto"] / times["variational"] for times in (cold, warm)]
    rows.append(("ratio", *(f"{ratio:.2f}" for ratio in ratios)))
    lines = table(("inference", "seconds, fresh process", "seconds, compiled"), rows)
    lines += ["", f"Fresh process: {verdict(ratios[0], 1.0)}; compiled: {verdict(ratios[1], 1.0)}."]
    write("two_stages", "What sampling costs: concrete, 927 rows", lines, {"cold": cold, "warm": warm})


if __name__ == "__main__":
    main()
