"""Rows of filters as what notifications say, a few rows at a time.

A table of Arrow is small beside the same rows as Python values. So rows become values only some
thousand at a time, and of the nodes of a query only as many as its notification shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from extract.filtertool.matchers.protocol import Select
from extract.filtertool.processes.sandbox import calls_put_off
from extract.live_filter import Filter

FIELDS: Final = ("node", "name", "start", "end", "ordinal", "path", "value", "text")
_ROWS: Final = 4_096  # that become Python values at a time
# Of expressions that are no nodes, the values of which XPath's boolean() is false.
_FALSE: Final = {"boolean": {"false"}, "number": {"0", "-0", "NaN"}, "string": {""}}


class Said(NamedTuple):
    """What subscribers are told of a document.

    Attributes:
        place: Of the document in its batch.
        keys: Of the subscribers; all are told the same.
        said: What their notifications say.
    """

    place: int
    keys: Sequence[int]
    said: dict[str, Any]


class Shown(NamedTuple):
    """How much a notification shows of the nodes of its query.

    Attributes:
        nodes: How many.
        bytes: Of their values, beyond the first node.
    """

    nodes: int
    bytes: int


def said_rows(select: Select, table: Any, shown: Shown) -> Iterator[Said]:
    """Yields what is told for the rows of a table, in their order."""
    if select == "nodes":
        return said_nodes(table, shown)
    return _said_values(select, table)


def _said_values(select: Select, table: Any) -> Iterator[Said]:
    for part in _parts(table):
        places, keys = _whole_numbers(part, "document"), _whole_numbers(part, "query")
        if select == "doc":
            for place, key in zip(places, keys, strict=True):
                yield Said(place, (key,), {})
            continue
        values = part.column(select).to_pylist()
        for place, key, value in zip(places, keys, values, strict=True):
            yield Said(place, (key,), {select: value})


def said_nodes(table: Any, shown: Shown) -> Iterator[Said]:
    """Yields what is told of nodes; the rows of a document and query follow each other."""
    present: tuple[int, int] | None = None
    nodes: list[dict[str, Any]] = []
    count = room = 0
    for part in _parts(table):
        places, keys = _whole_numbers(part, "document"), _whole_numbers(part, "query")
        columns = [plain(part, name) for name in FIELDS]
        for row, pair in enumerate(zip(places, keys, strict=True)):
            if pair != present:
                if present is not None:
                    yield from _told(present, nodes, count)
                present, nodes, count, room = pair, [], 0, shown.bytes
            count += 1
            if len(nodes) < count - 1 or len(nodes) >= shown.nodes:
                continue  # one before it did not fit
            room -= len(columns[6][row] or "") + len(columns[7][row] or "")
            if room < 0 and nodes:
                continue
            values = [column[row] for column in columns]
            nodes.append(dict(zip(FIELDS, values, strict=True)))
    if present is not None:
        yield from _told(present, nodes, count)


def _told(pair: tuple[int, int], nodes: list[dict[str, Any]], count: int) -> Iterator[Said]:
    if nodes and nodes[0]["value"] in _FALSE.get(nodes[0]["node"], ()):
        return  # a value that is there for every document, and says no
    place, key = pair
    yield Said(place, (key,), said_of(nodes, count))


def said_of(nodes: list[dict[str, Any]], count: int) -> dict[str, Any]:
    """What a notification says of nodes, of which only some may be shown.

    >>> said_of([], 3)
    {'matches': [], 'count': 3, 'truncated': True}
    """
    more = {"truncated": True} if count > len(nodes) else {}
    return {"matches": nodes, "count": count, **more}


def _parts(table: Any) -> Iterator[Any]:
    """A table, some rows at a time."""
    if table.num_rows <= _ROWS:
        yield table
        return
    for start in range(0, table.num_rows, _ROWS):
        yield table.slice(start, _ROWS)


def table_of(used: Filter, batch: Sequence[tuple[str, bytes]], patient: bool) -> Any:
    """The rows of a batch; without patience, no query may take a process of its own."""
    if patient:
        return used.table(batch)
    with calls_put_off():
        return used.table(batch)


def rejections(used: Filter) -> list[dict[str, Any]]:
    """What a filter has rejected in its last call."""
    table = used.rejected
    return table.to_pylist() if table.num_rows else []


def plain(table: Any, name: str) -> list[Any]:
    """A column as Python values."""
    column = table.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.to_pylist()  # type: ignore[no-any-return]


def _whole_numbers(table: Any, name: str) -> list[int]:
    return [int(text) for text in plain(table, name)]


def number_column(table: Any, name: str) -> NDArray[np.int64]:
    """A column of texts that are whole numbers, as numbers; made of few texts, if it has few."""
    column = table.column(name).combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], pa.string())
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    texts = column.dictionary.take(column.indices.unique())
    used = column.indices.unique().to_numpy()
    numbers = np.zeros(len(column.dictionary), np.int64)
    numbers[used] = [int(text) for text in texts.to_pylist()]
    found: NDArray[np.int64] = numbers[column.indices.to_numpy()]
    return found
