"""``python -m tests.support.fuzz``: the kernel against lxml and expat, in several processes."""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from random import Random

from tests.support.fuzz.compare import difference
from tests.support.fuzz.mutate import mutated

_ROUND = 20_000  # documents that a process does before it reports


def one_round(seed: int) -> tuple[int, list[tuple[bytes, str]]]:
    """Tries some documents; returns how often the kernel was run, and what differs."""
    random = Random(seed)
    found = []
    executions = 0
    for number in range(_ROUND):
        document = mutated(random)
        windows = _sizes(random) if number % 4 == 0 else None
        executions += 2 + (windows is not None)  # looking, skipping, and in windows
        what = difference(document, windows, events=number % 2 == 0)
        if what:
            found.append((document, what))
    return executions, found


def _sizes(random: Random) -> Iterator[int]:
    if random.getrandbits(1):
        return itertools.repeat(1 + random.getrandbits(3))
    return iter(lambda: 1 + random.getrandbits(5), 0)


def main() -> int:
    """Runs until there were as many executions as asked for; says what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.fuzz", description=__doc__)
    parser.add_argument("--executions", type=int, default=10_000_000, help="of the kernel")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the first round")
    options = parser.parse_args()
    print(f"seed {options.seed}, {options.processes} processes", flush=True)
    executions = differences = rounds = 0
    seeds = itertools.count(options.seed)
    begun = last = time.monotonic()
    with ProcessPoolExecutor(options.processes) as pool:
        waiting = {pool.submit(one_round, next(seeds)) for _ in range(2 * options.processes)}
        while waiting:
            done = next(as_completed(waiting))
            waiting.remove(done)
            count, found = done.result()
            executions += count
            rounds += 1
            for document, what in found:
                differences += 1
                if differences <= 20:
                    print(f"{document!r}\n  {what}", flush=True)
            if executions + count * len(waiting) < options.executions:
                waiting.add(pool.submit(one_round, next(seeds)))
            if time.monotonic() - last > 30:
                last = time.monotonic()
                print(f"{executions:,} executions, {differences:,} differences", flush=True)
    seconds = time.monotonic() - begun
    print(
        f"{executions:,} executions on {rounds * _ROUND:,} documents in {seconds:.0f} s, "
        f"{differences:,} differences"
    )
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
