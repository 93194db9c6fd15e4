"""The filters of one feed: for nodes, counts, yes or no, and what FLWR queries make.

Queries are called by the numbers of their subscribers. The filters know no schema: answers do not
depend on one, and so a feed may change it while documents come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import pyarrow as pa

from extract.broker.bodies import SubscriptionBody
from extract.broker.store.rows import ArrivedDocument
from extract.filtertool.matchers.protocol import Select
from extract.limits import Limits
from extract.live_filter import Filter
from extract.pipeline import prepare
from extract.subscriptions import Subscription, Subscriptions

_body = msgspec.json.Decoder(SubscriptionBody)
_FIELDS: Final = ("node", "name", "start", "end", "ordinal", "path", "value", "text")

_GROUP_BYTES: Final = 1 << 20  # of documents whose nodes are looked up together
_EXPRESSIONS: Final = frozenset({"boolean", "number", "string"})
_FALSE: Final = frozenset({"false", "0", "-0", "NaN", ""})


def read_body(body: bytes) -> SubscriptionBody:
    """A subscription as the store has it."""
    return _body.decode(body)


def select_of(body: SubscriptionBody) -> Select | None:
    """What the filter of a subscription gives; None for joins."""
    if isinstance(body.xscl, str):
        return None
    return "output" if isinstance(body.flwr, str) else body.select


def as_subscription(key: int, body: SubscriptionBody) -> Subscription:
    """A subscription as the library knows it."""
    text = body.flwr if isinstance(body.flwr, str) else body.xpath
    assert isinstance(text, str)
    namespaces = body.namespaces if isinstance(body.namespaces, dict) else {}
    return Subscription(str(key), text, namespaces)


class FeedFilters:
    """The filters of a feed, by what they give.

    Args:
        limits: For documents and answers.
        most_matches: Nodes in one notification.
        most_bytes: Of their values, beyond the first node.
    """

    def __init__(self, limits: Limits, most_matches: int, most_bytes: int) -> None:
        self._limits = limits
        self._most = most_matches
        self._most_bytes = most_bytes
        self._filters: dict[Select, Filter] = {}
        self._selects: dict[int, Select] = {}
        self._first: Filter  # which documents the filter for nodes has to look at

    def __len__(self) -> int:
        return len(self._selects)

    def load(self, bodies: Mapping[int, SubscriptionBody]) -> None:
        """Compiles many queries at once; the filters must be empty."""
        groups: dict[Select, list[Subscription]] = {}
        for key, body in bodies.items():
            select = select_of(body)
            if select is not None:
                groups.setdefault(select, []).append(as_subscription(key, body))
                self._selects[key] = select
        for select, queries in groups.items():
            self._compile(select, queries)

    def _compile(self, select: Select, queries: Sequence[Subscription]) -> None:
        scheme = prepare(None, Subscriptions.of(queries), limits=self._limits)
        self._filters[select] = Filter(scheme, select, limits=self._limits)
        if select == "nodes":
            self._first = Filter(scheme, "doc", limits=self._limits)

    def change(self, changes: Mapping[int, SubscriptionBody | None]) -> None:
        """Lets queries begin, change or end, from the next batch on."""
        removed: dict[Select, list[str]] = {}
        added: dict[Select, list[Subscription]] = {}
        for key, body in changes.items():
            before = self._selects.pop(key, None)
            if before is not None:
                removed.setdefault(before, []).append(str(key))
            select = None if body is None else select_of(body)
            if body is not None and select is not None:
                added.setdefault(select, []).append(as_subscription(key, body))
                self._selects[key] = select
        for name, identifiers in removed.items():
            for one in self._both(name):
                one.remove(identifiers)
        for name, queries in added.items():
            present = self._filters.get(name)
            if present is None or not len(present):
                self._compile(name, queries)
            else:
                for one in self._both(name):
                    one.add(Subscriptions.of(queries))

    def _both(self, select: Select) -> list[Filter]:
        """The filters that have the queries of a kind."""
        filters = [self._filters[select]]
        return [*filters, self._first] if select == "nodes" else filters

    def states(self) -> int:
        """States of the engine's automata."""
        figures = [one.figures() for one in list(self._filters.values())]
        return int(sum([some.get("push_states", 0) for some in figures]))

    def match(
        self, documents: Sequence[ArrivedDocument]
    ) -> tuple[list[tuple[int, int, dict[str, Any]]], list[dict[str, Any]]]:
        """Filters documents.

        Returns:
            A place in ``documents``, the key of a subscriber and what its notification says, by
            place; and what was rejected, with the place as ``document`` and the key as ``query``.
        """
        batch = [(str(n), one.content) for n, one in enumerate(documents)]
        found: list[tuple[int, int, dict[str, Any]]] = []
        rejected: list[dict[str, Any]] = []
        for select, compiled in self._filters.items():
            if not len(compiled):
                continue
            if select == "nodes":
                first = self._first.table(batch)
                rejected += self._rejections(self._first)
                if not first.num_rows:
                    continue
                found += self._told_nodes(compiled, batch, first, rejected)
                continue
            table = compiled.table(batch)
            rejected += self._rejections(compiled)
            found += self._told(select, table)
        if len(self._filters) > 1:
            found.sort(key=lambda one: one[0])
        return found, rejected

    def _told_nodes(
        self,
        compiled: Filter,
        batch: list[tuple[str, bytes]],
        first: Any,
        rejected: list[dict[str, Any]],
    ) -> list[tuple[int, int, dict[str, Any]]]:
        """What is told of nodes, with large documents a few at a time.

        A query that matches, but whose nodes are too much, is told without them.

        Args:
            compiled: The filter for nodes.
            batch: The documents by place.
            first: Which queries match which of them.
            rejected: Gets what cannot be answered.
        """
        names = _plain(first, "document")
        found = []
        failed = []
        for some in _in_groups([batch[place] for place in sorted({int(name) for name in names})]):
            found += self._told("nodes", compiled.table(some))
            failed += self._rejections(compiled)
        rejected += failed
        if failed:
            pairs = set(zip(names, _plain(first, "query"), strict=True))
            chosen = [(row["document"], row["query"]) for row in failed]
            without: dict[str, Any] = {"matches": [], "truncated": True}
            found += [
                (int(name), int(key), without) for name, key in chosen if (name, key) in pairs
            ]
            found.sort(key=lambda one: one[0])
        return found

    def _rejections(self, used: Filter) -> list[dict[str, Any]]:
        table = used.rejected
        return table.to_pylist() if table.num_rows else []

    def _told(self, select: Select, table: Any) -> list[tuple[int, int, dict[str, Any]]]:
        if not table.num_rows:
            return []
        places = [int(name) for name in _plain(table, "document")]
        keys = [int(name) for name in _plain(table, "query")]
        if select == "doc":
            return [(place, key, {}) for place, key in zip(places, keys, strict=True)]
        if select in ("count", "output"):
            values = table.column(select).to_pylist()
            triples = zip(places, keys, values, strict=True)
            return [(place, key, {select: value}) for place, key, value in triples]
        return self._nodes(places, keys, table)

    def _nodes(
        self, places: list[int], keys: list[int], table: Any
    ) -> list[tuple[int, int, dict[str, Any]]]:
        columns = [_plain(table, name) for name in _FIELDS]
        groups: dict[tuple[int, int], list[int]] = {}
        for row, pair in enumerate(zip(places, keys, strict=True)):
            groups.setdefault(pair, []).append(row)
        told = []
        for (place, key), rows in groups.items():
            if columns[0][rows[0]] in _EXPRESSIONS and columns[6][rows[0]] in _FALSE:
                continue  # a value that is there for every document, and says no
            shown = rows if len(rows) == 1 else self._fitting(rows, columns[6], columns[7])
            nodes = [
                {name: column[row] for name, column in zip(_FIELDS, columns, strict=True)}
                for row in shown
            ]
            more = {"truncated": True} if len(rows) > len(shown) else {}
            told.append((place, key, {"matches": nodes, "count": len(rows), **more}))
        return told

    def _fitting(self, rows: list[int], values: list[Any], texts: list[Any]) -> list[int]:
        """The first of some rows, as many as a notification may have."""
        room = self._most_bytes
        for count, row in enumerate(rows[: self._most]):
            room -= len(values[row] or "") + len(texts[row] or "")
            if room < 0 and count:
                return rows[:count]
        return rows[: self._most]


def _in_groups(batch: list[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    """Documents, so many at a time that what queries select in them is not too much."""
    some: list[tuple[str, bytes]] = []
    size = 0
    for one in batch:
        if some and size + len(one[1]) > _GROUP_BYTES:
            yield some
            some, size = [], 0
        some.append(one)
        size += len(one[1])
    if some:
        yield some


def _plain(table: Any, name: str) -> list[Any]:
    """A column as Python values."""
    column = table.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.to_pylist()  # type: ignore[no-any-return]
