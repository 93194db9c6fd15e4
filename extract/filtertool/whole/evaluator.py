"""Evaluates queries, as written, on whole documents.

This is for documents that break the schema or that no scanner supports, and for queries that may
look anywhere. It is slow, and exact by definition. A tree takes many times the memory of its
document, so the size is limited (TRAPS 19).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from extract.errors import DocumentError
from extract.filtertool.matchers.cost_bound import LIMIT, Bound
from extract.filtertool.matchers.lxml.parsed_unit import NO_VARIABLES, Variables, compiled
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.processes.memory import is_out_of_memory
from extract.filtertool.processes.sandbox import Before, NoAnswer, shared_sandbox
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.node_columns import Described
from extract.filtertool.whole.document import OutputLimit, WholeDocument
from extract.filtertool.whole.elementpath_queries import LaterXPath
from extract.filtertool.whole.flwr_bindings import FlwrBindings
from extract.filtertool.whole.queries import WholeQueries, WholeQuery
from extract.limits import Limits
from extract.subscriptions.flwr_queries import FLWR
from extract.xpath.later import FIRST


class WholeMatcher:
    """Evaluates queries on whole documents.

    Args:
        namespaces: Prefix to namespace URI, for all queries.
        select: Whether nodes, counts, or only matching queries are requested.
        limits: The largest document and value, the time and memory of a query that may take very
            long and so runs in a process of its own, and the most nodes that a query may select.
        alone: Make the XML of elements well-formed on its own.
        limit: The estimated cost from which a query may take very long.
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
        """Returns why a document of a size cannot be evaluated whole; empty if it can."""
        if size <= self._limits.whole_bytes:
            return ""
        return f"it has {size:,} bytes, and {self._limits.passed('whole_bytes')}"

    def check_size(self, size: int, name: str) -> None:
        """Checks that a document is not too large, before it is read.

        Raises:
            DocumentError: It is too large.
        """
        reason = self.too_large(size)
        if reason:
            raise DocumentError(reason, "raise the limit if there is memory for it", name)

    def open(self, data: bytes, name: str) -> WholeDocument:
        """Parses a document.

        Raises:
            DocumentError: The document is not well-formed, or too large.
        """
        self.check_size(len(data), name)
        return WholeDocument(data, name, self._limits, self._alone)

    def find(
        self, document: WholeDocument, queries: WholeQueries
    ) -> tuple[Findings, dict[int, str]]:
        """Evaluates queries.

        Returns:
            The rows, and the reasons of failed queries by their numbers.
        """
        failed: dict[int, str] = {}
        results: list[tuple[int, Any]] = []
        later = tuple({query.version for query in queries.queries} - {FIRST, FLWR})
        child = _Child(document, self._select, self._limits, self._alone, later)
        every = ((query, values) for query in queries.queries for values in query.variables())
        for number, (query, values) in enumerate(every):
            try:
                results.append((number, self._find(document, query, values, child)))
            except OutputLimit as error:
                failed[number] = str(error)
            except NoAnswer as error:
                failed[number] = error.reason(self._limits)
            except Exception as error:  # includes errors of functions such as re:test()
                if is_out_of_memory(error):  # not the query's fault
                    raise MemoryError from error
                who = "libxml2" if query.version in (FIRST, FLWR) else "elementpath"
                failed[number] = f"{who} cannot evaluate it: {error}"
        if self._select == "nodes":
            return self._rows(document.described, results, queries), failed
        counts = [(number, count) for number, count in results if count]
        which = np.array([number for number, _ in counts], np.int32)
        numbers = np.array([count for _, count in counts], np.int64)
        if self._select == "doc":
            numbers = np.ones(len(which), np.int64)
        subscriber, index, _ = queries.owners.expand(which)
        none = Findings.none()
        findings = Findings(subscriber, numbers[index], none.node, none.ordinal, Described())
        return findings, failed

    def _rows(
        self, described: Described, results: Iterable[tuple[int, Any]], queries: WholeQueries
    ) -> Findings:
        query: list[int] = []
        node: list[int] = []
        for number, nodes in results:
            if isinstance(nodes, list):
                query += [number] * len(nodes)
                node += nodes
            else:
                query.append(number)
                node.append(len(described))
                described.add_value(nodes, self._limits.value_bytes)
        subscriber, index, ordinal = queries.owners.expand(np.array(query, np.int32))
        rows = np.array(node, np.int32)[index]
        return Findings(subscriber, np.empty(0, np.int64), rows, ordinal, described)

    def _find(
        self, document: WholeDocument, query: WholeQuery, values: Variables, child: _Child
    ) -> Any:
        if query.version != FIRST:
            self.figures["elementpath_evaluations"] += 1
            return child.find(query)
        compiled_, bound = self._libxml2(query.xpath)
        if not bound.affords(document.size, document.named):
            self.figures["guarded_evaluations"] += 1
            return child.find(query, values, self._namespaces)
        if self._select == "nodes":
            return document.find(compiled_, values)
        return document.count(compiled_, values)

    def _libxml2(self, xpath: str) -> tuple[Any, Bound]:
        """Returns the compiled query, and the bound of its cost."""
        entry = self._compiled.get(xpath)
        if entry is None:
            query = compiled(xpath, self._namespaces)
            entry = self._compiled[xpath] = (query, Bound(xpath, self._limit))
        return entry


class _Child:
    """Evaluates queries on a document in a child process that can be killed.

    The document is sent once, and not with every query. Only evaluation counts against the limit.
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

    def find(
        self,
        query: WholeQuery,
        values: Variables = NO_VARIABLES,
        namespaces: Mapping[str, str] | None = None,
    ) -> Any:
        """Returns the result of a query, as `WholeDocument.find` or `WholeDocument.count` do.

        Args:
            query: The query.
            values: Its constants, as variables.
            namespaces: Its prefixes, if it does not bind them itself.

        Raises:
            TimeLimit: The query took too long.
            MemoryLimit: The query took too much memory.
        """
        args = (query._replace(constants=None), values, namespaces, self._select)
        result, described = shared_sandbox().call(
            _find_in_child,
            *args,
            seconds=self._limits.query_seconds,
            memory=self._limits.query_memory,
            before=self._opening,
        )
        if not isinstance(result, list):
            return result
        offset = len(self._document.described)
        self._document.described.extend(described)
        return [offset + node for node in result]


_open: WholeDocument | None = None  # the document in this child process


def _open_in_child(data: bytes, limits: Limits, alone: bool, later: tuple[str, ...]) -> None:
    """Parses the document for the next queries; ``later`` are their versions of XPath."""
    global _open
    _open = None  # frees its memory first
    document = WholeDocument(data, "", limits, alone)
    for version in later:
        LaterXPath("/", version, {})(document.nodes)  # builds the elementpath tree now
    _open = document


def _find_in_child(
    query: WholeQuery, values: Variables, namespaces: Mapping[str, str] | None, select: Select
) -> tuple[Any, Described]:
    """Evaluates one query on the child's document."""
    assert _open is not None
    compiled_ = compiled(query.xpath, namespaces or {}) if query.version == FIRST else _later(query)
    _open.forget()
    if select == "nodes":
        return _open.find(compiled_, values), _open.described
    return _open.count(compiled_, values), Described()


@lru_cache(maxsize=4096)
def _later(query: WholeQuery) -> LaterXPath | FlwrBindings:
    if query.version == FLWR:
        return FlwrBindings(query.xpath, dict(query.bound))
    return LaterXPath(query.xpath, query.version, dict(query.bound))
