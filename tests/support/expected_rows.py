"""The rows that a query must give: from libxml2's answer on the whole document, slowly.

Spans come from `tests.support.anatomy`, everything else from the tree; nothing from what is tested.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lxml import etree

from extract.filtertool.results.findings import Match
from tests.support.anatomy import Anatomy, written
from tests.support.generate import oracle

Row = tuple[Any, ...]
"""Kind, name, start, end, path, value and text; parts that cannot be known are ``"?"``."""

_KINDS = {etree.Comment: "comment", etree.PI: "pi"}
_TESTS = {"comment": "comment()", "pi": "processing-instruction()"}


class ExpectedRows:
    """Says what queries give on a document."""

    def __init__(self, document: bytes) -> None:
        self.tree = oracle.parse(document)
        self.anatomy = Anatomy.of(document)
        root = self.anatomy.tree.getroot()
        before = list(root.itersiblings(preceding=True))[::-1]
        self.nodes = [*before, *root.iter(), *root.itersiblings()]
        self.numbers = {element: n for n, element in enumerate(self.anatomy.elements)}
        self.asides = {aside: n for n, aside in enumerate(self.anatomy.asides)}
        self.spans = [part for part in self.anatomy.parts if part.kind in ("comment", "pi")]

    def rows(self, xpath: str, namespaces: Mapping[str, str]) -> list[Row] | str:
        """The rows of a query; or the name of the error that it raises."""
        found = oracle.answer(self.tree, xpath, namespaces)
        if found[0] == "nodes":
            return [self._row(*node) for node in found[1:]]
        if found[0] == "error":
            return str(found[1])
        value = found[1]
        if found[0] == "number":
            value = etree.XPath("string($x)")(self.anatomy.elements[0], x=float(value))
        elif found[0] == "boolean":
            value = "true" if value else "false"
        return [(found[0], None, None, None, None, str(value), str(value))]

    def _row(self, kind: str, *what: Any) -> Row:
        if kind == "namespace":
            return (kind, what[0] or "", None, None, None, what[1], what[1])
        if kind == "declared":
            return (kind,)
        node = self.nodes[what[0]]
        path = self._path(node)
        if kind == "element":
            start, end = self._span(node)
            value = "?"
            if start != "?":
                value = self.anatomy.decode(self.anatomy.document[start:end])
            text = str(node.xpath("string()"))
            return (kind, written(node), start, end, path, value, text)
        if kind in ("comment", "pi"):
            name = None if kind == "comment" else node.target
            value = node.text or ""
            return (kind, name, *self._aside(node), path, value, value)
        if kind == "attribute":
            name = what[1]
            if self.anatomy.parts:
                name = self.anatomy.written_attribute(self.numbers[node], name)
            elif "}" in name:
                name = path = "?"
            value = node.get(what[1])
            return (kind, name, *self._span(node), f"{path}/@{name}", value, value)
        owner = node if kind == "text" else node.getparent()
        texts = owner.xpath("text()")
        places = [(text.getparent(), text.is_tail) for text in texts]
        number = places.index((node, kind == "tail"))
        path = f"{self._path(owner)}/text()[{number + 1}]"
        value = str(texts[number])
        return ("text", None, *self._span(owner), path, value, value)

    def _path(self, node: Any) -> str:
        steps = []
        while node is not None:
            same = [
                one for one in [*node.itersiblings(preceding=True), node] if one.tag == node.tag
            ]
            name = written(node) if isinstance(node.tag, str) else _TESTS[_KINDS[node.tag]]
            steps.append(f"/{name}[{len(same)}]")
            node = node.getparent()
        return "".join(reversed(steps))

    def _span(self, element: Any) -> tuple[Any, Any]:
        if not self.anatomy.parts:
            return "?", "?"
        number = self.numbers[element]
        return self.anatomy.starts[number].start, self.anatomy.ends[number].end

    def _aside(self, node: Any) -> tuple[Any, Any]:
        if not self.anatomy.parts:
            return "?", "?"
        part = self.spans[self.asides[node]]
        return part.start, part.end


def row_of(match: Match) -> Row:
    """A match as a row to compare."""
    return (match.node, match.name, match.start, match.end, match.path, match.value, match.text)


def agree(found: list[Row], expected: list[Row]) -> bool:
    """Whether rows are the same, as far as they can be known."""
    return len(found) == len(expected) and all(map(_agree, found, expected))


def _agree(found: Row, expected: Row) -> bool:
    if expected[0] == "declared":
        return found[2:5] == (None, None, None)
    unknown = ["?" in str(one) for one in expected[:-1]]
    return found[-1] == expected[-1] and all(
        ours == theirs or hidden
        for ours, theirs, hidden in zip(found[:-1], expected[:-1], unknown, strict=True)
    )
