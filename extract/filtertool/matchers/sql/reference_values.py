"""`table()` for libxml2: where nodes of matching documents are selected, not only found.

The database has found which documents match. To select nodes in them, libxml2 evaluates the query,
and asks this function for the values of a column: of all these, only those that the documents have.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Set
from typing import Any

from lxml import etree

from extract.xpath.reference_tables import TABLE, TableColumn

_known: dict[TableColumn, list[Any]] = {}


def _values(_: Any, table: str, column: str) -> list[Any]:
    found = _known.get(TableColumn(str(table), str(column)))
    if found is None:
        raise ValueError(f"only a database knows the table {table}")
    return found


@contextlib.contextmanager
def reference_values(values: Mapping[TableColumn, Set[str]]) -> Iterator[None]:
    """Lets queries evaluate ``table()``, for one thread at a time.

    Args:
        values: For each column those of its values that documents have.
    """
    if not values:
        yield
        return
    etree.FunctionNamespace(None)[TABLE] = _values
    _known.update({column: [_element(one) for one in found] for column, found in values.items()})
    try:
        yield
    finally:
        _known.clear()


def _element(value: str) -> Any:
    element = etree.Element("value")
    element.text = value
    return element
