"""``python -m tests.support.soak [--job run|stream|broker] [--minutes M] [--pause S]``."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.support.soak.figures import Figures, Meter, verdict
from tests.support.soak.jobs import JOBS

_SHOWN = 12  # rows of the table


def soak(job: str, rounds: int, minutes: float, documents: int, pause: float) -> bool:
    """Repeats a job, prints a table; returns whether everything stayed flat."""
    seen: list[tuple[float, Figures]] = []
    total = 0
    with tempfile.TemporaryDirectory(prefix="extract-soak-") as folder:
        work, meter, started = JOBS[job](Path(folder), documents), Meter(), time.monotonic()
        for count in work:
            total += count
            seen.append((time.monotonic() - started, meter.look(count)))
            if len(seen) >= rounds or seen[-1][0] >= minutes * 60:
                break
            time.sleep(pause)
        work.close()
    print(f"\n{job}: {len(seen):,} rounds, {total:,} documents, {seen[-1][0] / 60:.1f} minutes")
    print("   round  minutes  memory MB  of it Java  handles processes  ms/doc")
    for number in sorted({round(n * (len(seen) - 1) / (_SHOWN - 1)) for n in range(_SHOWN)}):
        elapsed, one = seen[number]
        print(
            f"{number + 1:>8,} {elapsed / 60:>8.1f} {one.memory_mb:>10,.1f} {one.java_mb:>11,.1f} "
            f"{one.handles:>8,} {one.processes:>9} {one.cpu_ms:>7.2f}"
        )
    wrong = verdict([one for _, one in seen])
    print(f"verdict: {'; '.join(wrong) or 'flat'}", flush=True)
    return not wrong


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.support.soak", description=__doc__)
    parser.add_argument("--job", action="append", choices=list(JOBS), help="by default all")
    parser.add_argument("--rounds", type=int, default=1 << 62, help="rounds of each job")
    parser.add_argument("--minutes", type=float, default=60.0, help="minutes of each job")
    parser.add_argument("--documents", type=int, default=40, help="documents in a round")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds after each round")
    asked = parser.parse_args()
    jobs = asked.job or list(JOBS)
    flat = [soak(job, asked.rounds, asked.minutes, asked.documents, asked.pause) for job in jobs]
    return 0 if all(flat) else 1


if __name__ == "__main__":
    sys.exit(main())
