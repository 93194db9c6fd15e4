"""The one set of libxml2 parser options; all answers to queries are defined by it."""

from __future__ import annotations

from typing import Any, Final

from lxml import etree

_OPTIONS: Final = {"resolve_entities": "internal", "no_network": True, "huge_tree": True}


def make_parser(target: object = None, encoding: str | None = None) -> Any:
    """Returns a parser for one document.

    Args:
        target: Receives the parser's events; with it, no tree is built.
        encoding: The encoding of the bytes, where it differs from the document's declaration.
    """
    return etree.XMLParser(target=target, encoding=encoding, **_OPTIONS)


def parse_tree(xml: bytes, parser: Any = None) -> Any:
    """Returns a document as lxml's tree.

    Args:
        xml: The document.
        parser: What `make_parser` has returned, for many small documents one after the other.

    Raises:
        etree.XMLSyntaxError: The document is not well-formed.
    """
    return etree.fromstring(xml, parser or make_parser()).getroottree()
