"""Witnesses: the nodes of a document that patterns bind, and how they hang together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lxml import etree

from extract.filtertool.flwr.tree_outputs import string_value
from extract.filtertool.joins.documents import DocumentTree, JoinDocument, Locator
from extract.filtertool.joins.edges import ROOT, PatternEdge


def find_witnesses(
    document: JoinDocument, tree: DocumentTree, roots: Iterable[PatternEdge]
) -> list[tuple[PatternEdge, str]]:
    """Fills in the witnesses of a document.

    Args:
        document: The document.
        tree: Its tree.
        roots: The edges at which patterns begin that may match.

    Returns:
        Edges that could not be evaluated, and why.
    """
    finder = _Finder(document, tree)
    finder.find(roots)
    return finder.failures


class _Finder:
    """Walks along edges from the root of a document."""

    def __init__(self, document: JoinDocument, tree: DocumentTree) -> None:
        self._document = document
        self._tree = tree
        self._numbers: dict[Locator, int] = {}
        self._nodes: list[Any] = []
        self._links: dict[int, dict[int, tuple[int, ...]]] = {}
        self.failures: list[tuple[PatternEdge, str]] = []

    def find(self, roots: Iterable[PatternEdge]) -> None:
        for edge in roots:
            self._follow(edge, ROOT, self._tree.tree)
        self._document.links = self._links

    def _follow(self, edge: PatternEdge, above: int, start: Any) -> None:
        try:
            nodes = edge.nodes(start)
        except etree.XPathError as error:
            self.failures.append((edge, str(error)))
            return
        if nodes:
            self._link(edge, above, nodes)

    def _link(self, edge: PatternEdge, above: int, nodes: list[Any]) -> None:
        numbers = tuple([self._number(node) for node in nodes])
        self._links.setdefault(edge.number, {})[above] = numbers
        for below in edge.below:
            for number, node in zip(numbers, nodes, strict=True):
                self._follow(below, number, node)

    def _number(self, node: Any) -> int:
        locator = self._tree.locator(node)
        number = self._numbers.get(locator)
        if number is None:
            number = self._numbers[locator] = len(self._nodes)
            self._nodes.append(node)
            self._document.locators.append(locator)
            self._document.values.append(string_value(node))
        return number
