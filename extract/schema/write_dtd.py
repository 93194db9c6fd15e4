"""An inferred schema as a DTD.

A DTD knows names only as they are written. So it can be written where every element, and every
attribute with a namespace, is written with one prefix in all documents, and no two of them are
written alike. Each element declares what its own prefixes stand for, so that the DTD alone tells
the namespace of every name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from extract.errors import SchemaError
from extract.schema.infer import InferredChild, InferredElement, InferredSchema
from extract.schema.model import XML_NAMESPACE, Text, local_of, namespace_of
from extract.schema.roots import root_instruction

_SAFE: Final = re.compile(r"""[^&<"\s]*""")  # libxml2 leaves &#38; in default values as it is
_XML_ID: Final = "xml:id"
_WRITE_XSD: Final = "a DTD knows names only as written; write an .xsd, which knows namespaces"


def dtd_text(inferred: InferredSchema) -> str:
    """The text of the DTD.

    Raises:
        SchemaError: A DTD cannot say what the documents showed.
    """
    return "".join(_Writer(inferred).lines())


class _Writer:
    def __init__(self, inferred: InferredSchema) -> None:
        self._inferred = inferred
        self._elements = _written({n: e.spellings for n, e in inferred.elements.items()})
        self._attributes = _written(inferred.attribute_spellings)
        self._plain = all(  # without any namespaces
            self._namespaces(element) == {"": {""}} for element in inferred.elements.values()
        )

    def lines(self) -> Iterator[str]:
        """The lines of the file, each with its line end."""
        yield '<?xml version="1.0" encoding="UTF-8"?>\n'
        yield f"<!-- {str(self._inferred).replace('--', '- -')} -->\n"
        for root in self._inferred.roots:
            yield root_instruction(self._elements[root])
        for element in self._inferred.elements.values():
            name = self._elements[element.name]
            yield f"\n<!ELEMENT {name} {self._content(element)}>\n"
            attributes = [*self._bindings(element), *self._declared(element)]
            if attributes:
                yield f"<!ATTLIST {name}\n  " + "\n  ".join(attributes) + ">\n"

    def _content(self, element: InferredElement) -> str:
        names = [self._elements[child.name] for child in element.children]
        if element.text is Text.ANY or (names and element.standalone):
            return f"(#PCDATA | {' | '.join(names)})*" if names else "(#PCDATA)"
        if not names:
            return "EMPTY" if element.bare else "(#PCDATA)"  # EMPTY allows no comment either
        if not element.ordered:
            return f"({' | '.join(names)})*"
        parts = zip(names, element.children, strict=True)
        return f"({', '.join(name + _occurs(child) for name, child in parts)})"

    def _namespaces(self, element: InferredElement) -> dict[str, set[str]]:
        """What prefixes stand for: those of the element's own names, and those it declares."""
        own = {self._elements[element.name].rpartition(":")[0]: namespace_of(element.name)}
        for name, _ in element.attributes:
            if namespace_of(name) not in ("", XML_NAMESPACE):
                own[self._attributes[name].rpartition(":")[0]] = namespace_of(name)
        bindings = {prefix: set(uris) for prefix, uris in element.bindings.items()}
        for prefix, uri in own.items():
            bindings.setdefault(prefix, {uri})
        return bindings

    def _bindings(self, element: InferredElement) -> Iterator[str]:
        """The namespace declarations: fixed where all documents have the same."""
        if self._plain:
            return
        for prefix, uris in self._namespaces(element).items():
            name = f"xmlns:{prefix}" if prefix else "xmlns"
            fixed = f"#FIXED {_quoted(min(uris))}" if len(uris) == 1 else "#IMPLIED"
            yield f"{name} CDATA {fixed}"

    def _declared(self, element: InferredElement) -> Iterator[str]:
        for expanded, required in element.attributes:
            name = self._attribute(expanded)
            kind = "ID" if name == _XML_ID else "CDATA"  # libxml2 takes no other
            yield f"{name} {kind} {'#REQUIRED' if required else '#IMPLIED'}"

    def _attribute(self, expanded: str) -> str:
        return self._attributes[expanded] if namespace_of(expanded) else expanded


def _occurs(child: InferredChild) -> str:
    if child.required:
        return "+" if child.repeated else ""
    return "*" if child.repeated else "?"


def _written(spellings: Mapping[str, frozenset[str | None]]) -> dict[str, str]:
    """The one way in which each name is written.

    Raises:
        SchemaError: There are several, or one that two names share.
    """
    written: dict[str, str] = {}
    meant: dict[str, str] = {}
    for name, some in spellings.items():
        if namespace_of(name) == XML_NAMESPACE:
            some = frozenset([f"xml:{local_of(name)}"])
        ways = sorted(one for one in some if one is not None)
        if None in some:
            reason = f"the prefix of {name} is not known: several stand for its namespace"
            raise SchemaError(reason, _WRITE_XSD)
        if len(ways) > 1:
            reason = f"{name} is written with several prefixes: {', '.join(ways[:5])}"
            raise SchemaError(reason, _WRITE_XSD)
        other = meant.setdefault(ways[0], name)
        if other != name:
            raise SchemaError(f"{ways[0]} stands for {other} and for {name}", _WRITE_XSD)
        written[name] = ways[0]
    prefixes: dict[str, str] = {}
    for name, way in written.items():
        prefix = way.rpartition(":")[0]
        if prefix and prefixes.setdefault(prefix, namespace_of(name)) != namespace_of(name):
            reason = f"the prefix {prefix} stands for {prefixes[prefix]} and {namespace_of(name)}"
            raise SchemaError(reason, _WRITE_XSD)
    return written


def _quoted(uri: str) -> str:
    """A namespace as the fixed value of an attribute.

    Raises:
        SchemaError: libxml2 does not read such a value as it is meant.
    """
    if not _SAFE.fullmatch(uri):
        raise SchemaError(f"a DTD cannot fix a prefix to the namespace {uri}", _WRITE_XSD)
    return f'"{uri}"'
