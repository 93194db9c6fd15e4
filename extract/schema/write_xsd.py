"""An inferred schema as XSD 1.0: one file for each namespace, which import each other.

Only document elements are declared globally, so that no other element can start a document. All
others are local elements with a named type; a child of another namespace than its parent's comes
from a named group in its namespace's file, which holds the one local element. ``xsi:type`` is
blocked: a derived type would allow what no document showed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.sax.saxutils import quoteattr

from extract.errors import SchemaError
from extract.schema.infer import InferredChild, InferredElement, InferredSchema
from extract.schema.model import XML_NAMESPACE, XSI_NAMESPACE, Text, local_of, namespace_of
from extract.schema.places import is_sayable
from extract.schema.roots import root_instruction

_XSD: Final = "http://www.w3.org/2001/XMLSchema"
_NIL: Final = f"{{{XSI_NAMESPACE}}}nil"
_TYPE: Final = f"{{{XSI_NAMESPACE}}}type"
_STRING: Final = "xs:string"
_WRITE_DTD: Final = "write a .dtd instead, or let the commands infer the schema themselves"


def xsd_texts(inferred: InferredSchema, name: str) -> dict[str, str]:
    """The text of each file by its name, that of the main one first.

    Args:
        inferred: The schema.
        name: That of the main file; the names of the others begin like it.

    Raises:
        SchemaError: XSD cannot say what the documents showed.
    """
    _check(inferred)
    files = _files(inferred, name)
    return {file.name: "".join(_Writer(inferred, files, file).lines()) for file in files.values()}


def _check(inferred: InferredSchema) -> None:
    """Refuses what XSD, or libxml2's reading of it, has no way to say."""
    for name, element in inferred.elements.items():
        attributes = [attribute for attribute, _ in element.attributes]
        for one in (name, *attributes):
            if not is_sayable(one):
                raise SchemaError(f"XSD cannot declare the name {one}", _WRITE_DTD)
        if _TYPE in attributes:
            reason = f"elements {name} have xsi:type, and no document shows the types it names"
            raise SchemaError(reason, _WRITE_DTD)


@dataclass(frozen=True, slots=True)
class _File:
    """The file for a namespace.

    Attributes:
        namespace: Its URI, empty for no namespace.
        name: The file's name.
        prefix: The prefix for its names in all files; empty for no namespace.
        elements: Names of the elements in this namespace.
        attributes: Names of the attributes in this namespace.
    """

    namespace: str
    name: str
    prefix: str
    elements: tuple[str, ...]
    attributes: tuple[str, ...]


def _files(inferred: InferredSchema, main: str) -> dict[str, _File]:
    """The files by their namespace, that of the first document element first."""
    attributes: dict[str, dict[str, None]] = {}
    for element in inferred.elements.values():
        for name, _ in element.attributes:
            if namespace_of(name) not in ("", XSI_NAMESPACE):
                attributes.setdefault(namespace_of(name), {})[name] = None
    elements: dict[str, list[str]] = {}
    for name in inferred.elements:
        elements.setdefault(namespace_of(name), []).append(name)
    prefixes = {uri: prefix for prefix, uri in inferred.prefixes.items()}
    prefixes = {uri: "xs_" if prefix == "xs" else prefix for uri, prefix in prefixes.items()}
    prefixes |= {"": "", XML_NAMESPACE: "xml"}
    prefixes.setdefault(XSI_NAMESPACE, "xsi")
    files = {}
    for number, uri in enumerate(dict.fromkeys([*elements, *attributes])):
        label = prefixes[uri] or "unqualified"
        files[uri] = _File(
            uri,
            f"{Path(main).stem}-{label}.xsd" if number else main,
            prefixes[uri],
            tuple(elements.get(uri, ())),
            tuple(attributes.get(uri, ())),
        )
    return files


