"""The names of constructors: what their prefixes mean."""

from __future__ import annotations

from collections.abc import Mapping

from extract.errors import QuerySyntaxError
from extract.flwr.ast import Content, ElementConstructor, Loop
from extract.xpath.check import unbound_prefix
from extract.xpath.mentions import Mention
from extract.xpath.names import XML_NAMESPACE


def check_names(content: Content, namespaces: Mapping[str, str], text: str) -> None:
    """Checks the names of constructors.

    Args:
        content: A constructor, or what is in one.
        namespaces: Prefix to namespace URI, where the constructor stands.
        text: The query.

    Raises:
        QuerySyntaxError: A prefix is not bound, or an element has one attribute twice.
    """
    if isinstance(content, Loop):
        check_names(content.result, namespaces, text)
    elif isinstance(content, ElementConstructor):
        inside = {**namespaces, **dict(content.namespaces)}
        expanded_name(content.name, inside, text, content.offset)
        names: set[tuple[str, str]] = set()
        for attribute in content.attributes:
            name = expanded_name(attribute.name, {**inside, "": ""}, text, attribute.offset)
            if name in names:
                reason = f"the attribute {attribute.name} is there twice, with another prefix"
                raise QuerySyntaxError(reason, xpath=text, offset=attribute.offset)
            names.add(name)
        for inner in content.content:
            check_names(inner, inside, text)


def expanded_name(
    name: str, namespaces: Mapping[str, str], text: str = "", offset: int = -1
) -> tuple[str, str]:
    """The namespace and the local part of a name.

    Raises:
        QuerySyntaxError: Its prefix is not bound.
    """
    prefix, _, local = name.rpartition(":")
    if prefix == "xml":
        return XML_NAMESPACE, local
    if prefix and prefix not in namespaces:
        raise unbound_prefix(text, Mention(offset, prefix, local))
    return namespaces.get(prefix, ""), local
