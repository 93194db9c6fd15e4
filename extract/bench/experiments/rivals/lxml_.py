"""lxml: one compiled XPath for each query."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from lxml import etree

from extract.bench.experiments.rivals.rival import Rival
from extract.markup.lxml_parser import parse_tree


class Lxml(Rival):
    """libxml2 through lxml: what most people have at hand, and our oracle."""

    name = "lxml"
    how = "one compiled XPath a query"
    judge = True

    def __init__(self, namespaces: Mapping[str, str]) -> None:
        super().__init__(namespaces)
        self.version = version("lxml")

    def parse(self, document: bytes) -> Any:
        """A tree."""
        return parse_tree(document)

    def compile(self, xpath: str) -> Any:
        """Compiled, such that it counts."""
        return etree.XPath(f"count({xpath})", namespaces=self.namespaces)

    def count(self, document: Any, query: Any) -> int:
        """How many nodes it selects."""
        return int(query(document))

    def values(self, document: Any, xpath: str) -> list[str]:
        """Their string values."""
        string = etree.XPath("string()")
        result = etree.XPath(xpath, namespaces=self.namespaces)(document)
        return [str(one) if isinstance(one, str) else string(one) for one in result]
