"""A unit as libxml2 has it, and where in the unit the nodes are that libxml2 selects.

Nodes are told by their place, as in `extract.filtertool.matcher.Nodes`, so that the same code
serves here and in a child process, which can send no nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from lxml import etree

from extract.filtertool.matcher import ATTRIBUTE, COMMENT, ELEMENT, PI, TEXT

PARSER_OPTIONS: Final = {"resolve_entities": "internal", "no_network": True, "huge_tree": True}


class Place(NamedTuple):
    """Where a node is in its unit.

    Attributes:
        kind, row: As in `Nodes`.
        number: As in `Nodes`; but of an attribute without counting namespace declarations.
    """

    kind: int
    row: int
    number: int


class Unplaced(Exception):
    """A node that is nowhere in the unit's bytes: a namespace node, or one of the DTD."""


def parse(xml: bytes) -> Any:
    """The document as a tree, with the settings that all answers are defined by (TRAPS 1).

    Raises:
        etree.XMLSyntaxError: It is not well-formed.
    """
    return etree.fromstring(xml, etree.XMLParser(**PARSER_OPTIONS)).getroottree()


def local_names(tree: Any) -> Counter[str]:
    """How many elements there are of each local name."""
    tags = Counter([element.tag for element in tree.getroot().iter("*")])
    found: Counter[str] = Counter()
    for tag, times in tags.items():
        found[tag.rpartition("}")[2]] += times
    return found


class ParsedUnit:
    """The tree of a unit.

    Args:
        xml: A well-formed document.

    Raises:
        etree.XMLSyntaxError: It is none.
    """

    def __init__(self, xml: bytes) -> None:
        self.tree = parse(xml)
        self._numbers: dict[Any, dict[Any, int]] = {}

    @cached_property
    def rows(self) -> dict[Any, int]:
        """The number of each element in document order."""
        # The dictionary keeps the proxies alive; lxml would make others, with other identities.
        return {element: row for row, element in enumerate(self.tree.getroot().iter("*"))}

    def place(self, node: Any) -> Place:
        """Where a node is that lxml has found.

        Raises:
            Unplaced: It is nowhere in the unit.
        """
        if isinstance(node, str):
            return self._place_of_string(node)
        if isinstance(node, tuple):
            raise Unplaced("a namespace node")
        if isinstance(node.tag, str):
            return Place(ELEMENT, self._row(node), 0)
        if node.tag is not etree.Comment and node.tag is not etree.PI:
            raise Unplaced("an entity reference")
        parent = node.getparent()
        kind = COMMENT if node.tag is etree.Comment else PI
        return Place(kind, -1 if parent is None else self._row(parent), self._number(parent, node))

    def _place_of_string(self, node: Any) -> Place:
        owner = node.getparent()
        if owner is None:
            raise Unplaced("a string of its own")
        if node.is_attribute:
            return Place(ATTRIBUTE, self._row(owner), list(owner.attrib).index(node.attrname))
        if node.is_text:
            return Place(TEXT, self._row(owner), 1)
        parent = owner.getparent()
        return Place(TEXT, self._row(parent), self._number(parent, owner, tail=True))

    def _row(self, element: Any) -> int:
        row = self.rows.get(element)
        if row is None:
            raise Unplaced("a node of the document type declaration")
        return row

    def _number(self, parent: Any, node: Any, tail: bool = False) -> int:
        """Which of its parent's comments or PIs a node is; or which of its texts its tail is."""
        known = self._numbers.get(parent)
        if known is None:
            known = self._numbers[parent] = self._count(parent)
        found = known.get((node, tail))
        if found is None:
            raise Unplaced("a node of the document type declaration")
        return found

    def _count(self, parent: Any) -> dict[Any, int]:
        """All children of a node that are not elements, numbered by kind; all at once, for one by
        one would take quadratic time."""
        numbers: dict[Any, int] = {}
        if parent is None:
            root = self.tree.getroot()
            children = [*list(root.itersiblings(preceding=True))[::-1], *root.itersiblings()]
            texts = 0
        else:
            children = list(parent)
            texts = int(parent.text is not None)
        counts = {etree.Comment: 0, etree.PI: 0}
        for child in children:
            if child.tag in counts:
                counts[child.tag] += 1
                numbers[child, False] = counts[child.tag]
            if child.tail is not None:
                texts += 1
                numbers[child, True] = texts
        return numbers


def compiled(xpath: str, namespaces: Mapping[str, str]) -> Any:
    """The expression, ready to be evaluated on a tree."""
    return etree.XPath(xpath, namespaces=dict(namespaces))


def places(unit: ParsedUnit, branches: Sequence[Any]) -> list[Place]:
    """All nodes that branches select, each as often as it is selected; and the document node never.

    Raises:
        etree.XPathError: An expression cannot be evaluated.
        Unplaced: One of the nodes is nowhere in the unit.
    """
    return [unit.place(node) for branch in branches for node in branch(unit.tree)]


_open: ParsedUnit | None = None  # in a child process


def open_in_child(xml: bytes) -> None:
    """Parses the unit that the next calls are about, in a child process."""
    global _open
    _open = None  # its memory is needed
    _open = ParsedUnit(xml)


def places_in_child(
    branches: Sequence[str], namespaces: Mapping[str, str]
) -> list[tuple[int, int, int]]:
    """The same as `places`, on the unit that is open."""
    assert _open is not None
    found = places(_open, [compiled(xpath, namespaces) for xpath in branches])
    return [(place.kind, place.row, place.number) for place in found]


def value_in_child(xpath: str, namespaces: Mapping[str, str]) -> float | str | bool:
    """The value of an expression that is no node set, on the unit that is open."""
    assert _open is not None
    return plain(compiled(xpath, namespaces)(_open.tree))


def plain(value: Any) -> float | str | bool:
    """A value without lxml's additions."""
    return value if isinstance(value, bool | float) else str(value)
