"""The node of lxml's tree that a row speaks of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from lxml import etree

from extract.errors import DocumentError
from extract.filtertool.results.findings import Match
from extract.markup.tags import TAG, tag_attributes
from extract.markup.values import DeclaredEntity, attribute_value

_STEP: Final = re.compile(r"/(@?)([^/\[\]]+)(?:\[(\d+)\])?")
_HINT: Final = "the tree must be parsed from the very bytes that the match is of"
_STRINGS: Final = ("attribute", "text")

_NAMED: Final = etree.XPath("*[name() = $name]")
_RANK: Final = etree.XPath(
    "count(preceding-sibling::*[local-name() = $local and namespace-uri() = $uri]) + 1"
)
_ATTRIBUTES: Final = etree.XPath("@*[name() = $name]")
_LEAVES: Final = {
    "text()": etree.XPath("text()"),
    "comment()": etree.XPath("comment()"),
    "processing-instruction()": etree.XPath("processing-instruction()"),
}


class _PathStep(NamedTuple):
    """A step of the unique path of a match: whether it is an attribute, its name, its number."""

    attribute: bool
    name: str
    number: int


def locate(tree: Any, match: Match) -> Any:
    """Returns the node of lxml's tree that a match is about.

    `Match.path` has names as they are written, so that it means nothing to ``tree.xpath()`` where a
    document has namespaces. This finds the node all the same, whatever prefixes are bound to.

    Args:
        tree: What ``lxml.etree`` parsed from the same bytes as the match is of: an element tree, or
            an element of it. Comments, processing instructions and entities must not have been left
            out or changed.
        match: A match of the document.

    Returns:
        The element, comment or processing instruction. For an attribute or a text what lxml's own
        ``xpath()`` returns: a string with ``getparent()``, ``attrname``, ``is_attribute``,
        ``is_text`` and ``is_tail``. None for a match that is no node of the tree: a number, string
        or boolean, a namespace, or a node of the document type declaration.

    Raises:
        DocumentError: The tree has no such node; or two, and the match does not say which: elements
            that are written the same though their names are in different namespaces.

    >>> from extract.pipeline import match, prepare
    >>> from extract.subscriptions.model import Subscriptions
    >>> document = b"<list xmlns='urn:x'><item n='1'>a</item><item n='2'>b</item></list>"
    >>> queries = Subscriptions.of({"q": "//x:item[2]", "n": "//x:item/@n"}, {"x": "urn:x"})
    >>> tree = etree.fromstring(document)
    >>> nodes = [locate(tree, found) for found in match(prepare(queries), document)]
    >>> nodes[0].tag, nodes[0].get("n"), nodes[1].getparent().text, nodes[2].attrname
    ('{urn:x}item', '2', 'a', 'n')
    """
    if match.path is None:
        return None
    root = tree.getroot() if hasattr(tree, "getroot") else tree.getroottree().getroot()
    steps = [_PathStep(bool(at), name, int(n or 1)) for at, name, n in _STEP.findall(match.path)]
    candidates: list[Any] = [None]  # None stands for the document node
    for step in steps:
        candidates = [one for parent in candidates for one in _children(root, parent, step)]
    candidates = _fitting(candidates, match)
    if len(candidates) != 1:
        said = "no node" if not candidates else f"{len(candidates)} nodes"
        raise DocumentError(f"the tree has {said} at {match.path}", _HINT, match.document)
    return candidates[0]


def _children(root: Any, parent: Any, step: _PathStep) -> list[Any]:
    """The nodes that a step leads to; usually one."""
    if step.attribute:
        return list(_ATTRIBUTES(parent, name=step.name))
    if step.name in _LEAVES:
        nodes = _outside(root, step.name) if parent is None else _LEAVES[step.name](parent)
        return list(nodes[step.number - 1 : step.number])
    if parent is None:
        return [root] if _written(root) == step.name else []
    # A prefix may be bound on the element itself, and otherwise on another that is written alike.
    named = _NAMED(parent, name=step.name)
    alike = {one.tag for one in named}
    if len(alike) == 1 and step.number <= len(named):
        there = named[step.number - 1]  # unless others have the same name with another prefix
        if _rank(there) == step.number:
            return [there]
    return [one for one in named if _rank(one) == step.number]


def _outside(root: Any, test: str) -> list[Any]:
    """The comments or processing instructions beside the root element."""
    kind = etree.Comment if test == "comment()" else etree.PI
    beside = [*reversed(list(root.itersiblings(preceding=True))), *root.itersiblings()]
    return [one for one in beside if one.tag is kind]


def _rank(element: Any) -> int:
    """The number of an element among its siblings of the same expanded name."""
    name = etree.QName(element)
    return int(_RANK(element, local=name.localname, uri=name.namespace or ""))


def _written(element: Any) -> str:
    local = etree.QName(element).localname
    return f"{element.prefix}:{local}" if element.prefix else str(local)


def _fitting(candidates: Iterable[Any], match: Match) -> list[Any]:
    """Those of several nodes that the match can be about, by what else it says."""
    nodes = list(candidates)
    if len(nodes) > 1 and match.text is not None:
        nodes = [one for one in nodes if _text(one, match.node) == match.text]
    if len(nodes) > 1 and match.node == "element" and match.value is not None:
        bound = _own_bindings(match.value)
        prefix = match.name.rpartition(":")[0] if match.name else ""
        nodes = [
            one for one in nodes if _namespace(one, prefix, bound) == etree.QName(one).namespace
        ]
    return nodes


def _text(node: Any, kind: str) -> str:
    if kind in _STRINGS:
        return str(node)
    return str(node.xpath("string()")) if kind == "element" else node.text or ""


def _own_bindings(xml: str) -> dict[str, str]:
    """What the start tag of an element binds prefixes to; "" stands for names without a prefix."""
    tag = TAG.match(xml.encode())
    declared = [one for one in tag_attributes(tag[0]) if one.declares] if tag else []
    return {one.name.decode()[6:]: _uri(one.raw) for one in declared}


def _uri(raw: bytes) -> str:
    try:
        return attribute_value(raw).decode()
    except DeclaredEntity:  # which the value of a match does not tell: no element fits then
        return raw.decode()


def _namespace(element: Any, prefix: str, bound: Mapping[str, str]) -> str | None:
    """What a prefix means on an element of the tree that would bind these prefixes itself."""
    above = element.getparent()
    outer = above.nsmap.get(prefix or None) if above is not None else None
    return bound.get(prefix, outer) or None
