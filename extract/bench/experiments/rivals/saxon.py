"""SaxonC: the other great XPath engine, as a library for Python."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from extract.bench.experiments.rivals.rival import Absent, Rival


class SaxonC(Rival):
    """Saxon's XPath 3.1 in the mode that is compatible with XPath 1.0; queries are cached."""

    name = "SaxonC"
    how = "one cached XPath a query, compatible with XPath 1.0"

    def __init__(self, namespaces: Mapping[str, str]) -> None:
        super().__init__(namespaces)
        try:
            from saxonche import PySaxonProcessor
        except ImportError:
            raise Absent("pip install saxonche") from None
        self._saxon = PySaxonProcessor(license=False)
        self.version = f"{version('saxonche')} (HE)"
        self._xpath = self._saxon.new_xpath_processor()
        self._xpath.set_backwards_compatible(True)
        self._xpath.set_caching(True)
        for prefix, uri in self.namespaces.items():
            self._xpath.declare_namespace(prefix, uri)
        self._document: Any = None

    def parse(self, document: bytes) -> Any:
        """A tree of Saxon's."""
        return self._saxon.parse_xml(xml_text=document.decode("utf-8"))

    def compile(self, xpath: str) -> Any:
        """Nothing yet: Saxon compiles when it is first asked, and remembers."""
        return f"count({xpath})"

    def count(self, document: Any, query: Any) -> int:
        """How many nodes it selects."""
        return int(self._evaluate(document, query).head.string_value)

    def values(self, document: Any, xpath: str) -> list[str]:
        """Their string values."""
        result = self._evaluate(document, xpath)
        if result is None:
            return []
        return [result.item_at(n).string_value for n in range(result.size)]

    def _evaluate(self, document: Any, xpath: str) -> Any:
        if document is not self._document:
            self._xpath.set_context(xdm_item=document)
            self._document = document
        return self._xpath.evaluate(xpath)
