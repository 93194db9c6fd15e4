"""libxml2 as a parser of documents, with the one set of options that all answers are defined by."""

from __future__ import annotations

from typing import Any, Final

from lxml import etree

_OPTIONS: Final = {"resolve_entities": "internal", "no_network": True, "huge_tree": True}


def make_parser(target: object = None, encoding: str | None = None) -> Any:
    """Returns a parser for one document.

    Args:
        target: What takes the parser's events in place of a tree.
        encoding: That of the bytes, where they are not as the document itself says.
    """
    return etree.XMLParser(target=target, encoding=encoding, **_OPTIONS)


def parse_tree(xml: bytes) -> Any:
    """Returns a document as lxml's tree.

    Raises:
        etree.XMLSyntaxError: It is not well-formed.
    """
    return etree.fromstring(xml, make_parser()).getroottree()
