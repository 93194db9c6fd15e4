"""The oracle: what libxml2 selects on the whole document, in a form that compares exactly.

`parse` and `answer` pin down TRAPS 1. Found out by trial with lxml 6.1 / libxml2 2.14, and tested
in ``tests/house/test_generate.py``:

* lxml evaluates at the root *element*, whatever it is given: ``etree.XPath("a")(tree)`` looks for
  children ``a`` of the root. Ours starts at the document node. No option changes that, but inside
  ``/self::node()[…]`` the context node *is* the document node, so the query stands there as the
  argument of an extension function that catches its value. Nothing needs to parse or rewrite the
  query. Only ``position()`` and ``last()`` outside all predicates would differ (libxml2 has no
  context position at the top and raises); they are made to raise the same.
* The document node is left out of results; a node set comes in document order without duplicates,
  also from ``|``, ``id()`` and filter expressions.
* Strings know where they come from: owner, attribute name, ``text`` or ``tail``. A text node after
  a comment or PI is the tail of that. Neighbouring texts, CDATA sections and entities are one node,
  so owner and side are a text's identity.
* ``preceding::`` and ``following::`` walk into the internal subset, and there find its comments and
  PIs and what its entities hold, elements too: ``("declared", what)``. No other axis does.
* Namespace nodes are bare ``(prefix, uri)`` pairs without their element, one for each element.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from lxml import etree

Answer = tuple[Any, ...]
"""``("nodes", node, …)`` with nodes as below, ``("number", repr)``, ``("string", …)``,
``("boolean", …)`` or ``("error", class name)``.

Nodes: ``("element", rank)``, ``("comment", rank)``, ``("pi", rank)``, ``("attribute", rank,
name)``, ``("text", rank)`` for the first text of an element, ``("tail", rank)`` for the text right
after a node, ``("namespace", prefix, uri)``, ``("declared", what)`` for a node of the internal
subset. The rank counts elements, comments and PIs in document order.
"""

_PARSER_OPTIONS = {"resolve_entities": "internal", "no_network": True, "huge_tree": True}
_CATCH = "urn:x-oracle"
_PREFIX = "oracle-"


class Tree:
    """A parsed document whose nodes have ranks."""

    def __init__(self, document: bytes) -> None:
        root = etree.fromstring(document, etree.XMLParser(**_PARSER_OPTIONS))
        self.tree = root.getroottree()
        before = list(root.itersiblings(preceding=True))[::-1]
        nodes = [*before, *root.iter(), *root.itersiblings()]
        # Keeps the proxies alive: lxml would make new ones, with other identities.
        self.rank: dict[Any, int] = {node: rank for rank, node in enumerate(nodes)}

    def __len__(self) -> int:
        """The number of elements, comments and processing instructions."""
        return len(self.rank)


def parse(document: bytes) -> Tree:
    """The document as the oracle reads it; raises ``etree.XMLSyntaxError`` if it is ill-formed."""
    return Tree(document)


def answer(tree: Tree, xpath: str, namespaces: Mapping[str, str] | None = None) -> Answer:
    """What the query selects, or which error it raises, starting at the document node."""
    try:
        query = _compile(xpath, tuple(sorted((namespaces or {}).items())))
        return _comparable(tree, query.at_document(tree.tree))
    except etree.XPathError as error:
        return ("error", type(error).__name__)


def is_empty(result: Answer) -> bool:
    """Whether the answer says nothing: an error, no node, false, zero, NaN or no character."""
    return (
        len(result) == 1 or result[0] == "error" or result[1] in (False, "0.0", "-0.0", "nan", "")
    )


class _Query:
    """A compiled query that is evaluated at the document node."""

    def __init__(self, xpath: str, namespaces: Mapping[str, str]) -> None:
        etree.XPath(xpath, namespaces=namespaces)  # raises for what closes our bracket: a] | b[
        self._caught: Any = None
        self._compiled = etree.XPath(
            f"/self::node()[{_PREFIX}:catch({_without_position(xpath)}\n)]",
            namespaces={**namespaces, _PREFIX: _CATCH},
            extensions={(_CATCH, "catch"): self._catch, (_CATCH, "no-position"): _no_position},
        )

    def at_document(self, tree: Any) -> Any:
        self._compiled(tree)
        value, self._caught = self._caught, None
        return value

    def _catch(self, context: object, value: Any) -> bool:
        self._caught = value
        return False


@lru_cache(maxsize=1000)
def _compile(xpath: str, namespaces: tuple[tuple[str, str], ...]) -> _Query:
    return _Query(xpath, dict(namespaces))


def _no_position(context: object) -> float:
    raise etree.XPathEvalError("Invalid context position")


_TOKENS = re.compile(r"""'[^']*'|"[^"]*"|[\[\]]|(?<![\w.:-])(?:position|last)\s*\(\s*\)""")


def _without_position(xpath: str) -> str:
    """The query with every ``position()`` and ``last()`` outside predicates made to raise."""
    if "position" not in xpath and "last" not in xpath:
        return xpath
    depth = 0

    def replace(token: re.Match[str]) -> str:
        nonlocal depth
        depth += {"[": 1, "]": -1}.get(token[0], 0)
        outside = depth == 0 and token[0][0] in "pl"
        return f"{_PREFIX}:no-position()" if outside else token[0]

    return _TOKENS.sub(replace, xpath)


def _comparable(tree: Tree, value: Any) -> Answer:
    if isinstance(value, list):
        return ("nodes", *(_node(tree.rank, node) for node in value))
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, float):
        return ("number", "nan" if math.isnan(value) else repr(value))
    return ("string", str(value))


def _node(rank: Mapping[Any, int], node: Any) -> Answer:
    if isinstance(node, tuple):
        return ("namespace", *node)
    if isinstance(node, str):
        return _string(rank, node)
    if node not in rank:
        return ("declared", node.tag if isinstance(node.tag, str) else str(node))
    if isinstance(node.tag, str):
        return ("element", rank[node])
    return ("comment" if node.tag is etree.Comment else "pi", rank[node])


def _string(rank: Mapping[Any, int], node: Any) -> Answer:
    owner = rank.get(node.getparent())
    if owner is None:
        return ("declared", str(node))
    if node.is_attribute:
        return ("attribute", owner, node.attrname)
    return ("tail" if node.is_tail else "text", owner)
