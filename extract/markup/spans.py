"""Finds the byte spans of nodes in documents that libxml2 has parsed but no scanner has scanned.

libxml2 has accepted the document, so it is well-formed, but libxml2 reports no offsets. One regular
expression finds every tag, comment and processing instruction. Where the document declares
entities, expat finds them instead, because entities may hold elements; such elements have no span.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple
from xml.parsers import expat

from extract.markup.encodings import Transcoder, Unmappable, find_encoding
from extract.markup.tags import COMMENT, INSIDE_TAG, INSTRUCTION, TAG
from extract.markup.values import OWN_ENTITY

Span = tuple[int, int] | None

_SUBSET: Final = rb"""\[(?:%s|%s|[^\]"'<]|<!|"[^"]*"|'[^']*')*\]\s*""" % (COMMENT, INSTRUCTION)
_BEFORE_SUBSET: Final = rb"""(?:[^<>\["']|"[^"]*"|'[^']*')*?"""
_TOKEN: Final = re.compile(
    rb"<(?:(?P<cdata>!\[CDATA\[.*?\]\]>)|(?P<comment>%s)|(?P<declaration>\?xml\s.*?\?>)|(?P<pi>%s)"
    rb"|(?P<doctype>!DOCTYPE%s(?:%s)?>)|(?P<close>/[^>]*>)|(?P<open>%s>))"
    % (COMMENT[1:], INSTRUCTION[1:], _BEFORE_SUBSET, _SUBSET, INSIDE_TAG),
    re.DOTALL,
)


class NodeSpans(NamedTuple):
    """The byte spans of nodes: start and end, or None for a node from an entity.

    Attributes:
        elements: All elements in document order.
        asides: All comments and processing instructions, in document order.
    """

    elements: list[Span]
    asides: list[Span]


def find_spans(data: bytes) -> NodeSpans | None:
    """Returns the spans of all nodes of a well-formed document; None if expat cannot read it.

    >>> find_spans(b"<a><!--x--><b/></a>")
    NodeSpans(elements=[(0, 19), (11, 15)], asides=[(3, 11)])
    """
    encoding = find_encoding(data[:1024], True)
    if encoding is None or not encoding.codec:
        return None
    transcoder = None
    text = data
    if not encoding.direct:
        transcoder = Transcoder(encoding.codec)
        try:
            text = transcoder.feed(data, ended=True)
        except Unmappable:
            return None
    if b"<!ENTITY" in text and OWN_ENTITY.search(text):
        declared = None if encoding.direct else "utf-8"
        spans = _by_expat(text, declared)
    else:
        spans = _by_tokens(text)
    if spans is None or transcoder is None:
        return spans
    width = len(">".encode(encoding.codec))
    return NodeSpans(
        _back(spans.elements, transcoder, width), _back(spans.asides, transcoder, width)
    )


def _by_tokens(text: bytes) -> NodeSpans:
    elements: list[Span] = []
    asides: list[Span] = []
    stack: list[tuple[int, int]] = []
    for token in _TOKEN.finditer(text):
        kind, (start, end) = token.lastgroup, token.span()
        if kind == "open":
            if text[end - 2] == 0x2F:  # a slash
                elements.append((start, end))
            else:
                stack.append((len(elements), start))
                elements.append(None)
        elif kind == "close":
            row, start = stack.pop()
            elements[row] = (start, end)
        elif kind in ("comment", "pi"):
            asides.append((start, end))
    return NodeSpans(elements, asides)


def _by_expat(text: bytes, encoding: str | None) -> NodeSpans | None:
    parser = expat.ParserCreate(encoding)
    events = _SpanEvents(parser, text)
    parser.StartElementHandler = events.start
    parser.EndElementHandler = events.end
    parser.CommentHandler = lambda _: events.aside(b"-->")
    parser.ProcessingInstructionHandler = lambda *_: events.aside(b"?>")
    parser.StartDoctypeDeclHandler = lambda *_: events.in_doctype(True)
    parser.EndDoctypeDeclHandler = lambda: events.in_doctype(False)
    try:
        parser.Parse(text, True)
    except (expat.ExpatError, LookupError, ValueError):
        return None
    return NodeSpans(events.elements, events.asides)


class _SpanEvents:
    """Handlers for expat's events that record spans."""

    def __init__(self, parser: Any, text: bytes) -> None:
        self.elements: list[Span] = []
        self.asides: list[Span] = []
        self._parser = parser
        self._text = text
        self._stack: list[tuple[int, int]] = []
        self._doctype = False

    def in_doctype(self, inside: bool) -> None:
        self._doctype = inside

    def _here(self) -> int:
        """The offset of the current markup; -1 inside an entity, where expat stands at an ``&``."""
        at = int(self._parser.CurrentByteIndex)
        return at if self._text[at : at + 1] == b"<" else -1

    def start(self, _name: str, _attributes: Any) -> None:
        self._stack.append((len(self.elements), self._here()))
        self.elements.append(None)

    def end(self, _name: str) -> None:
        row, start = self._stack.pop()
        if start < 0:
            return
        tag = TAG.match(self._text, start)
        if tag is not None and not tag[0].endswith(b"/>"):
            tag = TAG.match(self._text, self._parser.CurrentByteIndex)
        if tag is not None:
            self.elements[row] = (start, tag.end())

    def aside(self, ending: bytes) -> None:
        if self._doctype:
            return
        start = self._here()
        end = self._text.find(ending, start)
        self.asides.append((start, end + len(ending)) if start >= 0 else None)


def _back(spans: list[Span], transcoder: Transcoder, width: int) -> list[Span]:
    """Maps spans of the UTF-8 to the original, where a ``>`` has ``width`` bytes."""
    original = transcoder.original
    return [
        None if span is None else (original(span[0]), original(span[1] - 1) + width)
        for span in spans
    ]
