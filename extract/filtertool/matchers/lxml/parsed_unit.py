"""A unit as a libxml2 tree, and references to the nodes that libxml2 selects in it.

Nodes become references at once, so that the same code works in a child process, which cannot send
nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from lxml import etree

from extract.filtertool.matchers.lxml.sibling_numbers import SiblingNumbers
from extract.filtertool.matchers.node_refs import NodeRefs
from extract.markup.lxml_parser import parse_tree
from extract.markup.node_kinds import NodeKind
from extract.xpath.functions import EXSLT_REGEXP

Ref = tuple[int, int, int]
"""Kind, row and number of a node."""

Variables = Mapping[str, str | float]
"""The values of an expression's variables."""

NO_VARIABLES: Final[Variables] = {}


_NONE: Final = NodeRefs.of([])


class Unplaced(Exception):
    """A node that is not in the unit's bytes: a namespace node, or one of the DTD."""


def local_names(tree: Any) -> Counter[str]:
    """Counts the elements by local name."""
    tags = Counter([element.tag for element in tree.getroot().iter("*")])
    names: Counter[str] = Counter()
    for tag, times in tags.items():
        names[tag.rpartition("}")[2]] += times
    return names


class ParsedUnit:
    """The tree of a unit.

    Args:
        xml: A well-formed document.

    Raises:
        etree.XMLSyntaxError: The document is not well-formed.
    """

    def __init__(self, xml: bytes) -> None:
        self.tree = parse_tree(xml)
        self._numbers = SiblingNumbers(self.tree)

    @cached_property
    def rows(self) -> dict[Any, int]:
        """The index of each element in document order."""
        # The dictionary keeps the proxies alive; lxml would make new ones with other identities.
        return {element: row for row, element in enumerate(self.tree.getroot().iter("*"))}

    def ref(self, node: Any) -> Ref:
        """Returns kind, row and number of a node that lxml has selected, as in `NodeRefs`.

        In contrast to `NodeRefs`, the number of an attribute does not count namespace declarations.

        Raises:
            Unplaced: The node is not in the unit's bytes.
        """
        if isinstance(node, str):
            return self._ref_of_string(node)
        if isinstance(node, tuple):
            raise Unplaced("a namespace node")
        if isinstance(node.tag, str):
            return NodeKind.ELEMENT, self._row(node), 0
        if node.tag is not etree.Comment and node.tag is not etree.PI:
            raise Unplaced("an entity reference")
        parent = node.getparent()
        kind = NodeKind.COMMENT if node.tag is etree.Comment else NodeKind.PI
        row = -1 if parent is None else self._row(parent)
        return kind, row, _placed(self._numbers.number(node))

    def select(self, branches: Sequence[Any], variables: Variables = NO_VARIABLES) -> NodeRefs:
        """Returns all nodes that branches select, with duplicates.

        The document node is left out. Numbers of attributes are those of `ref`.

        Args:
            branches: Compiled expressions.
            variables: The values of their variables.

        Raises:
            etree.XPathError: An expression cannot be evaluated.
            Unplaced: A node is not in the unit's bytes.
        """
        found = self.listed(branches, variables)
        return NodeRefs.of(found) if found else _NONE

    def listed(self, branches: Sequence[Any], variables: Variables = NO_VARIABLES) -> list[Ref]:
        """Returns the same as a list."""
        return [self.ref(node) for branch in branches for node in branch(self.tree, **variables)]

    def _ref_of_string(self, node: Any) -> Ref:
        owner = node.getparent()
        if owner is None:
            raise Unplaced("a string of its own")
        if node.is_attribute:
            number = list(owner.attrib).index(node.attrname)
            return NodeKind.ATTRIBUTE, self._row(owner), number
        if node.is_text:
            return NodeKind.TEXT, self._row(owner), 1
        row = self._row(owner.getparent())
        return NodeKind.TEXT, row, _placed(self._numbers.number_of_tail(owner))

    def _row(self, element: Any) -> int:
        return _placed(self.rows.get(element))


def _placed(number: int | None) -> int:
    if number is None:
        raise Unplaced("a node of the document type declaration")
    return number


def compiled(xpath: str, namespaces: Mapping[str, str]) -> Any:
    """Compiles an expression for evaluation on trees.

    lxml binds prefixes and registers functions anew for every evaluation, so it only gets those
    that the expression may use.
    """
    used = {prefix: uri for prefix, uri in namespaces.items() if f"{prefix}:" in xpath}
    return etree.XPath(xpath, namespaces=used, regexp=EXSLT_REGEXP in used.values())


_open: ParsedUnit | None = None  # the unit in this child process


def open_in_child(xml: bytes) -> None:
    """Parses the unit for the next calls, in a child process."""
    global _open
    _open = None  # frees its memory first
    _open = ParsedUnit(xml)


def select_in_child(
    branches: Sequence[str], namespaces: Mapping[str, str], variables: Variables
) -> NodeRefs:
    """Returns `ParsedUnit.select` for the child's unit."""
    assert _open is not None
    return _open.select([compiled(xpath, namespaces) for xpath in branches], variables)


def value_in_child(
    xpath: str, namespaces: Mapping[str, str], variables: Variables
) -> float | str | bool:
    """Returns the value of an expression that is no node set, on the child's unit."""
    assert _open is not None
    return plain(compiled(xpath, namespaces)(_open.tree, **variables))


def plain(value: Any) -> float | str | bool:
    """Returns a value as a plain Python object, without lxml's attributes."""
    return value if isinstance(value, bool | float) else str(value)
