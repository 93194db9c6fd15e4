"""elementpath: XPath in Python, on lxml's trees."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import elementpath
from lxml import etree

from extract.bench.experiments.rivals.rival import Rival

# Else it asks the system for a locale, which may not be there.
_BY_CODE_POINT = "http://www.w3.org/2005/xpath-functions/collation/codepoint"


class Elementpath(Rival):
    """XPath in Python. Its XPath 2.0 parser in the mode compatible with XPath 1.0 takes most."""

    name = "elementpath"
    how = "one compiled selector a query, in Python"

    def __init__(self, namespaces: Mapping[str, str]) -> None:
        super().__init__(namespaces)
        self.version = version("elementpath")

    def parse(self, document: bytes) -> Any:
        """lxml's tree, with elementpath's nodes around it."""
        return elementpath.get_node_tree(etree.fromstring(document).getroottree())

    def compile(self, xpath: str) -> Any:
        """Compiled, such that it counts."""
        return self._token(f"count({xpath})")

    def count(self, document: Any, query: Any) -> int:
        """How many nodes it selects."""
        return int(query.evaluate(elementpath.XPathContext(document)))

    def values(self, document: Any, xpath: str) -> list[str]:
        """Their string values."""
        result = self._token(xpath).select(elementpath.XPathContext(document))
        return [one.string_value for one in result]

    def _token(self, xpath: str) -> Any:
        parser = elementpath.XPath2Parser(
            namespaces=self.namespaces, compatibility_mode=True, default_collation=_BY_CODE_POINT
        )
        return parser.parse(xpath)
