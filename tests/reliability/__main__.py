"""Plays schedules and prints the figures.

    python -m tests.reliability [SEED | FIRST-LAST]… [--jobs N] [--json]

Without seeds all are played. The exit code is 1 if something did not hold.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections import Counter

from tests.reliability.play import attempt
from tests.reliability.schedule import SCHEDULES, kind_of
from tests.reliability.world import Played


def seeds_of(words: list[str]) -> list[int]:
    """The seeds that are named, or all."""
    found: list[int] = []
    for word in words:
        first, _, last = word.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found or list(range(SCHEDULES))


def figures(played: list[Played], seconds: float) -> dict[str, object]:
    """What stands in the documentation."""

    def total(name: str) -> Counter[str]:
        return sum((getattr(each, name) for each in played), Counter())

    return {
        "schedules": len(played),
        "by kind": dict(Counter(each.kind for each in played)),
        "runs by outcome": dict(total("outcomes").most_common()),
        "requests to the model": sum(each.requests for each in played),
        "faults": dict(sorted(total("faults").items())),
        "faults in all": total("faults").total(),
        "acts": dict(sorted(total("acts").items())),
        "events": sum(each.events for each in played),
        "edits that landed": sum(each.edits for each in played),
        "sessions resumed": sum(each.sessions for each in played),
        "seconds of a schedule, median": round(statistics.median([e.seconds for e in played] or [0]), 2),
        "seconds": round(seconds),
    }


def main(arguments: list[str]) -> int:
    """Play, print, compare."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability", description=__doc__)
    parser.add_argument("seeds", nargs="*")
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    # Those with a server of their own take longest: they begin, so that no process is left with them.
    seeds = sorted(seeds_of(options.seeds), key=lambda seed: kind_of(seed) == "inside")
    began = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        results = list(pool.imap_unordered(attempt, seeds))
    failed = [each for each in results if isinstance(each, str)]
    for text in failed:
        print(text, file=sys.stderr)
    found = figures([each for each in results if isinstance(each, Played)], time.monotonic() - began)
    found["failed"] = len(failed)
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        for name, value in found.items():
            shown = ", ".join(f"{k}: {v}" for k, v in value.items()) if isinstance(value, dict) else value
            print(f"{name:32} {shown}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
