"""What a FLWR query makes of a document, said by libxml2 with the query's variables bound.

It shares nothing with the package: a query comes as the parts that the generator put together, its
expressions are evaluated as they are written, and the result is written here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from lxml import etree

from tests.support.generate.flwr_queries import Braces, Comment, Element, Flwr, Key, Text

_CATCH = "urn:x-catch"
_STRING = etree.XPath("string()", smart_strings=False)
_NAME = re.compile(r"<[^\s/>]+")


class NotMade(Exception):
    """A result that is an error: an attribute after content, or twice."""


class NotKnown(Exception):
    """A result of which this oracle says nothing."""


def made_of(query: Flwr, tree: Any, namespaces: Mapping[str, str]) -> str | None:
    """What a query makes of a document; None if no binding passes.

    Raises:
        NotMade: It is an error.
        NotKnown: Nodes are bound that are no elements, or attributes with prefixes are copied.
    """
    return _Evaluation(query, tree, namespaces).result()


class _Evaluation:
    """One query on one document."""

    def __init__(self, query: Flwr, tree: Any, namespaces: Mapping[str, str]) -> None:
        self._query = query
        self._tree = tree
        self._namespaces = {**namespaces, "x-catch": _CATCH}

    def result(self) -> str | None:
        query = self._query
        bound = []
        for node in self._value(query.path, {}, {}):
            if isinstance(node, str) or not isinstance(node.tag, str):
                raise NotKnown
            variables, written = self._let(node)
            if not query.where or self._value(f"boolean({query.where})", variables, written):
                bound.append((variables, written))
        if not bound:
            return None
        for key in reversed(query.order):
            bound.sort(key=lambda one: self._key(key, *one), reverse=key.descending)
        made = "".join(self._element(query.result, "", *one) for one in bound)
        if query.frame is None:
            return made
        before, behind = query.frame
        return f"<out>{escape(before.value)}{made}{escape(behind.value)}</out>"

    # -- expressions

    def _let(self, node: Any) -> tuple[dict[str, Any], dict[str, str]]:
        """The variables of a binding; those that lxml cannot bind are written out."""
        variables: dict[str, Any] = {"s": [node]}
        written: dict[str, str] = {}
        for name, xpath in self._query.lets:
            value = self._value(xpath, variables, written)
            if isinstance(value, list) and (
                any(isinstance(one, str) for one in value)
                or self._value(f"count({xpath})", variables, written) != len(value)
            ):  # lxml binds neither strings nor the document node, which it leaves out
                written[name] = f"({_replaced(xpath, written)})"
            else:
                variables[name] = value
        return variables, written

    def _value(self, xpath: str, variables: dict[str, Any], written: dict[str, str]) -> Any:
        """The value of an expression at the document node."""
        caught: list[Any] = []

        def catch(_: object, value: Any) -> bool:
            caught.append(value)
            return False

        compiled = etree.XPath(
            f"/self::node()[x-catch:catch({_replaced(xpath, written)})]",
            namespaces=self._namespaces,
            extensions={(_CATCH, "catch"): catch},
        )
        compiled(self._tree, **variables)
        (value,) = caught
        return value

    def _key(self, key: Key, variables: dict[str, Any], written: dict[str, str]) -> Any:
        value = self._value(key.xpath, variables, written)
        if key.is_number:
            return (0, 0.0) if math.isnan(value) else (1, value)
        if isinstance(value, list):
            return (1, _string(value[0])) if value else (0, "")
        return 1, value

    # -- constructors

    def _text(self, part: Text | Braces, variables: dict[str, Any], written: dict[str, str]) -> str:
        if isinstance(part, Text):
            return part.value
        value = self._value(part.xpath, variables, written)
        if isinstance(value, list):
            return " ".join(map(_string, value))
        return str(self._value(f"string({part.xpath})", variables, written))

    def _element(
        self, element: Element, default: str, variables: dict[str, Any], written: dict[str, str]
    ) -> str:
        default = element.namespaces.get("", default)
        tag, content, names = f"<{element.name}", "", set[str]()
        for prefix, uri in element.namespaces.items():
            tag += f' xmlns{":" if prefix else ""}{prefix}="{uri}"'
        for name, parts in element.attributes:
            names.add(name)
            value = "".join(self._text(part, variables, written) for part in parts)
            tag += f" {name}={_quoted(value)}"
        for part in element.content:
            if isinstance(part, Comment):
                content += part.written
            elif isinstance(part, Element):
                content += self._element(part, default, variables, written)
            elif isinstance(part, Text):
                content += _escaped(part.value)
            else:
                value = self._value(part.xpath, variables, written)
                if not isinstance(value, list):
                    content += _escaped(self._text(part, variables, written))
                    continue
                for node in value:
                    if isinstance(node, str) and node.is_attribute:  # type: ignore[attr-defined]
                        name = node.attrname  # type: ignore[attr-defined]
                        if content or name in names:
                            raise NotMade
                        if name.startswith("{"):
                            raise NotKnown
                        names.add(name)
                        tag += f" {name}={_quoted(node)}"
                    else:
                        content += _copy(node, default)
        return f"{tag}>{content}</{element.name}>"


def _replaced(xpath: str, written: Mapping[str, str]) -> str:
    return re.sub(r"\$(\w+)", lambda name: written.get(name[1], name[0]), xpath)


def _string(node: Any) -> str:
    if isinstance(node, str):
        return str(node)
    return str(_STRING(node)) if isinstance(node.tag, str) else node.text or ""


def _escaped(value: str) -> str:
    return escape(value, {"\r": "&#13;"})


def _quoted(value: str) -> str:
    return quoteattr(value, {"\r": "&#13;"})


def _copy(node: Any, default: str) -> str:
    if isinstance(node, str):
        return _escaped(node)
    xml: str = etree.tostring(node, encoding="unicode", with_tail=False)
    if default and isinstance(node.tag, str) and None not in node.nsmap:
        tag = _NAME.match(xml)
        assert tag is not None
        return f'{tag[0]} xmlns=""{xml[tag.end() :]}'
    return xml
