"""Outputs of joins: the element that a query makes of two documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from extract.filtertool.flwr.tree_outputs import string_value
from extract.filtertool.flwr.writer import OutputWriter
from extract.filtertool.joins.documents import DocumentTree, JoinDocument
from extract.filtertool.joins.graphs import NamedGraph
from extract.flwr.ast import Characters, Content, ElementConstructor, Enclosed, Markup
from extract.limits import Limits
from extract.xpath.ast import Variable
from extract.xscl.ast import XsclQuery

_JOIN: Final = ElementConstructor("join", (), (), (), 0)


class OutputMaker:
    """Makes the outputs of a query."""

    __slots__ = ("_element", "_namespaces", "_places")

    def __init__(self, query: XsclQuery, named: NamedGraph) -> None:
        self._element = query.output
        self._namespaces = query.namespaces
        self._places = {
            name: (side, index)
            for side, names in enumerate((named.left, named.right))
            for name, index in names
        }

    def make(
        self,
        documents: tuple[JoinDocument, JoinDocument],
        trees: tuple[DocumentTree, DocumentTree],
        rows: tuple[tuple[int, ...], tuple[int, ...]],
        limits: Limits,
    ) -> str:
        """Returns the output for a combination of nodes.

        Args:
            documents: The two documents.
            trees: Their trees.
            rows: The nodes of each.
            limits: How long it may be.

        Raises:
            OutputError: It cannot be made.
        """

        def node(side: int, index: int) -> Any:
            return trees[side].node(documents[side].locators[rows[side][index]])

        writer = OutputWriter(self._namespaces, limits.query_bytes, limits.passed("query_bytes"))
        if self._element is None:
            writer.start(_JOIN)
            for side in (0, 1):
                _write_root(writer, node(side, 0))
            writer.end()
        else:
            nodes = {name: node(*place) for name, place in self._places.items()}
            _write(writer, self._element, nodes)
        return writer.result()


def _write_root(writer: OutputWriter, root: Any) -> None:
    """Copies the root node of a pattern; of an attribute or text, its value."""
    if isinstance(root, str):
        writer.text(str(root))
    else:
        writer.copy(root)


def _write(writer: OutputWriter, element: ElementConstructor, nodes: Mapping[str, Any]) -> None:
    writer.start(element)
    for attribute in element.attributes:
        parts = [_text(part, nodes) for part in attribute.value]
        writer.constructed(attribute.name, "".join(parts))
    for content in element.content:
        _write_content(writer, content, nodes)
    writer.end()


def _write_content(writer: OutputWriter, content: Content, nodes: Mapping[str, Any]) -> None:
    if isinstance(content, Characters):
        writer.text(content.value)
    elif isinstance(content, Markup):
        writer.markup(content.text)
    elif isinstance(content, ElementConstructor):
        _write(writer, content, nodes)
    else:
        assert isinstance(content, Enclosed)
        writer.copies([_bound(content, nodes)])


def _text(part: Characters | Enclosed, nodes: Mapping[str, Any]) -> str:
    if isinstance(part, Characters):
        return part.value
    return string_value(_bound(part, nodes))


def _bound(part: Enclosed, nodes: Mapping[str, Any]) -> Any:
    assert isinstance(part.expr, Variable)
    return nodes[part.expr.name]
