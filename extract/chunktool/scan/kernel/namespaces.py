"""What names of a document mean: namespace contexts, asked for by the kernel when one is new.

A context is what all prefixes are bound to at some place of a document. Contexts have numbers;
equal ones have the same, so that a document that declares the same again and again has few.
"""

from __future__ import annotations

from typing import Final

from lxml import etree

from extract.markup.lxml_parser import parse_tree

XML: Final = "http://www.w3.org/XML/1998/namespace"
_MOST: Final = 20_000  # contexts; a document that needs more goes to another scanner
_MOST_PREFIXES: Final = 1_000  # in one context; the same


class Contexts:
    """The namespace contexts of the documents that were scanned so far.

    >>> contexts = Contexts()
    >>> inner = contexts.declare(Contexts.OUTSIDE, b"xmlns:p='urn:x'")
    >>> contexts.expand(inner, "p:a"), contexts.expand(inner, "a"), contexts.expand(inner, "q:a")
    (('urn:x', 'a'), ('', 'a'), None)
    >>> contexts.declare(inner, b'xmlns:p="urn:x"') == inner
    True
    >>> contexts.declare(inner, b'xmlns:p=""') == Contexts.REFUSED
    True
    """

    OUTSIDE: Final = 0  # where nothing is declared
    REFUSED: Final = -1  # lxml refuses the declaration
    FULL: Final = -2  # there are too many contexts

    def __init__(self) -> None:
        self._bindings: list[dict[str, str]] = [{"": "", "xml": XML}]
        self._numbers = {frozenset(self._bindings[0].items()): self.OUTSIDE}

    def declare(self, context: int, declaration: bytes) -> int:
        """The context inside an element with a namespace declaration.

        Args:
            context: That outside of it.
            declaration: The attribute as it is written.

        Returns:
            A context; or `REFUSED` or `FULL`.
        """
        name = declaration.partition(b"=")[0].strip().decode()
        prefix = name.partition(":")[2]
        # Which URIs libxml2 takes and how it reads them nobody knows better than libxml2.
        try:
            element = parse_tree(b"<a " + declaration + b"/>").getroot()
        except etree.XMLSyntaxError:
            return self.REFUSED
        bindings = dict(self._bindings[context])
        if prefix != "xml":  # which can only be bound to what it is bound to
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
        """Namespace and local name of a name; None if its prefix is bound to nothing.

        Args:
            context: Where the name is.
            name: As it is written.
            attribute: Whether it is one of an attribute: those have no default namespace.
        """
        prefix, colon, local = name.rpartition(":")
        if not colon and attribute:
            return "", local
        uri = self._bindings[context].get(prefix)
        return None if uri is None else (uri, local)

    def uri(self, context: int, prefix: str) -> str:
        """What a prefix that is bound stands for; the empty one for the default namespace."""
        return self._bindings[context][prefix]
