"""``extract bench proteins``: records and predicates as in XPush's paper, next to a parse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from extract.bench.message_rows import COLUMNS, REMARKS, Measured, Row, filter_of
from extract.bench.protein_data import protein_queries, protein_records, protein_schema
from extract.bench.table import ResultTable

_PREDICATES: Final = 200_000
_GOALS: Final = {1.15: 1.0, 10.45: 2.0}  # times lxml's parse, by predicates a query


def run(data: Path | None, scale: float = 1.0) -> ResultTable:
    """200,000 predicates; then fewer, with more of them in a query, and with larger messages."""
    rows = [*_proteins(scale), *_growth(scale)]
    remarks = (
        *REMARKS,
        "XPush's paper (2003), 200,000 predicates on protein data: 1.2 times its own parse once",
        "all states are there, 2.1 times on the way; ours has no states that depend on values.",
    )
    return ResultTable("Proteins, one core", COLUMNS, rows, remarks)


def _proteins(scale: float) -> Iterator[Row]:
    records = list(protein_records(max(50, int(2_000 * scale))))
    for each, goal in _GOALS.items():
        queries = dict(protein_queries(max(100, int(_PREDICATES * scale)), each))
        ready = filter_of(protein_schema(), queries)
        yield from Measured.of(f"{each} predicates", ready, records).next_to_parsers(goal)


def _growth(scale: float) -> Iterator[Row]:
    """How the speed changes with one figure at a time, next to lxml's parse."""
    schema, some = protein_schema(), max(100, int(20_000 * scale))
    records = list(protein_records(max(64, int(1_000 * scale))))
    for each in (1.15, 2.0, 5.0, 10.45):
        ready = filter_of(schema, dict(protein_queries(some, each)))
        yield next(Measured.of(f"fewer: {each}", ready, records).next_to_parsers())
    for entries in (1, 4, 16, 64):
        parts = [
            b"".join(
                record[len("<database>") : -len("</database>")]
                for record in records[n : n + entries]
            )
            for n in range(0, len(records) - entries + 1, entries)
        ]
        large = [b"<database>" + part + b"</database>" for part in parts]
        yield next(Measured.of(f"size: {entries} entries", ready, large).next_to_parsers())
