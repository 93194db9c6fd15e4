"""libxml2's answers to templates, with the nodes as the push engine names them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from lxml import etree

from extract.subscriptions.constants import Constants
from tests.support.push.queries import RandomTemplate
from tests.support.push.vocabulary import NAMESPACES

NodeKey = tuple[int, int, int]
"""Kind (0 element, 1 attribute, 2 text, 3 comment, 4 processing instruction), row of the element or
parent, number in it of what is no element."""

_OTHERS: Final = {etree.Comment: 3, etree.ProcessingInstruction: 4}
_ATTRIBUTE: Final = re.compile(rb"""([^\s=]+)\s*=\s*(?:"[^"]*"|'[^']*')""")


class OracleDocument:
    """A document as libxml2 reads it (TRAPS 1)."""

    def __init__(self, data: bytes) -> None:
        parser = etree.XMLParser(resolve_entities="internal", no_network=True, huge_tree=True)
        self.tree = etree.fromstring(data, parser).getroottree()
        self.data = data
        self._elements = list(self.tree.getroot().iter(etree.Element))
        self._rows = {element: row for row, element in enumerate(self._elements)}
        self._texts: dict[tuple[Any, bool], NodeKey] = {}
        self._attributes: list[list[str]] | None = None

    def key(self, node: Any) -> NodeKey:
        """A node as the engine names it."""
        if not isinstance(node, str) and node.tag in _OTHERS:
            above = node.getparent()
            before = sum(one.tag is node.tag for one in node.itersiblings(preceding=True))
            return _OTHERS[node.tag], -1 if above is None else self._rows[above], before + 1
        if not isinstance(node, str):
            return 0, self._rows[node], 0
        owner: Any = node.getparent()  # type: ignore[attr-defined] # lxml's strings know it
        if node.is_attribute:  # type: ignore[attr-defined]
            row = self._rows[owner]
            return 1, row, self._tags()[row].index(node.attrname)  # type: ignore[attr-defined]
        tail: bool = node.is_tail  # type: ignore[attr-defined]
        if (owner, tail) not in self._texts:
            parent = owner.getparent() if tail else owner
            for number, text in enumerate(parent.xpath("text()"), 1):
                self._texts[text.getparent(), text.is_tail] = 2, self._rows[parent], number
        return self._texts[owner, tail]

    def _tags(self) -> list[list[str]]:
        """The attributes of each element in the order of its tag, by expanded name."""
        if self._attributes is None:
            plain = re.sub(rb"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[.*?\]\]>", b"", self.data, flags=re.S)
            tags = re.findall(rb"""<([^\s/>!?]+)((?:"[^"]*"|'[^']*'|[^>"'])*)>""", plain)
            self._attributes = []
            for element, (_, head) in zip(self._elements, tags, strict=True):
                names = [name.decode() for name in _ATTRIBUTE.findall(head)]
                self._attributes.append([_expanded(element, name) for name in names])
        return self._attributes


def _expanded(element: Any, name: str) -> str:
    prefix, colon, local = name.rpartition(":")
    if name == "xmlns" or prefix == "xmlns":
        return f"declaration of {local if colon else ''}"
    return f"{{{element.nsmap[prefix]}}}{local}" if colon else name


class OracleTemplate:
    """A template that libxml2 answers, compiled once for all constants."""

    def __init__(self, template: RandomTemplate, rows: Sequence[tuple[str, ...]]) -> None:
        self.template = template
        self.rows = rows
        self._compiled = etree.XPath(template.text, namespaces=NAMESPACES)
        self._variables: list[dict[str, Any]] = [{}] * len(rows)
        if template.parameters:
            constants = Constants.of(template.parameters, rows)
            self._variables = [constants.variables(n) for n in range(len(rows))]

    def answer(self, document: OracleDocument, row: int) -> list[Any] | bool:
        """The nodes that the query with these constants selects, or whether it is true."""
        found: list[Any] | bool = self._compiled(document.tree, **self._variables[row])
        return found
