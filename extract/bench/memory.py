"""``extract bench memory``: does memory stay flat while documents grow?

Each document is cut by ``extract chunk`` in a process of its own, whose peak the system counts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from extract.bench.table import Table
from extract.preptool.prepare import prepare
from extract.scenarios import scenario

_MEGABYTES = (20, 200, 2_000)


def run(data: Path | None, scale: float = 1.0) -> Table:
    """Cuts documents of growing size into five chunks that have all of their bytes."""
    university = scenario("university")
    rows: list[list[str | int | float]] = []
    with tempfile.TemporaryDirectory(prefix="extract-bench-") as folder:
        place = Path(folder)
        scheme = prepare(university.schema(), university.queries(500), 5)
        scheme.save(place / "scheme.json")
        for megabytes in _MEGABYTES:
            document = place / "document.xml"
            with document.open("wb") as stream:
                for part in university.document(max(100_000, int(megabytes * scale * 1e6))):
                    stream.write(part)
            size = document.stat().st_size / 1e6
            seconds, peak = _measure(place, document)
            rows.append([f"{size:,.0f} MB", peak, seconds, size / seconds])
    remarks = ("Peak of the process of `extract chunk`, interpreter and libraries included.",)
    columns = ("document", "peak MB", "seconds", "MB/s")
    return Table("Memory of CHUNKTOOL, five chunks that are written out", columns, rows, remarks)


def _measure(place: Path, document: Path) -> tuple[float, float]:
    """Seconds and peak memory in MB of cutting a document."""
    arguments = ["--scheme", str(place / "scheme.json"), str(document), "-o", str(place / "chunks")]
    started = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-m", "extract", "chunk", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, child.args)
    unit = 1024 if sys.platform.startswith("linux") else 1024 * 1024
    return time.perf_counter() - started, usage.ru_maxrss / unit
