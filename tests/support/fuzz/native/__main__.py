"""``python -m tests.support.fuzz.native --seconds N``: the kernel against libxml2, by coverage."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.fuzz.native import target


def main() -> int:
    """Builds the target and runs it; says what was found."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.fuzz.native", description=__doc__
    )
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--corpus", type=Path, help="a directory to begin with, and to go on in")
    parser.add_argument("--keep", action="store_true", help="renew seeds.txt from what was reached")
    asked = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="extract-fuzz-"))
    program, words = place / "kernel", place / "words"
    try:
        target.build(program)
    except target.Unavailable as error:
        print(f"The kernel is not fuzzed by coverage: {error}")
        return 0
    corpus = asked.corpus or place / "corpus"
    corpus.mkdir(exist_ok=True)
    target.write_seeds(corpus)
    target.write_dictionary(words)
    options = [f"-max_total_time={asked.seconds}", f"-max_len={target.MOST}", f"-dict={words}"]
    options += ["-print_final_stats=1", f"-artifact_prefix={place}/"]
    status = subprocess.run([program, *options, corpus], check=False).returncode
    for found in sorted(place.glob("*-*")):
        print(f"{found.read_bytes()!r}\n  differs or crashes; run {program} {found}")
    if asked.keep:
        few = place / "few"
        few.mkdir()
        subprocess.run([program, "-set_cover_merge=1", few, corpus], check=True)
        target.keep(path.read_bytes() for path in few.iterdir())
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main())
