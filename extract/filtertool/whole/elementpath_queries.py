"""Queries in XPath 2.0 and later, evaluated on whole documents by elementpath.

Every query that declares such a version is evaluated here, whatever matcher evaluates the others;
their rows are merged. The result of a query may be:

- nodes: rows as for XPath 1.0, each node once and in document order;
- one value: one row, ``number``, ``string`` or ``boolean``; in ``doc`` and ``count`` it counts when
  it is true, not zero and not empty (a date, a duration or a name always counts);
- a sequence with values in it: a row for each item, in the order of the sequence, and all count;
- nothing (the empty sequence): no row. Arrays give their members. Maps and functions have no rows:
  a query that returns one fails on the document.

elementpath is written in Python, some thousand times slower than libxml2, and a query may run for
ever. So it always runs in a child process with a time limit
(`extract.filtertool.processes.sandbox`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from extract.filtertool.results.node_columns import AtomicValue
from extract.xpath.later import parse_later


class Unanswered(Exception):
    """A query fails on a document, or has a result that cannot be a row."""


class LaterXPath:
    """A query in XPath 2.0 or later; called with a tree, it returns what ``etree.XPath`` would.

    The result is a list of elements, comments, processing instructions and strings with lxml's
    ``getparent()``; or an `AtomicValue`. A list may also have atomic values.

    Args:
        xpath: The query.
        version: Of XPath.
        namespaces: Prefix to namespace URI.

    Raises:
        QuerySyntaxError: The query cannot be evaluated.
    """

    def __init__(self, xpath: str, version: str, namespaces: Mapping[str, str]) -> None:
        self._root = parse_later(xpath, version, namespaces)

    def __call__(self, tree: NodeTree) -> list[Any] | AtomicValue:
        """Evaluates the query.

        Raises:
            Unanswered: The query fails on this document, or returns a map or a function.
        """
        from elementpath import ElementPathError, XPathContext
        from elementpath.datatypes import Timezone

        # The timezone of dates without one must not depend on the machine.
        context = XPathContext(tree.root, timezone=Timezone.fromstring("Z"))
        try:
            items = list(_flat(self._root.select(context)))
        except ElementPathError as error:  # not picklable
            raise Unanswered(f"{error.message} ({error.code})") from None
        if all(map(_is_node, items)):
            return tree.plain(items)
        if len(items) == 1:
            return self._item(items[0])
        mixed = ((tree.plain([item]) if _is_node(item) else [self._item(item)]) for item in items)
        return [value for part in mixed for value in part]

    def _item(self, value: Any) -> AtomicValue:
        if callable(value) and not isinstance(value, type):
            raise Unanswered("it gives a map or a function, which is no row")
        text = str(self._root.string_value(value))
        if isinstance(value, bool):
            return AtomicValue("boolean", text, value)
        if isinstance(value, int | float | Decimal):
            return AtomicValue("number", text, bool(value) and not math.isnan(value))
        from elementpath.datatypes import AnyURI, UntypedAtomic

        return AtomicValue(
            "string", text, bool(text) or not isinstance(value, str | AnyURI | UntypedAtomic)
        )


class NodeTree:
    """A document as an elementpath tree, over lxml's tree."""

    def __init__(self, tree: Any) -> None:
        from elementpath import get_node_tree

        self.root: Any = get_node_tree(tree)
        self._indices: dict[int, dict[int, int]] = {}  # of all children, by parent

    def plain(self, nodes: Iterable[Any]) -> list[Any]:
        """Returns lxml's nodes, each once, in document order, without the document node.

        Raises:
            Unanswered: A node is of another document, made by ``parse-xml()``.
        """
        unique = {id(node): node for node in nodes}
        ordered = sorted(unique.values(), key=lambda node: node.position)
        return [plain for node in ordered if (plain := self._plain(node)) is not None]

    def _plain(self, node: Any) -> Any:
        top = node
        while top.parent is not None:
            top = top.parent
        if top is not self.root:
            raise Unanswered("it gives a node that is not of the document, which is no row")
        kind = node.node_kind
        if kind == "document":
            return None
        if kind == "namespace":
            return (node.name or None, node.value)
        if kind == "attribute":
            return _String(node.string_value, node.parent.value, node.name)
        if kind != "text":
            return node.value
        at, siblings = self._index(node), node.parent.children
        owner = siblings[at - 1] if at else node.parent
        return _String(node.value, owner.value, is_tail=at > 0)

    def _index(self, text: Any) -> int:
        """Returns the index of a text among its parent's children; all are numbered at once."""
        parent = text.parent
        indices = self._indices.get(id(parent))
        if indices is None:
            indices = {id(child): n for n, child in enumerate(parent.children)}
            self._indices[id(parent)] = indices
        return indices[id(text)]


class _String(str):
    """An attribute or text, with the interface of lxml's strings."""

    _parent: Any
    attrname: str | None
    is_attribute: bool
    is_tail: bool

    def __new__(
        cls, value: str, parent: Any, attrname: str | None = None, is_tail: bool = False
    ) -> _String:
        made = super().__new__(cls, value)
        made._parent, made.attrname, made.is_tail = parent, attrname, is_tail
        made.is_attribute = attrname is not None
        return made

    def getparent(self) -> Any:
        """Returns the element that it belongs to; for a tail, the element that it follows."""
        return self._parent


def _flat(items: Iterable[Any]) -> Iterator[Any]:
    """Yields the items, with the members of arrays in their place."""
    from elementpath.xpath_tokens import XPathArray

    for item in items:
        if isinstance(item, XPathArray):
            yield from _flat(item.iter_flatten())
        else:
            yield item


def _is_node(item: Any) -> bool:
    from elementpath.xpath_nodes import XPathNode

    return isinstance(item, XPathNode)
