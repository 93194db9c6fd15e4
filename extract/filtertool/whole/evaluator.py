"""Evaluates queries, as they were written, on whole documents.

This is for documents that break the schema or that no scanner can read, and for queries that may
look anywhere. It is slow, and exact by definition. A tree takes many times the memory of its
document, so there is a limit (TRAPS 19).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from extract.errors import DocumentError
from extract.filtertool.matchers.cost_bound import LIMIT, Bound
from extract.filtertool.matchers.lxml.parsed_unit import compiled
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.processes.memory import is_out_of_memory
from extract.filtertool.processes.sandbox import Before, MemoryLimit, TimeLimit, shared_sandbox
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.node_columns import Described
from extract.filtertool.whole.document import OutputLimit, WholeDocument
from extract.filtertool.whole.elementpath_queries import LaterXPath
from extract.filtertool.whole.queries import WholeQueries, WholeQuery
from extract.limits import Limits
from extract.xpath.later import FIRST


class WholeMatcher:
    """Evaluates queries on whole documents.

    Args:
        namespaces: Prefix to namespace URI, for all queries.
        select: What is asked for.
        limits: How many bytes a document and a value may have, how much time and memory a query
            that may take very long can take, in a process of its own, and how many nodes it may
            select.
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
        self._compiled: dict[str, tuple[Any, Bound]] = {}
        self.figures: Counter[str] = Counter()

    def too_large(self, size: int) -> str:
        """Returns why a document of some size cannot be evaluated whole; empty if it can."""
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

    def find(
        self, document: WholeDocument, queries: WholeQueries
    ) -> tuple[Findings, dict[int, str]]:
        """Evaluates queries.

        Returns:
            The rows; and by the number of a query, why it could not be evaluated.
        """
        failed: dict[int, str] = {}
        found: list[tuple[int, Any]] = []
        later = tuple({query.version for query in queries.queries} - {FIRST})
        child = _Child(document, self._select, self._limits, self._alone, later)
        for number, query in enumerate(queries.queries):
            try:
                found.append((number, self._find(document, query, child)))
            except OutputLimit as error:
                failed[number] = str(error)
            except TimeLimit:
                failed[number] = self._limits.passed("query_seconds")
            except MemoryLimit:
                failed[number] = self._limits.passed("query_memory")
            except Exception as error:  # also what a function such as re:test() raises
                if is_out_of_memory(error):  # which is no fault of the query
                    raise MemoryError from error
                who = "libxml2" if query.version == FIRST else "elementpath"
                failed[number] = f"{who} cannot evaluate it: {error}"
        if self._select == "nodes":
            return self._rows(document.described, found, queries), failed
        counts = [(number, count) for number, count in found if count]
        which = np.array([number for number, _ in counts], np.int32)
        many = np.array([count for _, count in counts], np.int64)
        if self._select == "doc":
            many = np.ones(len(which), np.int64)
        subscriber, index, _ = queries.owners.expand(which)
        order = np.argsort(subscriber, kind="stable")
        none = Findings.none()
        return Findings(
            subscriber[order], many[index][order], none.node, none.ordinal, Described()
        ), failed

    def _rows(
        self, described: Described, found: Iterable[tuple[int, Any]], queries: WholeQueries
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
        subscriber, index, ordinal = queries.owners.expand(np.array(query, np.int32))
        order = np.argsort(subscriber, kind="stable")
        rows = np.array(node, np.int32)[index][order]
        return Findings(subscriber[order], np.empty(0, np.int64), rows, ordinal[order], described)

    def _find(self, document: WholeDocument, query: WholeQuery, child: _Child) -> Any:
        if query.version != FIRST:
            self.figures["elementpath_evaluations"] += 1
            return child.find(query)
        compiled_, bound = self._libxml2(query.xpath)
        if not bound.affords(document.size, document.named):
            self.figures["guarded_evaluations"] += 1
            return child.find(query, self._namespaces)
        return document.find(compiled_) if self._select == "nodes" else document.count(compiled_)

    def _libxml2(self, xpath: str) -> tuple[Any, Bound]:
        """The compiled query, and how long it may take."""
        known = self._compiled.get(xpath)
        if known is None:
            query = compiled(xpath, self._namespaces)
            known = self._compiled[xpath] = (query, Bound(xpath, self._limit))
        return known


class _Child:
    """Evaluates queries on a document in a child process that can be killed.

    The document travels once, and not with every query. Only evaluation counts against the limit.
    """

    def __init__(
        self,
        document: WholeDocument,
        select: Select,
        limits: Limits,
        alone: bool,
        later: tuple[str, ...],
    ) -> None:
        self._document = document
        self._opening = Before(object(), _open_in_child, (document.data, limits, alone, later))
        self._select = select
        self._limits = limits

    def find(self, query: WholeQuery, namespaces: Mapping[str, str] | None = None) -> Any:
        """What a query gives, as `WholeDocument.find` or `WholeDocument.count` say it.

        Args:
            query: The query.
            namespaces: What its prefixes stand for, if it does not bind them itself.

        Raises:
            TimeLimit: It took too long.
            MemoryLimit: It took too much memory.
        """
        args = (query, namespaces, self._select)
        found, described = shared_sandbox().call(
            _find_in_child,
            *args,
            seconds=self._limits.query_seconds,
            memory=self._limits.query_memory,
            before=self._opening,
        )
        if not isinstance(found, list):
            return found
        offset = len(self._document.described)
        self._document.described.extend(described)
        return [offset + node for node in found]


_open: WholeDocument | None = None  # in the child


def _open_in_child(data: bytes, limits: Limits, alone: bool, later: tuple[str, ...]) -> None:
    """Parses the document that the next queries are about, which are in these versions, too."""
    global _open
    _open = None  # its memory is needed
    document = WholeDocument(data, "", limits, alone)
    for version in later:
        LaterXPath("/", version, {})(document.nodes)  # what takes long is made now
    _open = document


def _find_in_child(
    query: WholeQuery, namespaces: Mapping[str, str] | None, select: Select
) -> tuple[Any, Described]:
    """Evaluates one query on the document that is open."""
    assert _open is not None
    compiled_ = compiled(query.xpath, namespaces or {}) if query.version == FIRST else _later(query)
    _open.forget()
    if select == "nodes":
        return _open.find(compiled_), _open.described
    return _open.count(compiled_), Described()


@lru_cache(maxsize=4096)
def _later(query: WholeQuery) -> LaterXPath:
    return LaterXPath(query.xpath, query.version, dict(query.bound))
