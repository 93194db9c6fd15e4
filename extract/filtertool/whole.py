"""Whole documents: the queries as they were written, evaluated by libxml2 on everything.

For documents that break the schema, for those that no scanner can do, and for queries that may look
anywhere. Slow, and exact by definition. A tree takes many times the memory of its document, so
there is a limit (TRAPS 19).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from extract.errors import DocumentError
from extract.filtertool.cost import LIMIT, nodes_allowed
from extract.filtertool.describe import Described
from extract.filtertool.matcher import Select
from extract.filtertool.parsed import compiled
from extract.filtertool.plan import Originals
from extract.filtertool.results import Findings, expanded
from extract.filtertool.sandbox import TimeLimit, shared_sandbox
from extract.filtertool.whole_document import TooMuch, WholeDocument
from extract.limits import Limits


class WholeMatcher:
    """Evaluates queries on whole documents.

    Args:
        namespaces: Prefix to namespace URI, for all queries.
        select: What is asked for.
        limits: How many bytes a document and a value may have, how long a query that may take very
            long can take, in a process of its own, and how many nodes it may select.
        alone: Give elements as XML that stands alone.
        limit: From which cost on a query counts as such.
    """

    def __init__(
        self,
        namespaces: Mapping[str, str],
        select: Select,
        limits: Limits,
        alone: bool,
        limit: float = LIMIT,
    ) -> None:
        self._namespaces = dict(namespaces)
        self._select = select
        self._limits = limits
        self._alone = alone
        self._limit = limit
        self._compiled: dict[str, tuple[Any, float]] = {}

    def too_large(self, size: int) -> str:
        """Why a document of some size cannot be evaluated whole; empty if it can."""
        if size <= self._limits.whole_bytes:
            return ""
        return f"it has {size:,} bytes, and {self._limits.passed('whole_bytes')}"

    def check_size(self, size: int, name: str) -> None:
        """Makes sure that a document is not too large, before it is read.

        Raises:
            DocumentError: It is.
        """
        reason = self.too_large(size)
        if reason:
            raise DocumentError(reason, "raise the limit if there is memory for it", name)

    def open(self, data: bytes, name: str) -> WholeDocument:
        """Parses a document.

        Raises:
            DocumentError: It is not well-formed, or too large.
        """
        self.check_size(len(data), name)
        return WholeDocument(data, name, self._limits, self._alone)

    def find(self, document: WholeDocument, queries: Originals) -> tuple[Findings, dict[int, str]]:
        """Evaluates queries.

        Returns:
            The rows; and by its number why a query could not be evaluated.
        """
        failed: dict[int, str] = {}
        found: list[tuple[int, Any]] = []
        for number, xpath in enumerate(queries.xpaths):
            try:
                found.append((number, self._find(document, xpath)))
            except TooMuch as error:
                failed[number] = str(error)
            except TimeLimit:
                failed[number] = self._limits.passed("query_seconds")
            except Exception as error:  # also what a function such as re:test() raises
                failed[number] = f"libxml2 cannot evaluate it: {error}"
        if self._select == "nodes":
            return self._rows(document.described, found, queries), failed
        counts = [(number, count) for number, count in found if count]
        query = np.array([number for number, _ in counts], np.int32)
        many = np.array([count for _, count in counts], np.int64)
        if self._select == "doc":
            many = np.ones(len(query), np.int64)
        subscriber, index, _ = expanded(query, queries.owners)
        order = np.argsort(subscriber, kind="stable")
        none = Findings.none()
        return Findings(
            subscriber[order], many[index][order], none.node, none.ordinal, Described()
        ), failed

    def _rows(
        self, described: Described, found: Iterable[tuple[int, Any]], queries: Originals
    ) -> Findings:
        query: list[int] = []
        node: list[int] = []
        for number, nodes in found:
            if isinstance(nodes, list):
                query += [number] * len(nodes)
                node += nodes
            else:
                query.append(number)
                node.append(len(described))
                described.add_value(nodes, self._limits.value_bytes)
        subscriber, index, ordinal = expanded(np.array(query, np.int32), queries.owners)
        order = np.argsort(subscriber, kind="stable")
        rows = np.array(node, np.int32)[index][order]
        return Findings(subscriber[order], np.empty(0, np.int64), rows, ordinal[order], described)

    def _find(self, document: WholeDocument, xpath: str) -> Any:
        known = self._compiled.get(xpath)
        if known is None:
            query = compiled(xpath, self._namespaces)
            known = self._compiled[xpath] = (query, nodes_allowed(xpath, self._limit))
        query, allowed = known
        if document.size <= allowed:
            return document.find(query) if self._select == "nodes" else document.count(query)
        args = (document.data, xpath, self._namespaces, self._select, self._limits, self._alone)
        found, described = shared_sandbox().call(
            _in_child, *args, seconds=self._limits.query_seconds
        )
        if not isinstance(found, list):
            return found
        offset = len(document.described)
        document.described.extend(described)
        return [offset + node for node in found]


_last: tuple[Any, WholeDocument] | None = None


def _in_child(
    data: bytes,
    xpath: str,
    namespaces: Mapping[str, str],
    select: Select,
    limits: Limits,
    alone: bool,
) -> tuple[Any, Described]:
    """Evaluates one query, in a child process; the document may be that of the last call."""
    global _last
    key = (data, limits, alone)
    if _last is None or _last[0] != key:
        _last = (key, WholeDocument(data, "", limits, alone))
    document, query = _last[1], compiled(xpath, namespaces)
    document.forget()
    if select == "nodes":
        return document.find(query), document.described
    return document.count(query), Described()
