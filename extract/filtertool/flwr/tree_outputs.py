"""FLWR queries on trees of lxml: every query, on every document."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from lxml import etree

from extract.filtertool.flwr.bound_nodes import BoundExpression
from extract.filtertool.flwr.writer import OutputError, OutputWriter
from extract.flwr.ast import Characters, Content, ElementConstructor, Enclosed, Loop, Markup
from extract.flwr.query import FlwrQuery, enclosed
from extract.flwr.variables import from_document
from extract.limits import DEFAULTS, Limits
from extract.xpath.ast import Expr
from extract.xpath.functions import Type

_STRING: Final = etree.XPath("string()", smart_strings=False)


class BindingPath(NamedTuple):
    """An XPath that selects what a query binds, and what its prefixes stand for."""

    xpath: str
    namespaces: Mapping[str, str]


class TreeOutput:
    """A FLWR query, compiled for trees.

    Args:
        query: The query.
        limits: How long its result may be.
        binding: What selects the nodes that it binds, if not its own path does.
    """

    def __init__(
        self, query: FlwrQuery, limits: Limits | None = None, binding: BindingPath | None = None
    ) -> None:
        self._query = query
        self._limits = limits or DEFAULTS
        loop = query.loop
        xpath, namespaces = binding or BindingPath(str(query.binding), query.namespaces)
        self._bindings = etree.XPath(xpath, namespaces=dict(namespaces))
        self._rest = None if query.rest is None else self._compiled(query.rest, query.rest)
        exprs = [key.expr for key in loop.order] + [one.expr for one in enclosed(loop.result)]
        pairs = zip(query.bound, map(query.value, exprs), strict=True)
        keys = len(loop.order)
        compiled = [self._compiled(*pair, numbers=n < keys) for n, pair in enumerate(pairs)]
        self._keys = compiled[:keys]
        self._inside = dict(zip(map(id, enclosed(loop.result)), compiled[keys:], strict=True))
        if query.outer is not None:
            for one in enclosed(query.outer):
                expr = from_document(one.expr)
                self._inside[id(one)] = self._compiled(expr, expr)

    def _compiled(self, expr: Expr, value: Expr, numbers: bool = False) -> BoundExpression:
        query = self._query
        return BoundExpression(expr, value, query.loop.name, query.namespaces, numbers)

    def output(self, tree: Any) -> str | None:
        """The result for a document; None if nothing is bound.

        Raises:
            OutputError: The result cannot be made.
            etree.XPathError: An expression cannot be evaluated.
        """
        nodes = self._ordered(self.bound(tree))
        if not nodes:
            return None
        limits = self._limits
        writer = OutputWriter(
            self._query.namespaces, limits.query_bytes, limits.passed("query_bytes")
        )
        if self._query.outer is None:
            for node in nodes:
                self._write(writer, self._query.loop.result, node)
        else:
            self._write(writer, self._query.outer, tree.getroot(), nodes)
        return writer.result()

    def bound(self, tree: Any) -> list[Any]:
        """The nodes that it binds, in document order.

        Raises:
            etree.XPathError: An expression cannot be evaluated.
        """
        nodes: list[Any] = self._bindings(tree)
        if self._rest is None:
            return nodes
        return [node for node in nodes if _is_true(self._rest.at(node))]

    # -- order

    def _ordered(self, nodes: list[Any]) -> list[Any]:
        for key, expr in reversed([*zip(self._query.loop.order, self._keys, strict=True)]):
            sort_key = _number_key if expr.type is Type.NUMBER else _string_key
            values = {id(node): sort_key(expr.at(node)) for node in nodes}
            nodes = sorted(nodes, key=lambda n: values[id(n)], reverse=key.descending)
        return nodes

    # -- content

    def _write(
        self, writer: OutputWriter, element: ElementConstructor, node: Any, bound: Any = ()
    ) -> None:
        writer.start(element)
        for attribute in element.attributes:
            parts = [self._text(part, node) for part in attribute.value]
            writer.constructed(attribute.name, "".join(parts))
        for content in element.content:
            self._write_content(writer, content, node, bound)
        writer.end()

    def _write_content(self, writer: OutputWriter, content: Content, node: Any, bound: Any) -> None:
        if isinstance(content, Characters):
            writer.text(content.value)
        elif isinstance(content, Markup):
            writer.markup(content.text)
        elif isinstance(content, ElementConstructor):
            self._write(writer, content, node, bound)
        elif isinstance(content, Loop):
            for one in bound:
                self._write(writer, content.result, one)
        else:
            value = self._inside[id(content)].at(node)
            if isinstance(value, list):
                writer.copies(value)
            else:
                writer.text(str(value))

    def _text(self, part: Characters | Enclosed, node: Any) -> str:
        if isinstance(part, Characters):
            return part.value
        value = self._inside[id(part)].at(node)
        return " ".join(map(string_value, value)) if isinstance(value, list) else str(value)


def string_value(node: Any) -> str:
    """Returns the string value of a node of lxml, as XPath has it."""
    if isinstance(node, str):
        return str(node)
    return str(_STRING(node)) if isinstance(node.tag, str) else node.text or ""


def _is_true(value: Any) -> bool:
    return bool(value) if isinstance(value, list) else value == "true"


def _number_key(number: float) -> tuple[int, float]:
    return (0, 0.0) if math.isnan(number) else (1, number)


def _string_key(value: Any) -> tuple[int, str]:
    if not isinstance(value, list):
        return 1, str(value)
    return (1, string_value(value[0])) if value else (0, "")


__all__ = ["BindingPath", "OutputError", "TreeOutput", "string_value"]
