"""Documents taken apart: which bytes are which node.

This is done twice, independently of any scanner: one regular expression finds the bytes of every
tag, text and comment, and libxml2 says what they mean.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from lxml import etree

from extract.markup.node_kinds import NodeKind
from extract.schema.model import XML_NAMESPACE
from tests.support.generate.oracle import parse

_QUOTED = rb"""[^<>"']|"[^"]*"|'[^']*'"""
_TOKEN = re.compile(
    rb"(?P<comment><!--.*?-->)|(?P<cdata><!\[CDATA\[.*?\]\]>)|(?P<pi><\?.*?\?>)"
    rb"|(?P<doctype><!DOCTYPE(?:%s)*?(?:\[(?:<!--.*?-->|<\?.*?\?>|[^]\"'<]|<!|\"[^\"]*\"|'[^']*'"
    rb"|>)*\]\s*)?>)|(?P<close></[^>]*>)|(?P<open><(?:%s)*>)|(?P<text>[^<]+)" % (_QUOTED, _QUOTED),
    re.DOTALL,
)


class Piece(NamedTuple):
    """A tag, text, comment or the like: what it is and which bytes.

    Attributes:
        kind: ``open``, ``empty`` and ``close`` are tags; ``text``, ``cdata``, ``comment``, ``pi``;
            ``space`` outside of the root; ``doctype``, for all that every output keeps.
        start: First byte.
        end: Byte after it.
        element: For a tag the number of its element in document order, else that of its parent; -1
            outside of the root.
        number: For texts, comments and PIs: which of its kind in its parent; texts with nothing but
            texts between them are one. Else 0.
    """

    kind: str
    start: int
    end: int
    element: int
    number: int = 0

    @property
    def is_start(self) -> bool:
        """Whether an element begins with it."""
        return self.kind in ("open", "empty")


def pieces(document: bytes) -> list[Piece]:
    """A well-formed document in an encoding that contains ASCII, piece by piece."""
    at = len(BOM_UTF8) if document.startswith(BOM_UTF8) else 0
    out = [Piece("doctype", 0, at, -1)] if at else []
    stack, elements = [-1], 0
    counts = {-1: Counter[str]()}
    in_text = False
    while at < len(document):
        token = _TOKEN.match(document, at)
        assert token is not None, (document, at)
        kind, span, at = str(token.lastgroup), token.span(), token.end()
        if kind == "open":
            kind = "empty" if token[0].endswith(b"/>") else "open"
            out.append(Piece(kind, *span, elements))
            if kind == "open":
                stack.append(elements)
                counts[elements] = Counter()
            elements += 1
        elif kind == "close":
            out.append(Piece(kind, *span, stack.pop()))
        elif kind == "doctype" or re.match(rb"<\?xml\s", token[0]):
            out.append(Piece("doctype", *span, -1))
        elif len(stack) == 1 and kind == "text":
            out.append(Piece("space", *span, -1))
        else:
            name = "text" if kind == "cdata" else kind
            counts[stack[-1]][name] += not (in_text and name == "text")
            out.append(Piece(kind, *span, stack[-1], counts[stack[-1]][name]))
        in_text = kind in ("text", "cdata")
    return out


@dataclass
class Anatomy:
    """A document as libxml2 has it, with the bytes of every part.

    Attributes:
        document: The document.
        tree: The same, parsed.
        elements: Its elements in document order.
        asides: Its comments and PIs in document order, those outside of the root too.
        parts: The pieces; none if the bytes do not show them.
        in_entities: Whether the tree has nodes that are in no piece, but in an entity.
    """

    document: bytes
    tree: Any
    elements: list[Any]
    asides: list[Any]
    parts: list[Piece]
    in_entities: bool = False

    @classmethod
    def of(cls, document: bytes) -> Anatomy:
        """Takes a document apart.

        Raises:
            etree.XMLSyntaxError: It is not well-formed.
        """
        tree = parse(document).tree
        root = tree.getroot()
        nodes = [*list(root.itersiblings(preceding=True))[::-1], *root.iter(), *root.itersiblings()]
        elements = [node for node in nodes if isinstance(node.tag, str)]
        asides = [node for node in nodes if not isinstance(node.tag, str)]
        made = cls(document, tree, elements, asides, [])
        if b"\0" not in document[:4]:  # UTF-16 or UTF-32
            parts = pieces(document)
            counts = Counter(part.kind for part in parts)
            made.in_entities = counts["open"] + counts["empty"] != len(elements) or counts[
                "comment"
            ] + counts["pi"] != len(asides)
            made.parts = [] if made.in_entities else parts
        return made

    def text(self, part: Piece) -> bytes:
        """The bytes of a piece."""
        return self.document[part.start : part.end]

    def decode(self, data: bytes) -> str:
        """Bytes of the document as characters."""
        return data.decode(self.tree.docinfo.encoding or "utf-8")

    @cached_property
    def starts(self) -> list[Piece]:
        """The start tag of each element."""
        return [part for part in self.parts if part.is_start]

    @cached_property
    def ends(self) -> list[Piece]:
        """The end tag of each element; of one without, the nothing after its only tag."""
        closing = {part.element: part for part in self.parts if part.kind == "close"}
        return [
            closing.get(part.element, Piece("close", part.end, part.end, part.element))
            for part in self.starts
        ]

    @cached_property
    def parents(self) -> list[int]:
        """The number of each element's parent; -1 for the root."""
        numbers = {element: number for number, element in enumerate(self.elements)}
        return [numbers.get(element.getparent(), -1) for element in self.elements]

    @cached_property
    def positions(self) -> list[int]:
        """The number of each element among its siblings of the same name."""
        counts = Counter[tuple[Any, str]]()
        out = []
        for element in self.elements:
            key = (element.getparent(), element.tag)
            counts[key] += 1
            out.append(counts[key])
        return out

    def kind(self, part: Piece) -> int:
        """The kind of a leaf, as the node table has it."""
        if part.kind == "text":
            return NodeKind.REFERENCES if re.search(rb"[&\r]", self.text(part)) else NodeKind.TEXT
        return {"cdata": NodeKind.CDATA, "comment": NodeKind.COMMENT, "pi": NodeKind.PI}[part.kind]

    def path(self, number: int) -> str:
        """The names as written from the root down to the parent of an element."""
        above = list(self.elements[number].iterancestors())[::-1]
        return "".join(f"/{written(element)}" for element in above)

    def written_attribute(self, number: int, name: str) -> str:
        """An attribute of an element, as the tag has it."""
        wanted = etree.QName(name)
        namespaces = {**self.elements[number].nsmap, "xml": XML_NAMESPACE}
        tag = self.decode(self.text(self.starts[number]))
        for found in re.findall(r"""\s([^\s=]+)\s*=\s*(?:"[^"]*"|'[^']*')""", tag):
            prefix, _, local = found.rpartition(":")
            uri = namespaces.get(prefix) if prefix else None
            if (uri, local) == (wanted.namespace, wanted.localname):
                return str(found)
        return str(wanted.localname)  # a default from the internal subset


def written(element: Any) -> str:
    """The name of an element as written."""
    local = etree.QName(element).localname
    return f"{element.prefix}:{local}" if element.prefix else str(local)


def expanded(name: Any) -> tuple[str, str]:
    """Namespace URI and local part of a name, as `Automaton.symbol` takes them."""
    qname = etree.QName(name)
    return qname.namespace or "", qname.localname
