"""Namespace contexts: resolves the prefixes of names for the kernel, once for each new context.

A context is the set of all prefix bindings at a place of a document. Contexts have numbers; equal
contexts have equal numbers, so a document that repeats its declarations has few.
"""

from __future__ import annotations

from typing import Final

from lxml import etree

from extract.markup.lxml_parser import parse_tree

XML: Final = "http://www.w3.org/XML/1998/namespace"
_MOST: Final = 20_000  # contexts; documents with more go to the reference scanner
_MOST_PREFIXES: Final = 1_000  # in one context; likewise


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
        self._bindings: list[dict[str, str]] = [{"": "", "xml": XML}]
        self._numbers = {frozenset(self._bindings[0].items()): self.OUTSIDE}

    def declare(self, context: int, declaration: bytes) -> int:
        """Returns the context inside an element with a namespace declaration.

        Args:
            context: The context outside of the element.
            declaration: The attribute as written.

        Returns:
            A context; or `REFUSED` or `FULL`.
        """
        name = declaration.partition(b"=")[0].strip().decode()
        prefix = name.partition(":")[2]
        # Only libxml2 itself knows which URIs it accepts and how it reads them.
        try:
            element = parse_tree(b"<a " + declaration + b"/>").getroot()
        except etree.XMLSyntaxError:
            return self.REFUSED
        bindings = dict(self._bindings[context])
        if prefix != "xml":  # has one fixed binding
            bindings[prefix] = element.nsmap.get(prefix or None, "")
        key = frozenset(bindings.items())
        number = self._numbers.get(key)
        if number is None:
            number = len(self._bindings)
            if number >= _MOST or len(bindings) > _MOST_PREFIXES:
                return self.FULL
            self._numbers[key] = number
            self._bindings.append(bindings)
        return number

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
        uri = self._bindings[context].get(prefix)
        return None if uri is None else (uri, local)

    def uri(self, context: int, prefix: str) -> str:
        """Returns the namespace of a bound prefix; the empty prefix is the default namespace."""
        return self._bindings[context][prefix]
