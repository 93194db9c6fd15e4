"""``python -m tests.support.fuzz.push``: the push engine against lxml, in several processes.

An answer is that of one query, with its constants, on one document: which nodes it selects, how
many, and whether any. `tests.support.push.rounds` has what is compared.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed

from tests.support.push.rounds import round_of

_ROUNDS = 10  # that a process does before it reports


def some_rounds(seed: int) -> tuple[Counter[str], list[str]]:
    """Some rounds: what was compared, and what differs."""
    counts: Counter[str] = Counter()
    found = []
    for number in range(_ROUNDS):
        try:
            counts += round_of(seed * _ROUNDS + number, members=50, documents=60)
        except AssertionError as error:
            found.append(f"round {seed * _ROUNDS + number}: {error}")
    return counts, found


def main() -> int:
    """Runs until there were as many answers as asked for; says what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.fuzz.push", description=__doc__)
    parser.add_argument("--answers", type=int, default=10_000_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the first rounds")
    options = parser.parse_args()
    print(f"seed {options.seed}, {options.processes} processes", flush=True)
    counts: Counter[str] = Counter()
    differences = 0
    seeds = itertools.count(options.seed)
    begun = last = time.monotonic()
    with ProcessPoolExecutor(options.processes) as pool:
        waiting = {pool.submit(some_rounds, next(seeds)) for _ in range(options.processes)}
        while waiting:
            done = next(as_completed(waiting))
            waiting.remove(done)
            more, found = done.result()
            counts += more
            for what in found:
                differences += 1
                if differences <= 20:
                    print(what, flush=True)
            if counts["answers"] + more["answers"] * len(waiting) < options.answers:
                waiting.add(pool.submit(some_rounds, next(seeds)))
            if time.monotonic() - last > 30:
                last = time.monotonic()
                print(f"{counts['answers']:,} answers, {differences:,} differences", flush=True)
    what = ", ".join([f"{number:,} {name}" for name, number in counts.items()])
    print(f"{what} in {time.monotonic() - begun:.0f} s, {differences:,} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