class _Writer:
    """Writes one file."""

    def __init__(self, inferred: InferredSchema, files: Mapping[str, _File], file: _File) -> None:
        self._inferred = inferred
        self._files = files
        self._file = file
        self._main = next(iter(files.values())) is file

    def lines(self) -> Iterator[str]:
        """The lines of the file, each with its line end."""
        file = self._file
        own = [self._inferred.elements[name] for name in file.elements]
        yield '<?xml version="1.0" encoding="UTF-8"?>\n'
        if self._main:
            yield f"<!-- {str(self._inferred).replace('--', '- -')} -->\n"
            yield from map(root_instruction, self._inferred.roots)
        yield from self._head(own)
        for element in own:
            if element.name in self._inferred.roots:
                yield f"  {self._element(element, '')}\n"
        for name in file.attributes:
            yield f'  <xs:attribute name="{local_of(name)}" type="{_STRING}"/>\n'
        foreign = self._used_elsewhere()
        for element in own:
            if element.name in foreign:
                yield f'  <xs:group name="{local_of(element.name)}">\n    <xs:sequence>\n'
                yield f"      {self._element(element, '')}\n    </xs:sequence>\n  </xs:group>\n"
            if not _is_string(element):
                yield from self._type(element)
        yield "</xs:schema>\n"

    def _head(self, own: Iterable[InferredElement]) -> Iterator[str]:
        """The start tag, and an import of each other namespace that is used here."""
        used = {namespace_of(child.name) for element in own for child in element.children}
        used |= {namespace_of(name) for element in own for name, _ in _declared(element) if name}
        if self._main:  # whatever starts a document is found from here
            used |= {namespace_of(root) for root in self._inferred.roots}
        others = [
            file
            for uri, file in self._files.items()
            if file is not self._file and (uri in used or self._main)
        ]
        yield f'<xs:schema xmlns:xs="{_XSD}"'
        for each in (self._file, *others):
            if each.prefix and each.namespace != XML_NAMESPACE:
                yield f"\n    xmlns:{each.prefix}={quoteattr(each.namespace)}"
        if self._file.namespace:
            yield f"\n    targetNamespace={quoteattr(self._file.namespace)}"
        yield '\n    elementFormDefault="qualified" blockDefault="#all">\n'
        for other in others:
            namespace = f" namespace={quoteattr(other.namespace)}" if other.namespace else ""
            yield f"  <xs:import{namespace} schemaLocation={quoteattr(other.name)}/>\n"

    def _used_elsewhere(self) -> set[str]:
        """The elements of this file that are children in other namespaces."""
        return {
            child.name
            for element in self._inferred.elements.values()
            for child in element.children
            if namespace_of(element.name) != namespace_of(child.name)
        }

    def _element(self, element: InferredElement, occurs: str) -> str:
        """The declaration of an element of this file's namespace."""
        type_ = _STRING if _is_string(element) else self._reference(element.name)
        nillable = ' nillable="true"' if any(n == _NIL for n, _ in element.attributes) else ""
        name = local_of(element.name)
        return f'<xs:element name="{name}" type="{type_}"{nillable}{occurs}/>'

    def _reference(self, name: str) -> str:
        """How a declaration of any file is named here."""
        prefix = self._files[namespace_of(name)].prefix
        return f"{prefix}:{local_of(name)}" if prefix else local_of(name)

    def _type(self, element: InferredElement) -> Iterator[str]:
        name = local_of(element.name)
        if element.text is Text.ANY and not element.children:
            yield f'  <xs:complexType name="{name}">\n    <xs:simpleContent>\n'
            yield f'      <xs:extension base="{_STRING}">\n'
            yield from (f"        {line}" for line in self._attributes(element))
            yield "      </xs:extension>\n    </xs:simpleContent>\n  </xs:complexType>\n"
            return
        mixed = ' mixed="true"' if element.text is Text.ANY else ""
        yield f'  <xs:complexType name="{name}"{mixed}>\n'
        if element.children:
            loose = "" if element.ordered else ' minOccurs="0" maxOccurs="unbounded"'
            kind = "sequence" if element.ordered else "choice"
            yield f"    <xs:{kind}{loose}>\n"
            for child in element.children:
                yield f"      {self._child(child, element.ordered)}\n"
            yield f"    </xs:{kind}>\n"
        yield from (f"    {line}" for line in self._attributes(element))
        yield "  </xs:complexType>\n"

    def _child(self, child: InferredChild, ordered: bool) -> str:
        occurs = "" if child.required or not ordered else ' minOccurs="0"'
        occurs += ' maxOccurs="unbounded"' if child.repeated and ordered else ""
        if child.name in self._inferred.roots:
            return f'<xs:element ref="{self._reference(child.name)}"{occurs}/>'
        if namespace_of(child.name) != self._file.namespace:
            return f'<xs:group ref="{self._reference(child.name)}"{occurs}/>'
        return self._element(self._inferred.elements[child.name], occurs)

    def _attributes(self, element: InferredElement) -> Iterator[str]:
        for name, required in _declared(element):
            use = ' use="required"' if required else ""
            if namespace_of(name):
                yield f'<xs:attribute ref="{self._reference(name)}"{use}/>\n'
            else:
                yield f'<xs:attribute name="{name}" type="{_STRING}"{use}/>\n'


def _declared(element: InferredElement) -> Iterator[tuple[str, bool]]:
    """The attributes to declare: those of ``xsi:`` may be on every element anyway."""
    return ((n, here) for n, here in element.attributes if namespace_of(n) != XSI_NAMESPACE)


def _is_string(element: InferredElement) -> bool:
    """Whether an element has text and nothing else."""
    return element.text is Text.ANY and not element.children and not any(_declared(element))
