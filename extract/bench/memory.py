"""``extract bench memory``: does memory stay flat while documents grow?

Each document is cut by ``extract chunk`` in a process of its own, whose peak the system counts.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from extract.bench.process import measured
from extract.bench.table import ResultTable
from extract.preptool.prepare import prepare
from extract.scenarios import scenario

_MEGABYTES = (20, 200, 2_000)


def run(data: Path | None, scale: float = 1.0) -> ResultTable:
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
            files = ["--scheme", str(place / "scheme.json"), str(document)]
            used = measured("chunk", *files, "-o", str(place / "chunks"))
            rows.append([f"{size:,.0f} MB", used.peak_mb, used.seconds, size / used.seconds])
    remarks = ("Peak of the process of `extract chunk`, interpreter and libraries included.",)
    columns = ("document", "peak MB", "processor s", "MB/s")
    return ResultTable(
        "Memory of CHUNKTOOL, five chunks that are written out", columns, rows, remarks
    )
