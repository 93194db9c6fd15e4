"""Namespace contexts: resolves the prefixes of names for the kernel, once for each new context.

A context is what was declared on the way to a place of a document: the context outside, and one
declaration more. Contexts have numbers; a document that repeats its declarations has few. What is
bound in a context is known for one of them at a time: to get to another one, the declarations
between them are taken back and made. Scans go from element to element, so that each declaration of
a document is made and taken back about once, however many there are.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from lxml import etree

from extract.markup.lxml_parser import parse_tree

XML: Final = "http://www.w3.org/XML/1998/namespace"
MOST_CONTEXTS: Final = 1 << 20  # documents with more go to the reference scanner
# Declarations that libxml2 takes as they are written, as nearly all are.
_PLAIN: Final = re.compile(
    rb"""xmlns(?::(?P<prefix>(?!xml)[A-Za-z_][A-Za-z0-9._-]*))?="""
    rb"""(?P<quote>["'])(?!http://www\.w3\.org/(?:XML/1998/namespace|2000/xmlns))"""
    rb"""(?P<uri>[A-Za-z][A-Za-z0-9_-]*|urn:[A-Za-z0-9][A-Za-z0-9._:-]*"""
    rb"""|https?://[A-Za-z0-9][A-Za-z0-9.-]*(?:/[A-Za-z0-9._~-]*)*)(?P=quote)"""
)


class _Context(NamedTuple):
    """A context: the one outside, the number of declarations on the way to it, and the last one."""

    outside: int
    length: int
    prefix: str
    uri: str


class Contexts:
    """The namespace contexts of the documents scanned so far.

    >>> contexts = Contexts()
    >>> inner = contexts.declare(Contexts.OUTSIDE, b"xmlns:p='urn:x'")
    >>> contexts.expand(inner, "p:a"), contexts.expand(inner, "a"), contexts.expand(inner, "q:a")
    (('urn:x', 'a'), ('', 'a'), None)
    >>> contexts.declare(inner, b'xmlns:p="urn:x"') == inner
    True
    >>> contexts.declare(inner, b'xmlns:p=""') == Contexts.REFUSED
    True
    """

    OUTSIDE: Final = 0  # no declarations
    REFUSED: Final = -1  # lxml refuses the declaration
    FULL: Final = -2  # there are too many contexts

    def __init__(self) -> None:
        self._contexts = [_Context(self.OUTSIDE, 0, "xml", XML)]
        self._at = self.OUTSIDE
        self._bound = {"": [""], "xml": [XML]}  # at `_at`; by prefix, the last one holds

    def __len__(self) -> int:
        return len(self._contexts)

    def declare(self, context: int, declaration: bytes) -> int:
        """Returns the context inside an element with a namespace declaration.

        Args:
            context: The context outside of the element.
            declaration: The attribute as written.

        Returns:
            A context; or `REFUSED` or `FULL`.
        """
        plain = _PLAIN.fullmatch(declaration)
        if plain is not None:
            prefix, uri = (plain["prefix"] or b"").decode(), plain["uri"].decode()
        else:
            prefix = declaration.partition(b"=")[0].strip().decode().partition(":")[2]
            # Only libxml2 itself knows which URIs it accepts and how it reads them.
            try:
                element = parse_tree(b"<a " + declaration + b"/>").getroot()
            except etree.XMLSyntaxError:
                return self.REFUSED
            uri = element.nsmap.get(prefix or None, "")
        self._go(context)
        if prefix == "xml" or self._bound.get(prefix, [None])[-1] == uri:
            return context  # the one has a fixed binding, the other one has it already
        if len(self._contexts) >= MOST_CONTEXTS:
            return self.FULL
        length = self._contexts[context].length + 1
        self._contexts.append(_Context(context, length, prefix, uri))
        return len(self._contexts) - 1

    def _go(self, context: int) -> None:
        """Makes `_bound` what is bound in a context."""
        contexts, bound, missing = self._contexts, self._bound, []
        while self._at != context:
            here, there = contexts[self._at], contexts[context]
            if here.length >= there.length:
                uris = bound[here.prefix]
                uris.pop()
                if not uris:
                    del bound[here.prefix]
                self._at = here.outside
            if there.length >= here.length:
                missing.append(context)
                context = there.outside
        for number in reversed(missing):
            bound.setdefault(contexts[number].prefix, []).append(contexts[number].uri)
            self._at = number

    def expand(self, context: int, name: str, attribute: bool = False) -> tuple[str, str] | None:
        """Returns namespace and local name of a name; None if its prefix is not bound.

        Args:
            context: The context of the name.
            name: The name as written.
            attribute: Whether it names an attribute, to which the default namespace does not apply.
        """
        prefix, colon, local = name.rpartition(":")
        if not colon and attribute:
            return "", local
        self._go(context)
        uris = self._bound.get(prefix)
        return None if uris is None else (uris[-1], local)

    def uri(self, context: int, prefix: str) -> str:
        """Returns the namespace of a bound prefix; the empty prefix is the default namespace."""
        self._go(context)
        return self._bound[prefix][-1]
