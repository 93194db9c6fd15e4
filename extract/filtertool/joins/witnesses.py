"""Witnesses: the nodes of a document that patterns bind, and how they hang together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from lxml import etree

from extract.filtertool.flwr.tree_outputs import string_value
from extract.filtertool.joins.documents import DocumentTree, JoinDocument, Locator, key_of
from extract.filtertool.joins.edges import ROOT, PatternEdge


class WitnessFinder:
    """Walks along edges from the root of a document, and fills in its witnesses.

    Args:
        document: The document.
        tree: Its tree.
    """

    def __init__(self, document: JoinDocument, tree: DocumentTree) -> None:
        self._document = document
        self._tree = tree
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
        keys = self._document.keys
        waiting: list[tuple[PatternEdge, int, Any]] = [
            (one, ROOT, self._tree.tree) for one in roots
        ]
        while waiting:
            edge, above, start = waiting.pop()
            try:
                nodes = edge.nodes(start)
                numbers = tuple([self._number(node) for node in nodes])
            except etree.XPathError as error:
                failures.append((edge, str(error)))
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

    def _number(self, node: Any) -> int:
        locator = self._tree.locator(node)
        number = self._numbers.get(locator)
        if number is None:
            number = self._numbers[locator] = len(self._numbers)
            self._document.locators.append(locator)
            self._document.keys.append(b"")
        return number
