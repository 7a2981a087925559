"""Pritchel beside today's best, in one command.

    make arena-quick                                         # three small tables, one split: under ten minutes
    make arena                                               # everything: a night on two cores
    make arena ARENA="--tables yacht concrete --methods Pritchel bde --splits 2"

Every fit runs in a process of its own with limits of time and memory, and is one line of results/arena_runs.jsonl
when it ends; a second call goes on from there. `--again METHOD` forgets a method's lines of the tables asked for,
`--retry` those that failed, `--page` runs nothing. The page, results/arena.md, and its figures are made from the lines.

Fits run one at a time, since their seconds and memory are compared; `--jobs 4` has four at a time, where only scores
matter.
"""

import argparse
import signal
import sys
import time
from collections.abc import Collection, Iterator
from itertools import groupby
from pathlib import Path

from joblib import Parallel, delayed
from prediction import Method
from registry import METHODS
from run import Limits, Records, end_children, reason_to_skip, run_cell, truth_record, typical_seconds
from tables import TABLES, Split, Table

RESULTS = Path(__file__).parents[1] / "results"
QUICK_TABLES = ("linear", "yacht", "iris")
NOT_QUICK = ("bde, defaults", "Pritchel, variational", "MC dropout")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", choices=TABLES, metavar="TABLE", help=f"of {', '.join(TABLES)}")
    parser.add_argument("--methods", nargs="+", choices=METHODS, metavar="METHOD", help=f"of {', '.join(METHODS)}")
    parser.add_argument("--splits", type=int, default=100, help="at most so many of each table")
    parser.add_argument("--seconds", type=float, default=Limits().seconds, help="a fit may take (default %(default)g)")
    parser.add_argument(
        "--megabytes", type=float, default=Limits().megabytes, help="a fit may take (default %(default)g)"
    )
    parser.add_argument(
        "--again", nargs="+", default=[], metavar="METHOD", choices=METHODS, help="run it anew on these tables"
    )
    parser.add_argument("--retry", action="store_true", help="run what failed or met a limit anew")
    parser.add_argument("--jobs", type=int, default=1, help="fits at a time (default %(default)s)")
    parser.add_argument("--quick", action="store_true", help="three small tables, one split, less three slow methods")
    parser.add_argument("--page", action="store_true", help="only make the page from what is on record")
    return parser.parse_args()


def asked_tables(options: argparse.Namespace) -> Collection[str]:
    return options.tables or (QUICK_TABLES if options.quick else TABLES)


def cells(options: argparse.Namespace, records: Records) -> list[tuple[Method, Table, int]]:
    """What is asked for and not on record: the first split of every table, then the second, and so on."""
    tables = [TABLES[name] for name in asked_tables(options)]
    given = options.methods or [name for name in METHODS if not (options.quick and name in NOT_QUICK)]
    most = 1 if options.quick else options.splits

    def is_done(table: Table, index: int, name: str) -> bool:
        known = records.by_key.get((table.name, index, name))
        return known is not None and (known["status"] == "ok" or not options.retry)

    return [
        (METHODS[name], table, table.splits[turn])
        for turn in range(min(most, max(len(table.splits) for table in tables)))
        for table in tables
        if turn < len(table.splits)
        for name in given
        if not is_done(table, table.splits[turn], name) and reason_to_skip(METHODS[name], table, turn) is None
    ]


def loaded(asked: list[tuple[Method, Table, int]], records: Records) -> Iterator[tuple[Method, Table, int, Split]]:
    """The same with their rows, read once for all methods; what the truth would score goes on record."""
    for (_, index), own in groupby(asked, lambda cell: (cell[1].name, cell[2])):
        some = list(own)
        table = some[0][1]
        split = table.load(index)
        if (truth := truth_record(table, index, split)) and Records.key(truth) not in records.by_key:
            records.add(truth)
        yield from ((method, table, index, split) for method, *_ in some)


def run(options: argparse.Namespace, records: Records) -> None:
    """Run the cells, a thread waiting for each that is under way."""
    limits, start = Limits(options.seconds, options.megabytes), time.monotonic()
    asked = cells(options, records)
    minutes = sum(typical_seconds(records, method.name, table.rows) for method, table, _ in asked) / options.jobs / 60
    time_left = f"{minutes:.0f} minutes" if minutes < 90 else f"{minutes / 60:.1f} hours"
    print(f"{len(asked)} fits to run, by those on record about {time_left}.", flush=True)
    parallel = Parallel(options.jobs, prefer="threads", batch_size=1, return_as="generator_unordered")
    try:
        ended = parallel(delayed(run_cell)(*cell, limits) for cell in loaded(asked, records))
        for num_run, record in enumerate(ended, 1):
            records.add(record)
            print(f"[{time.monotonic() - start:6.0f} s, fit {num_run} of {len(asked)}] {in_words(record)}", flush=True)
    finally:
        end_children()


def in_words(record: dict) -> str:
    about = f"{record['table']} {record['split']}, {record['method']}: "
    if record["status"] != "ok":
        return about + record["status"]
    names = [name for name in ("ll", "crps", "rmse", "error") if record.get(name) is not None]
    return about + ", ".join(f"{name} {record[name]:.4g}" for name in names) + f" ({record['fit_seconds']:.1f} s)"


def main() -> None:
    options = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the fit under way is ended too
    records = Records(RESULTS / "arena_runs.jsonl")
    for method in options.again:
        records.forget(method, asked_tables(options))
    if not options.page:
        run(options, records)
    from page import write_page

    write_page(list(records), RESULTS)


if __name__ == "__main__":
    main()
