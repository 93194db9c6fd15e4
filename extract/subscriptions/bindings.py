"""Prefix bindings: what ``--ns p=uri``, ``#! ns p=uri`` and ``"namespaces"`` have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from extract.schema.model import XML_NAMESPACE
from extract.xpath.names import NCNAME

Bindings: TypeAlias = Mapping[str, str] | Sequence[Mapping[str, str]]
"""What the prefixes of many queries stand for: the same for all, or for each its own."""


def bindings_of(bindings: Bindings, position: int) -> Mapping[str, str]:
    """What the prefixes of one of many queries stand for."""
    return bindings if isinstance(bindings, Mapping) else bindings[position]


def parse_binding(text: str) -> tuple[str, str]:
    """Reads ``prefix=uri``.

    >>> parse_binding("po=urn:example:orders?v=1")
    ('po', 'urn:example:orders?v=1')

    Raises:
        ValueError: It is no binding, or one that XML does not allow; the message says why.
    """
    prefix, equals, uri = (part.strip() for part in text.partition("="))
    if not equals:
        raise ValueError(f"{text.strip()!r} is not of the form prefix=uri")
    check_bindings({prefix: uri})
    return prefix, uri


def check_bindings(namespaces: Mapping[str, str]) -> None:
    """Makes sure that every prefix can stand for its namespace.

    Raises:
        ValueError: One cannot; the message says why.
    """
    for prefix, uri in namespaces.items():
        if not prefix:
            raise ValueError("the prefix is empty, and XPath 1.0 has no default namespace")
        if not NCNAME.fullmatch(prefix):
            raise ValueError(f"{prefix!r} is no name that XPath can use as a prefix")
        if not uri:
            raise ValueError(f"the namespace URI of {prefix!r} is empty")
        if prefix == "xmlns" or (prefix == "xml" and uri != XML_NAMESPACE):
            raise ValueError(f"the prefix {prefix!r} is reserved by XML")
