"""A document as a tree, with the offsets of the nodes that libxml2 selects."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from lxml import etree

from extract.chunktool.scan.wellformed import error_parts, rejection_of
from extract.errors import DocumentError
from extract.filtertool.matchers.lxml.parsed_unit import (
    NO_VARIABLES,
    Variables,
    local_names,
    plain,
)
from extract.filtertool.matchers.lxml.sibling_numbers import SiblingNumbers
from extract.filtertool.results.findings import is_true
from extract.filtertool.results.node_columns import AtomicValue, Described, limited, standalone
from extract.filtertool.whole.elementpath_queries import LaterXPath, NodeTree
from extract.limits import DEFAULTS, Limits
from extract.markup.lxml_parser import parse_tree
from extract.markup.spans import Span, find_spans
from extract.markup.tags import tag_attributes
from extract.markup.values import Values
from extract.schema.model import XML_NAMESPACE

QueryResult = list[int] | float | str | bool | AtomicValue
"""The result of a query: indices of described nodes and values, or a single value."""


_STRING_VALUE: Final = etree.XPath("string()", smart_strings=False)


class OutputLimit(Exception):
    """A query selects too much; the message names the limit."""


class WholeDocument:
    """A parsed document.

    Args:
        data: The document.
        name: Its name in messages.
        limits: The largest value, and the most nodes that a query may select.
        alone: Make the XML of elements well-formed on its own.

    Attributes:
        described: The nodes that queries have selected so far.

    Raises:
        DocumentError: The document is not well-formed.
    """

    def __init__(
        self, data: bytes, name: str = "", limits: Limits | None = None, alone: bool = False
    ) -> None:
        self.described = Described()
        self.data = data
        self._limits = limits or DEFAULTS
        self._most = self._limits.value_bytes
        self._alone = alone
        self._indices: dict[Any, int] = {}
        self._paths: dict[Any, str] = {}
        try:
            self.tree = parse_tree(data)
        except etree.XMLSyntaxError as error:
            reason, hint, *place = rejection_of(*error_parts(error))
            raise DocumentError(reason, hint, name, *place) from error
        self._numbers = SiblingNumbers(self.tree)

    @cached_property
    def size(self) -> int:
        """The number of elements."""
        return len(self._elements)

    def named(self) -> Mapping[str, int]:
        """Returns the number of elements by local name."""
        return self._named

    @cached_property
    def _named(self) -> Mapping[str, int]:
        return local_names(self.tree)

    def forget(self) -> None:
        """Starts a new list of descriptions."""
        self.described = Described()
        self._indices.clear()

    def find(self, query: Any, values: Variables = NO_VARIABLES) -> QueryResult:
        """Evaluates a compiled query, and describes the nodes that it selects.

        Args:
            query: The query.
            values: The values of its variables.

        Raises:
            etree.XPathError: The query cannot be evaluated.
            OutputLimit: The query selects too much.
        """
        result = self._evaluate(query, values)
        if isinstance(result, list):
            self._check_output(result)
            return [self._describe(node) for node in result]
        return result if isinstance(result, AtomicValue) else plain(result)

    def _check_output(self, nodes: list[Any]) -> None:
        limits = self._limits
        if len(nodes) > limits.query_rows:
            raise OutputLimit(limits.passed("query_rows"))
        if len(nodes) * len(self.data) > limits.query_bytes:
            spans = [span for span in map(self._spans.get, nodes) if span is not None]
            if sum([end - start for start, end in spans]) > limits.query_bytes:
                raise OutputLimit(limits.passed("query_bytes"))

    def count(self, query: Any, values: Variables = NO_VARIABLES) -> int:
        """Returns the number of nodes that a query selects; of a value 1 or 0, as in `is_true`."""
        result = self._evaluate(query, values)
        if isinstance(result, list):
            return len(result)
        return int(is_true(result if isinstance(result, AtomicValue) else plain(result)))

    def _evaluate(self, query: Any, values: Variables) -> Any:
        return query(self.nodes) if isinstance(query, LaterXPath) else query(self.tree, **values)

    @cached_property
    def nodes(self) -> NodeTree:
        """The document for queries in XPath 2.0 and later."""
        return NodeTree(self.tree)

    # -- offsets of nodes

    @cached_property
    def _elements(self) -> list[Any]:
        return list(self.tree.getroot().iter("*"))

    @cached_property
    def _spans(self) -> dict[Any, Span]:
        """The spans of elements, comments and processing instructions that have one."""
        root = self.tree.getroot()
        asides = list(root.itersiblings(preceding=True))[::-1]
        asides += [*root.iter(etree.Comment, etree.PI), *root.itersiblings()]
        spans = find_spans(self.data)
        if spans is None:
            return {}
        if (len(spans.elements), len(spans.asides)) != (self.size, len(asides)):
            return {}  # no offsets are better than wrong ones
        span_of = dict(zip(self._elements, spans.elements, strict=True))
        span_of.update(zip(asides, spans.asides, strict=True))
        return span_of

    @cached_property
    def _values(self) -> Values:
        return Values(self.data, 0)

    # -- descriptions

    def _describe(self, node: Any) -> int:
        if isinstance(node, AtomicValue):
            self.described.add_value(node, self._most)
            return len(self.described) - 1
        if isinstance(node, tuple):
            prefix, uri = node
            self.described.add("namespace", prefix or "", None, None, None, uri, uri)
            return len(self.described) - 1
        key = node
        if isinstance(node, str):
            owner = node.getparent()  # type: ignore[attr-defined]
            # Of texts of entity declarations lxml tells neither parent nor place: they are the same
            # where all that a row says of them is.
            key = (
                owner,
                getattr(node, "attrname", None),
                getattr(node, "is_tail", False),
                str(node),
            )
        index = self._indices.get(key)
        if index is None:
            index = self._indices[key] = len(self.described)
            if isinstance(node, str):
                self._add_string(node)
            else:
                self._add(node)
        return index

    def _add(self, node: Any) -> None:
        span = self._spans.get(node)
        start, end = span or (None, None)
        if isinstance(node.tag, str):
            name, path = _written(node), self._path(node)
            text = limited(str(_STRING_VALUE(node)), self._most)
            self.described.add("element", name, start, end, path, self._xml(node, span), text)
            return
        is_pi = node.tag is etree.PI
        value = limited(node.text or "", self._most)
        self.described.add(
            "pi" if is_pi else "comment",
            node.target if is_pi else None,
            start,
            end,
            self._path(node),
            value,
            value,
        )

    def _add_string(self, node: Any) -> None:
        owner, value = node.getparent(), limited(str(node), self._most)
        if node.is_attribute:
            start, end = self._spans.get(owner) or (None, None)
            name = self._attribute(owner, node.attrname)
            self.described.add("attribute", name, start, end, self.path_of(node), value, value)
            return
        parent = owner.getparent() if node.is_tail else owner
        start, end = self._spans.get(parent) or (None, None)
        self.described.add("text", None, start, end, self.path_of(node), value, value)

    def path_of(self, node: Any) -> str | None:
        """Returns the unique path of a node, as in rows; None if it has none."""
        if not isinstance(node, str):
            return self._path(node)
        owner = node.getparent()  # type: ignore[attr-defined]
        if node.is_attribute:  # type: ignore[attr-defined]
            path = self._path(owner)
            name = self._attribute(owner, node.attrname)  # type: ignore[attr-defined]
            return f"{path}/@{name}" if path is not None else None
        is_tail = node.is_tail  # type: ignore[attr-defined]
        path = self._path(owner.getparent() if is_tail else owner)
        number = self._numbers.number_of_tail(owner) if is_tail else 1
        return f"{path}/text()[{number}]" if path is not None and number else None

    def _attribute(self, owner: Any, name: str) -> str:
        """Returns the name of an attribute as written, or a possible one if it has no bytes."""
        qualified = etree.QName(name)
        if not qualified.namespace:
            return name
        span = self._spans.get(owner)
        if span is not None:
            tag = tag_attributes(self._values.tag(*span))
            written = [attribute.name for attribute in tag if not attribute.declares]
            return written[list(owner.attrib).index(name)].decode()
        bound = {XML_NAMESPACE: "xml", **{uri: p for p, uri in owner.nsmap.items() if p}}
        return f"{bound.get(qualified.namespace, '')}:{qualified.localname}".removeprefix(":")

    def _xml(self, node: Any, span: Span) -> str | None:
        if span is None or self._alone:
            return limited(standalone(node), self._most)
        if self._most is not None and span[1] - span[0] > self._most:
            return None
        return self._values.string(*span)

    def _path(self, node: Any) -> str | None:
        """Returns the unique path of a node; None for a node of the document type declaration."""
        if node is None:
            return None
        steps: list[str] = []
        above = node
        while above is not None and above not in self._paths:
            number = self._numbers.number(above)
            if number is None:
                return None
            steps.append(f"/{_test(above)}[{number}]")
            above = above.getparent()
        path = (self._paths[above] if above is not None else "") + "".join(reversed(steps))
        if isinstance(node.tag, str):
            self._paths[node] = path
        return path


def _test(node: Any) -> str:
    if isinstance(node.tag, str):
        return _written(node)
    return "comment()" if node.tag is etree.Comment else "processing-instruction()"


def _written(element: Any) -> str:
    """Returns the name of an element as written."""
    local = etree.QName(element).localname
    return f"{element.prefix}:{local}" if element.prefix else local
