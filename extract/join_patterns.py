"""Which patterns of joins may match a document: one call of a compiled filter for all of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from extract.errors import ExtractError
from extract.filtertool.joins.edges import EdgeTable
from extract.filtertool.joins.engine import Candidates
from extract.limits import Limits
from extract.live_filter import Filter
from extract.pipeline import prepare
from extract.schema.model import Schema
from extract.subscriptions.model import Subscription, Subscriptions
from extract.xscl.ast import EVERY_STREAM

FEW: Final = 32  # edges that are evaluated one by one in less time than a filter takes


class _Compiled(NamedTuple):
    """A filter, and the state of the edges that it was made for."""

    changes: int
    numbers: frozenset[int]
    ready: Filter | None


class PatternFilter:
    """The edges of patterns as subscriptions: so a document is scanned once for all of them.

    Args:
        edges: The edges; those of a stream may change at any time.
        schemas: The schemas of streams that have one; that of `EVERY_STREAM` is for all others.
        limits: How large documents may be.
    """

    def __init__(self, edges: EdgeTable, schemas: Mapping[str, Schema], limits: Limits) -> None:
        self._edges = edges
        self._schemas = schemas
        self._limits = limits
        self._filters: dict[str, _Compiled] = {}

    def candidates(self, stream: str, document: bytes) -> Collection[int] | None:
        """Returns the numbers of edges that may lead to nodes of a document; None for all."""
        if len(self._edges.of_stream(stream)) <= FEW:
            return None
        ready = self._filter(stream)
        if ready is None:
            return None
        table = ready.table([("document", document)])
        if ready.rejected.num_rows:
            return None  # whoever reads the document in another way then says why
        return [int(name) for name in table.column("query").to_pylist()]

    def _filter(self, stream: str) -> Filter | None:
        """The filter for a stream, with the present edges; None if there can be none."""
        changes, edges = self._edges.changes(stream), self._edges.of_stream(stream)
        known = self._filters.get(stream)
        if known is not None and known.changes == changes:
            return known.ready
        if known is None or known.ready is None:
            ready = self._made([self._subscription(one) for one in edges], stream)
        else:
            ready = known.ready
            try:
                ready.remove([str(one) for one in known.numbers - edges.keys()])
                new = [self._subscription(one) for one in edges.keys() - known.numbers]
                ready.add(Subscriptions.of(new))
            except ExtractError:  # a path that passes a limit when it starts at the document
                ready = None
        self._filters[stream] = _Compiled(changes, frozenset(edges), ready)
        return ready

    def _made(self, paths: Sequence[Subscription], stream: str) -> Filter | None:
        schema = self._schemas.get(stream) or self._schemas.get(EVERY_STREAM) or Schema.none()
        scheme = prepare(schema, Subscriptions.of(paths), 1, limits=self._limits)
        return None if scheme.rejected else Filter(scheme, limits=self._limits)

    def _subscription(self, number: int) -> Subscription:
        path, namespaces = self._edges.absolute(number)
        return Subscription(str(number), str(path), namespaces)


def pattern_candidates(
    schemas: Mapping[str, Schema], limits: Limits, edges: EdgeTable
) -> Candidates:
    """Returns what says which of some edges may match; for engines in other processes."""
    return PatternFilter(edges, schemas, limits).candidates
