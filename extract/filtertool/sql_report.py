"""Says of a query whether a database decides it, and by what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from extract.filtertool.matchers.push.automaton import EngineNames
from extract.filtertool.matchers.sql.formulas import tables_in
from extract.filtertool.matchers.sql.frames import frames_of
from extract.filtertool.matchers.sql.nested import Undecided
from extract.scheme.model import Scheme


@dataclass(frozen=True, slots=True)
class SqlQueryReport:
    """What the matcher ``sql`` does with one query.

    Attributes:
        decided: Whether the database decides it.
        indexed: Whether subscriptions of its template are found by an equality.
        tables: The tables of its owner that it joins, with their columns.
    """

    decided: bool
    indexed: bool = False
    tables: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Returns the report as plain values."""
        return {"decided": self.decided, "indexed": self.indexed, "tables": list(self.tables)}

    def lines(self) -> Iterator[str]:
        """Yields the report in words."""
        if not self.decided:
            yield "matcher sql: values do not decide the query; other matchers answer it"
            return
        how = "an equality" if self.indexed else "a comparison with each subscription"
        yield f"matcher sql: the database decides the query, by {how}"
        for table in self.tables:
            yield f"  joins {table}; only --matcher sql can"


def explain_sql(scheme: Scheme, identifier: str) -> SqlQueryReport | None:
    """Reports on one subscription; None for one that is evaluated on no document.

    Args:
        scheme: The scheme.
        identifier: The id of the subscription.
    """
    row = scheme.directory.find(identifier)
    if row < 0:
        return None
    xpath = scheme.templates.xpaths[int(scheme.directory.templates[row])]
    try:
        frames = frames_of(xpath, EngineNames(scheme.schema, dict(scheme.namespaces)))
    except Undecided:
        return SqlQueryReport(False)
    found = {one for frame in frames for one in tables_in(frame.shape.formula)}
    tables = sorted({f"the table {one.table} by its column {one.column}" for one in found})
    indexed = all(frame.shape.key is not None for frame in frames)
    return SqlQueryReport(True, indexed, tuple(tables))
