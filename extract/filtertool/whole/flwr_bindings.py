"""The nodes that a FLWR query binds, where no XPath selects them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from extract.filtertool.flwr.tree_outputs import TreeOutput
from extract.flwr.query import parse_flwr


class FlwrBindings:
    """A FLWR query; called with a tree, it returns the bound nodes as ``etree.XPath`` would.

    Args:
        flwr: The query.
        namespaces: Prefix to namespace URI.
    """

    def __init__(self, flwr: str, namespaces: Mapping[str, str]) -> None:
        self._query = TreeOutput(parse_flwr(flwr, namespaces))

    def __call__(self, tree: Any) -> list[Any]:
        """Evaluates the query."""
        return self._query.bound(tree)
