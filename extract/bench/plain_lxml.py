"""What one would write without extract: a loop over compiled XPaths, on a parsed document."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, Final

from lxml import etree

from extract.errors import QuerySyntaxError
from extract.filtertool.matchers.protocol import Select
from extract.markup.lxml_parser import parse_tree
from extract.subscriptions import Subscription
from extract.xpath.ast import LocationPath
from extract.xpath.check import parse_checked
from extract.xpath.functions import Type
from extract.xpath.types import type_of

Row = tuple[Any, ...]
_NODES: Final = ("query", "node", "name", "ordinal", "path", "value", "text")


class PlainLoop:
    """Queries compiled by lxml, for documents one after the other.

    Args:
        queries: The queries; those that extract refuses are left out here, too.
        select: Whether to make rows of nodes, to count, or only to tell which queries match.
    """

    def __init__(self, queries: Iterable[Subscription], select: Select) -> None:
        self._select = select
        self._queries: list[tuple[str, Any, bool]] = []
        for one in queries:
            try:
                expr = parse_checked(one.xpath, one.namespaces)
            except QuerySyntaxError:
                continue
            relative = isinstance(expr, LocationPath) and not expr.absolute
            xpath = f"/{one.xpath}" if relative else one.xpath
            counted = select == "count" and type_of(expr) is Type.NODES
            if select == "doc":
                xpath = f"boolean({xpath})"
            elif counted:
                xpath = f"count({xpath})"
            query = etree.XPath(xpath, namespaces=dict(one.namespaces))
            self._queries.append((one.id, query, counted))

    def __len__(self) -> int:
        return len(self._queries)

    def rows(self, document: bytes) -> list[Row]:
        """The rows of a document: query and number of nodes, or query and columns of a node."""
        tree = parse_tree(document)
        rows: list[Row] = []
        nodes = self._select == "nodes"
        for name, query, counted in self._queries:
            try:
                value = query(tree)
            except etree.XPathError:
                continue
            if nodes:
                rows += _node_rows(name, tree, value)
            elif value and not (isinstance(value, float) and math.isnan(value)):
                rows.append((name, int(value) if counted else 1))
        return rows

    def table(self, name: str, document: bytes) -> Any:
        """The rows of a document as a table of Arrow, with its name."""
        import pyarrow as pa

        rows = self.rows(document)
        names = {"nodes": _NODES, "count": ("query", "count"), "doc": ("query",)}[self._select]
        columns = zip(*rows, strict=True) if rows else [()] * len(names)
        made = {one: list(column) for one, column in zip(names, columns, strict=False)}
        return pa.table({"document": [name] * len(rows), **made})


def _node_rows(name: str, tree: Any, value: Any) -> Iterator[Row]:
    """The columns of extract's rows, but for offsets, which lxml does not have."""
    if not isinstance(value, list):
        kind = {bool: "boolean", float: "number"}.get(type(value), "string")
        yield name, kind, None, 0, None, str(value), str(value)
        return
    for ordinal, node in enumerate(value):
        if isinstance(node, tuple):
            yield name, "namespace", node[0], ordinal, None, node[1], node[1]
        elif isinstance(node, str):
            path, text = tree.getpath(node.getparent()), str(node)  # type: ignore[attr-defined]
            if node.is_attribute:  # type: ignore[attr-defined]
                attribute = node.attrname  # type: ignore[attr-defined]
                yield name, "attribute", attribute, ordinal, f"{path}/@{attribute}", text, text
            else:
                yield name, "text", None, ordinal, f"{path}/text()", text, text
        elif isinstance(node.tag, str):
            xml = etree.tostring(node, encoding="unicode", with_tail=False)
            local = etree.QName(node).localname
            written = f"{node.prefix}:{local}" if node.prefix else local
            text = "".join(node.itertext())
            yield name, "element", written, ordinal, tree.getpath(node), xml, text
        else:
            yield name, "other", None, ordinal, tree.getpath(node), node.text, node.text
