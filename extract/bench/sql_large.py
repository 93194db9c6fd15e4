"""``extract bench sql_large``: as ``sql``, with the 2,700,000 subscriptions of the paper."""

from __future__ import annotations

from pathlib import Path

from extract.bench.sql import measured
from extract.bench.table import ResultTable


def run(data: Path | None, scale: float = 1.0) -> ResultTable:
    """Measures each engine, and DuckDB with 512 MB of memory."""
    del data
    return measured((2_700_000,), scale)
