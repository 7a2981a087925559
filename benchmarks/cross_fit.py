"""Does it help to keep other rows from every member? Members of all rows beside crossed ones, calibrated or not.

    python benchmarks/cross_fit.py                                # about half an hour on two cores
    python benchmarks/cross_fit.py --tables yacht --splits 5 6    # some splits of some tables
    python benchmarks/cross_fit.py --page                         # the page from what is on record

The defaults but for the number of members and whether each leaves out a part of the rows (`Training(cross_fit=True)`).
A crossed fit is scored as it is and with one factor on its spread, found from rows that members did not see.
Every finished fit is saved at once in results/cross_fit_runs.jsonl; a second call goes on from there.
"""

import argparse
import time
import warnings
from functools import partial
from typing import Any

import numpy as np
from common import RESULTS, on_record, recorded, table, with_error, write

from pritchel import HorseshoeRegressor, Training
from pritchel.data.sources import load_uci
from pritchel.experiments.scores import estimator_scores

RUNS = RESULTS / "cross_fit_runs.jsonl"
TABLES = ("yacht", "boston", "concrete", "wine")
FITS = ((3, False), (3, True), (5, False), (5, True))  # members, and whether they are crossed
WAYS = ("as it is", "spread")


def run(key: dict[str, Any]) -> dict[str, Any]:
    """Scores of one fit, of a crossed one also with its spread set right."""
    train_X, train_y, test_X, test_y = load_uci(key["table"]).split(key["split"])
    model = HorseshoeRegressor(
        num_members=key["members"],
        training=Training(cross_fit=key["is_crossed"]),
        calibration="spread" if key["is_crossed"] else None,
        random_state=key["split"],
        progress=False,
    )
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(train_X, train_y)
    found: dict[str, Any] = {"seconds": time.perf_counter() - start}
    if model.calibration_ is not None:
        found |= {"factor": float(model.calibration_.factor[0]), "cv_score": model.cv_score_}
        found["spread"] = estimator_scores(model, test_X, test_y)._asdict()
        model.posterior_ = model.posterior_.with_calibration(None)
    found["as it is"] = estimator_scores(model, test_X, test_y)._asdict()
    return found


def report(runs: list[dict]) -> list[str]:
    """A row a table and way of fitting; differences are paired with the default's, split by split."""
    rows = []
    for name in sorted({own["table"] for own in runs}):
        first = {own["split"]: own["as it is"] for own in runs if _is_of(own, name, FITS[0])}
        for fit in FITS:
            fits = [own for own in runs if _is_of(own, name, fit) and own["split"] in first]
            for way in WAYS if fits and fit[1] else WAYS[: len(fits)][:1]:
                scores = [own[way] for own in fits]
                gains = [own[way]["log_likelihood"] - first[own["split"]]["log_likelihood"] for own in fits]
                errors = [own[way]["rmse"] / first[own["split"]]["rmse"] - 1 for own in fits]
                label = (
                    f"{fit[0]} members, {'crossed' if fit[1] else 'all rows'}{', spread' if way == 'spread' else ''}"
                )
                coverage = np.mean([own["coverage"] for own in scores])
                rows.append(
                    (
                        *(name, label, len(fits), with_error([own["log_likelihood"] for own in scores])),
                        *(with_error(gains), with_error(errors, 2), f"{coverage:.1%}"),
                        f"{np.mean([own['seconds'] for own in fits]):.0f}",
                    )
                )
    columns = ["table", "fit", "splits", "log-likelihood", "over the default, paired", "RMSE, relative, paired"]
    return table([*columns, "90 % coverage", "s"], rows)


def _is_of(own: dict, name: str, fit: tuple[int, bool]) -> bool:
    return own["table"] == name and (own["members"], own["is_crossed"]) == fit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--splits", type=int, nargs="*", default=[0, 1, 2, 3])
    parser.add_argument("--page", action="store_true", help="write the page from what is on record, and fit nothing")
    options = parser.parse_args()
    keys = [
        {"table": name, "split": split, "members": members, "is_crossed": is_crossed}
        for split in options.splits
        for name in options.tables
        for members, is_crossed in FITS
    ]
    for key in keys if not options.page else []:
        recorded(RUNS, key, partial(run, key))
    runs = on_record(RUNS)
    write("cross_fit", "Rows that members did not see", report(runs), {"runs": runs})


if __name__ == "__main__":
    main()
