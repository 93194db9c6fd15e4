"""``python -m tests.support.fuzz.guided TARGET --seconds N``: fuzzing that is led by coverage.

With atheris (libFuzzer for Python) inputs that reach new code are kept and changed further. Where
it cannot be installed, the same targets get mutated seeds without that.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import time
from pathlib import Path
from random import Random

try:
    import atheris
except ImportError:
    atheris = None


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.fuzz.guided", description=__doc__
    )
    parser.add_argument("target", choices=["xpath", "dtd", "xsd", "scheme", "document"])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    if atheris is None:
        return blindly(asked.target, asked.seconds, asked.seed)
    with atheris.instrument_imports(include=["extract", "tests.support.fuzz.targets"]):
        from tests.support.fuzz import targets
    corpus = Path(tempfile.mkdtemp(prefix="extract-corpus-"))
    for number, data in enumerate(targets.seeds(asked.target)):
        (corpus / f"seed-{number}").write_bytes(data)
    options = [f"-max_total_time={asked.seconds}", f"-seed={asked.seed}", "-print_final_stats=1"]
    options += [
        "-max_len=20000",
        "-timeout=60",
        "-rss_limit_mb=4096",
        f"-artifact_prefix={corpus}/",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], targets.TARGETS[asked.target])
    atheris.Fuzz()  # ends the process
    return 0


def blindly(target: str, seconds: int, seed: int) -> int:
    """Mutates seeds at random."""
    begun = time.monotonic()
    for count in itertools.count():
        if time.monotonic() - begun > seconds:
            print(f"{target}: {count:,} executions without coverage, nothing found")
            break
        once(target, seed + count)
    return 0


def once(target: str, seed: int) -> None:
    """Tries one mutated seed."""
    from tests.support.fuzz import targets

    rng, pool = Random(seed), targets.seeds(target)
    data = bytearray(rng.choice(pool))
    for _ in range(rng.randint(1, 8)):
        at, other = rng.randrange(len(data) + 1), rng.choice(pool)
        piece = other[(start := rng.randrange(len(other))) : start + rng.randint(1, 30)]
        data[at : at + rng.randint(0, 8)] = rng.choice([piece, rng.randbytes(1), b""])
    targets.TARGETS[target](bytes(data))


if __name__ == "__main__":
    sys.exit(main())
