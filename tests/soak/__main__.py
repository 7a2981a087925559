"""`python -m tests.soak`: try every area in turn until the time is over, and write what held and what did not."""

import argparse
import time

from tests.soak.campaign import AREAS, RESULTS, report, run


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="time for all areas (60)")
    parser.add_argument("--tries", type=int, default=1000, help="tries in each area (1000)")
    parser.add_argument("--areas", nargs="+", choices=AREAS, default=list(AREAS), help="some only")
    parser.add_argument("--seed", type=int, help="of the tries; a new campaign has one of the clock, and prints it")
    parser.add_argument("--resume", action="store_true", help="go on with the last campaign, instead of a new one")
    chosen = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    state_path = RESULTS / "soak.json"
    if not chosen.resume:
        state_path.unlink(missing_ok=True)
    seed = int(time.time()) if chosen.seed is None else chosen.seed
    state = run(chosen.areas, seed, chosen.minutes, chosen.tries, state_path)
    (RESULTS / "soak.md").write_text(report(state))
    print(report(state))
    return int(any(at["failures"] for at in state["areas"].values()))


if __name__ == "__main__":
    raise SystemExit(main())
