"""`extract.Filter` with the push engine in front, compared with libxml2 on whole documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import extract
from extract.filtertool.matchers.protocol import Select
from extract.live_filter import Filter
from extract.schema.model import Schema
from extract.scheme.model import Scheme
from tests.support.expected_rows import ExpectedRows, Row, agree
from tests.support.filter_rounds import expected_count

_COLUMNS = ("node", "name", "start", "end", "path", "value", "text")


def scheme_of(
    queries: Mapping[str, str] | Sequence[str],
    namespaces: Mapping[str, str] | None = None,
    schema: Schema | None = None,
) -> Scheme:
    """The scheme of some queries, without a schema unless there is one."""
    if not isinstance(queries, Mapping):
        queries = {str(number): query for number, query in enumerate(queries)}
    subscriptions = extract.Subscriptions.of(queries, dict(namespaces or {}))
    return extract.prepare(schema or Schema.none(), subscriptions)


def taken(filter_: Filter) -> int:
    """How many queries the engine of a filter answers."""
    return int(filter_.figures()["push_questions"])


class FilterAnswers:
    """What a filter gives on documents, which are named by their numbers."""

    def __init__(
        self, scheme: Scheme, select: Select, matcher: str, documents: Sequence[bytes], **how: Any
    ) -> None:
        filter_ = Filter(scheme, select, matcher, **how)
        named = [(str(number), data) for number, data in enumerate(documents)]
        self.rows = filter_.table(named).to_pylist()
        self.rejected = filter_.rejected.to_pylist()
        self.engine = taken(filter_)
        self.figures = filter_.figures()
        self._by_pair: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for row in self.rows:
            self._by_pair.setdefault((row["document"], row["query"]), []).append(row)

    def of(self, document: int, query: str) -> list[dict[str, Any]]:
        """The rows of a query on a document."""
        return self._by_pair.get((str(document), query), [])

    def has_rejected(self, document: int, query: str) -> bool:
        """Whether a query was rejected on a document."""
        return any(
            one["document"] == str(document) and one["query"] == query for one in self.rejected
        )


def compare_filter(
    queries: Mapping[str, str] | Sequence[str],
    documents: Sequence[bytes],
    namespaces: Mapping[str, str] | None = None,
    schema: Schema | None = None,
    matcher: str = "push",
) -> Counter[str]:
    """Asserts that a filter gives libxml2's rows, of all kinds; says how much was compared."""
    if not isinstance(queries, Mapping):
        queries = {str(number): query for number, query in enumerate(queries)}
    scheme = scheme_of(queries, namespaces, schema)
    return compare_scheme(scheme, queries, documents, namespaces or {}, matcher)


def compare_scheme(
    scheme: Scheme,
    queries: Mapping[str, str],
    documents: Sequence[bytes],
    namespaces: Mapping[str, str],
    matcher: str = "push",
) -> Counter[str]:
    """The same for the queries of a scheme."""
    found = {
        select: FilterAnswers(scheme, select, matcher, documents)
        for select in ("doc", "count", "nodes")
    }
    counts = Counter({f"taken for {select}": one.engine for select, one in found.items()})
    for number, document in enumerate(documents):
        expected = ExpectedRows(document)
        for name, xpath in queries.items():
            wanted = expected.rows(xpath, namespaces)
            where = f"{xpath} on {document!r}"
            if isinstance(wanted, str):
                counts["errors"] += 1
                for select, one in found.items():
                    assert not one.of(number, name), where
                    assert one.has_rejected(number, name), f"{select} of {where}: no {wanted}"
                continue
            rows = [_row(row) for row in found["nodes"].of(number, name)]
            assert agree(rows, wanted), f"{where}: {rows}, and not {wanted}"
            right = expected_count(wanted)
            given = [row["count"] for row in found["count"].of(number, name)]
            assert given == ([right] if right else []), f"{where}: {given}, and not {right}"
            assert len(found["doc"].of(number, name)) == (right > 0), where
            assert not any(one.has_rejected(number, name) for one in found.values()), where
            counts["answers"] += 1
            counts["matches"] += right > 0
    return counts


def _row(row: Mapping[str, Any]) -> Row:
    return tuple([row[name] for name in _COLUMNS])
