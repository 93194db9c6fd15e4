"""Witnesses: the nodes of a document that patterns bind, and how they hang together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from lxml import etree

from extract.filtertool.flwr.tree_outputs import string_value
from extract.filtertool.joins.documents import DocumentTree, JoinDocument, Locator, key_of
from extract.filtertool.joins.edges import ROOT, PatternEdge
from extract.filtertool.processes.memory import is_out_of_memory
from extract.filtertool.processes.sandbox import Before, NoAnswer, shared_sandbox
from extract.limits import Limits


class WitnessFinder:
    """Walks along edges from the root of a document, and fills in its witnesses.

    Args:
        document: The document.
        tree: Its tree.
        limits: The time and memory of an edge that may take very long, and so is followed in a
            process of its own.
    """

    def __init__(self, document: JoinDocument, tree: DocumentTree, limits: Limits) -> None:
        self._document = document
        self._tree = tree
        self._limits = limits
        self._opening = Before(object(), _open_in_child, (document.data, limits))
        self._seconds: dict[int, float] = {}  # that edges have left in processes of their own
        self._numbers: dict[Locator, int] = {}
        self._links: dict[int, dict[int, tuple[int, ...]]] = {}
        document.links = self._links

    def find(
        self,
        roots: Iterable[PatternEdge],
        below: Callable[[PatternEdge], Iterable[PatternEdge]],
    ) -> list[tuple[PatternEdge, str]]:
        """Follows edges.

        Args:
            roots: The edges at which patterns begin.
            below: Returns the edges that go on from one.

        Returns:
            Edges that could not be evaluated, and why.
        """
        failures: list[tuple[PatternEdge, str]] = []
        failed: set[int] = set()
        keys = self._document.keys
        waiting: list[tuple[PatternEdge, int, Any]] = [
            (one, ROOT, self._tree.tree) for one in roots
        ]
        while waiting:
            edge, above, start = waiting.pop()
            if failed and edge.number in failed:
                continue
            reason: str | None = None
            try:
                if edge.is_quick or self._tree.affords(edge.bound):
                    nodes = edge.nodes(start)
                else:
                    nodes = self._nodes_by_child(edge, start)
                numbers = tuple([self._number(node) for node in nodes])
            except NoAnswer as error:
                reason = error.reason(self._limits)
            except etree.XPathError as error:
                reason = str(error)
            if reason is not None:
                failures.append((edge, reason))
                failed.add(edge.number)
                self._links.pop(edge.number, None)  # so it leads to no rows at all
                continue
            if not nodes:
                continue
            if edge.compared:
                for number, node in zip(numbers, nodes, strict=True):
                    keys[number] = keys[number] or key_of(string_value(node))
            self._links.setdefault(edge.number, {})[above] = numbers
            for further in below(edge):
                waiting += [(further, n, node) for n, node in zip(numbers, nodes, strict=True)]
        return failures

    def _nodes_by_child(self, edge: PatternEdge, start: Any) -> list[Any]:
        """The nodes that an edge leads to, found in a process that can be killed."""
        left = self._seconds.get(edge.number, self._limits.query_seconds)
        begun = time.monotonic()
        locators: list[Locator] | str = shared_sandbox().call(
            _nodes_in_child,
            edge.bare(),
            None if edge.above == ROOT else self._tree.locator(start),
            seconds=left,
            memory=self._limits.query_memory,
            before=self._opening,
        )
        self._seconds[edge.number] = left - (time.monotonic() - begun)
        if isinstance(locators, str):
            raise etree.XPathError(locators)
        return [self._tree.node(one) for one in locators]

    def _number(self, node: Any) -> int:
        locator = self._tree.locator(node)
        number = self._numbers.get(locator)
        if number is None:
            number = self._numbers[locator] = len(self._numbers)
            self._document.locators.append(locator)
            self._document.keys.append(b"")
        return number


_open: DocumentTree | None = None  # the document in this child process


def _open_in_child(data: bytes, limits: Limits) -> None:
    global _open
    _open = None
    _open = DocumentTree(data, "", limits)


def _nodes_in_child(edge: PatternEdge, start: Locator | None) -> list[Locator] | str:
    """The places of the nodes that an edge leads to, or why they cannot be found."""
    assert _open is not None
    try:
        nodes = edge.nodes(_open.tree if start is None else _open.node(start))
    except Exception as error:  # includes errors of functions such as re:test()
        if is_out_of_memory(error):
            raise
        return str(error)
    return [_open.locator(node) for node in nodes]
