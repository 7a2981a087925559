"""Does a change leave the numbers alone? The default fit of each table's first split, against the record.

`python benchmarks/same_numbers.py` compares with `results/same_numbers.json` and says where bits, or scores, differ;
with `--record` it writes the record anew. Bits may differ between machines and versions of JAX; scores should not.
"""

import argparse
import hashlib
import json
import sys
import time
from typing import Any

import numpy as np
from common import RESULTS, environment

from pritchel import HorseshoeRegressor
from pritchel.data.sources import UCI, load_uci
from pritchel.experiments.scores import estimator_scores

RECORD = RESULTS / "same_numbers.json"


def fit_first_split(name: str) -> dict[str, Any]:
    """Scores of the default fit with seed 0, and a digest of the bits of its bound and of its predictions."""
    train_X, train_y, test_X, test_y = load_uci(name).split(0)
    start = time.perf_counter()
    model = HorseshoeRegressor(inference="variational", likelihood="gaussian", random_state=0, progress=False).fit(
        train_X, train_y
    )
    seconds = time.perf_counter() - start
    mean, sd = model.predict(test_X, return_std=True)
    digest = hashlib.sha256()
    for part in (model.elbo_, mean, sd, model.log_prob(test_X, test_y)):
        digest.update(np.ascontiguousarray(part, np.float64).tobytes())
    scores = estimator_scores(model, test_X, test_y)
    return {**scores._asdict(), "units": model.units_kept_.tolist(), "bits": digest.hexdigest(), "seconds": seconds}


def compare(name: str, now: dict[str, Any], before: dict[str, Any] | None) -> str:
    """One line: the same to the bit, or by how much the scores have moved."""
    took = f"{now['seconds']:.0f} s"
    if before is None:
        return f"{name}: nothing on record ({took})"
    if now["bits"] == before["bits"]:
        return f"{name}: the same to the bit ({took})"
    moved = {score: now[score] - before[score] for score in ("rmse", "log_likelihood", "coverage")}
    shown = ", ".join(f"{score} {change:+.2g} from {before[score]:.4g}" for score, change in moved.items())
    return f"{name}: DIFFERENT: {shown}; units {before['units']} then, {now['units']} now ({took})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="write the record instead of comparing with it")
    parser.add_argument("--tables", nargs="*", default=list(UCI), choices=UCI, help="some of the tables")
    arguments = parser.parse_args()
    before = json.loads(RECORD.read_text())["results"] if RECORD.exists() else {}
    results = {}
    for name in arguments.tables:
        results[name] = fit_first_split(name)
        print(compare(name, results[name], before.get(name)), flush=True)
    if arguments.record:
        RECORD.write_text(json.dumps({"environment": environment(), "results": before | results}, indent=1) + "\n")
    elif any(results[name]["bits"] != before.get(name, {}).get("bits") for name in results):
        sys.exit(1)


if __name__ == "__main__":
    main()
