"""Writes the result of a FLWR query as XML, with the namespaces that its names need."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from lxml import etree

from extract.errors import ExtractError
from extract.flwr.ast import ElementConstructor
from extract.flwr.names import expanded_name
from extract.markup.escape import escaped_text, escaped_value
from extract.xpath.names import XML_NAMESPACE

_NAME: Final = re.compile(r"<[^\s/>]+")
_WRITTEN: Final = etree.XPath("name(@*[local-name() = $local and namespace-uri() = $uri])")


class OutputError(ExtractError):
    """A query whose result cannot be made of a document."""


class OutputWriter:
    """Writes elements, and what is in them.

    Args:
        namespaces: Prefix to namespace URI, for the names of constructors.
        most: The longest result, in characters.
        reason: The reason to give for a longer one.
    """

    def __init__(self, namespaces: Mapping[str, str], most: int, reason: str) -> None:
        self._namespaces = [dict(namespaces)]  # what prefixes of constructors mean
        self._scopes: list[dict[str, str]] = [{"": ""}]  # what is declared in the result
        self._names: list[str] = []
        self._parts: list[str] = []
        self._attributes: dict[tuple[str, str], str] | None = None  # of a tag that is open
        self._length, self._most, self._reason = 0, most, reason

    def result(self) -> str:
        """What was written."""
        return "".join(self._parts)

    # -- elements

    def start(self, element: ElementConstructor) -> None:
        """Begins an element; attributes may follow."""
        self._end_tag()
        self._namespaces.append({**self._namespaces[-1], **dict(element.namespaces)})
        self._scopes.append(dict(self._scopes[-1]))
        self._names.append(element.name)
        self._attributes = {}
        self._write(f"<{element.name}")
        for prefix, uri in element.namespaces:
            self._declare(prefix, uri)
        prefix = element.name.rpartition(":")[0]
        uri, _ = expanded_name(element.name, self._namespaces[-1])
        if prefix:
            self._declare(prefix, uri)

    def end(self) -> None:
        """Ends the element."""
        name = self._names.pop()
        if self._attributes is not None:
            self._attributes = None
            self._write("/>")
        else:
            self._write(f"</{name}>")
        self._namespaces.pop()
        self._scopes.pop()

    def constructed(self, name: str, value: str) -> None:
        """Writes an attribute of a constructor."""
        uri, local = expanded_name(name, {**self._namespaces[-1], "": ""})
        self.attribute(uri, local, name.rpartition(":")[0], value)

    def attribute(self, uri: str, local: str, prefix: str, value: str) -> None:
        """Writes an attribute of the element that was just begun.

        Raises:
            OutputError: The element has content, or such an attribute.
        """
        if self._attributes is None:
            raise OutputError(f"the attribute {local} comes after content of <{self._names[-1]}>")
        if (uri, local) in self._attributes:
            raise OutputError(f"<{self._names[-1]}> has the attribute {local} twice")
        self._attributes[uri, local] = value
        name = f"{self._prefix(uri, prefix)}:{local}" if uri else local
        self._write(f' {name}="{escaped_value(value)}"')

    def _prefix(self, uri: str, wanted: str) -> str:
        """A prefix for a namespace, declared here if it is not yet."""
        if uri == XML_NAMESPACE:
            return "xml"
        scope, number = self._scopes[-1], 0
        name = wanted or "ns0"
        while scope.get(name, uri) != uri:
            name = f"ns{number}"
            number += 1
        self._declare(name, uri)
        return name

    def _declare(self, prefix: str, uri: str) -> None:
        if prefix != "xml" and self._scopes[-1].get(prefix) != uri:
            self._scopes[-1][prefix] = uri
            name = f"xmlns:{prefix}" if prefix else "xmlns"
            self._write(f' {name}="{escaped_value(uri)}"')

    # -- content

    def text(self, value: str) -> None:
        """Writes characters."""
        if value:
            self._end_tag()
            self._write(escaped_text(value))

    def markup(self, text: str) -> None:
        """Writes a comment or a processing instruction."""
        self._end_tag()
        self._write(text)

    def copy(self, node: Any) -> None:
        """Copies an element, comment or processing instruction, with the namespaces in scope."""
        self._end_tag()
        xml = etree.tostring(node, encoding="unicode", with_tail=False)
        if isinstance(node.tag, str) and self._scopes[-1][""] and None not in node.nsmap:
            tag = _NAME.match(xml)
            assert tag is not None
            xml = f'{tag[0]} xmlns=""{xml[tag.end() :]}'
        self._write(xml)

    def copies(self, nodes: Iterable[Any]) -> None:
        """Copies nodes of any kind."""
        for node in nodes:
            if not isinstance(node, str):
                self.copy(node)
            elif node.is_attribute:  # type: ignore[attr-defined]
                name = etree.QName(node.attrname)  # type: ignore[attr-defined]
                uri, local = name.namespace or "", name.localname
                # lxml does not say which prefix it has, where several stand for one namespace
                written = _WRITTEN(node.getparent(), local=local, uri=uri)  # type: ignore[attr-defined]
                self.attribute(uri, local, written.rpartition(":")[0], str(node))
            else:
                self.text(str(node))

    def _end_tag(self) -> None:
        if self._attributes is not None:
            self._attributes = None
            self._write(">")

    def _write(self, text: str) -> None:
        self._length += len(text)
        if self._length > self._most:
            raise OutputError(self._reason)
        self._parts.append(text)
