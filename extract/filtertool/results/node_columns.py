"""What is reported of nodes: kind, name, span, unique path and value, in columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import pyarrow as pa
from lxml import etree

COLUMNS: Final = pa.schema(
    [
        ("node", pa.string()),
        ("name", pa.large_string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("path", pa.large_string()),
        ("value", pa.large_string()),
    ]
)


class AtomicValue(NamedTuple):
    """A value of XPath 2.0 or later, of which there are more kinds than rows know.

    Attributes:
        kind: ``number``, ``string`` or ``boolean``, as rows have it.
        text: As ``string()`` writes it.
        counts: Whether it is true, not zero and not empty.
    """

    kind: str
    text: str
    counts: bool


class DescribedLists(NamedTuple):
    """Descriptions as lists, for those who go from one to the next."""

    node: list[str]
    name: list[str | None]
    start: list[int | None]
    end: list[int | None]
    path: list[str | None]
    value: list[str | None]


class Described:
    """Nodes and values as columns, as in the rows of the contract; None is unknown.

    Args:
        table: Those to begin with.
    """

    def __init__(self, table: Any = None) -> None:
        self._batches: list[Any] = [] if table is None else list(table.to_batches())
        self._count = 0 if table is None else table.num_rows
        self._fresh = DescribedLists([], [], [], [], [], [])

    def add(
        self,
        node: str,
        name: str | None,
        start: int | None,
        end: int | None,
        path: str | None,
        value: str | None,
    ) -> None:
        """Adds a node."""
        fresh = self._fresh
        fresh.node.append(node)
        fresh.name.append(name)
        fresh.start.append(start)
        fresh.end.append(end)
        fresh.path.append(path)
        fresh.value.append(value)

    def add_value(self, value: float | str | bool | AtomicValue, most: int | None) -> None:
        """Adds the value of an expression that is no node set.

        Args:
            value: The value.
            most: How many bytes it may have.
        """
        if isinstance(value, AtomicValue):
            self.add(value.kind, None, None, None, None, limited(value.text, most))
            return
        kind = "boolean" if isinstance(value, bool) else "string"
        kind = "number" if isinstance(value, float) else kind
        self.add(kind, None, None, None, None, limited(written(value), most))

    def add_batch(self, batch: Any) -> None:
        """Adds a record batch with `COLUMNS`."""
        self._flush()
        self._batches.append(batch)
        self._count += batch.num_rows

    def extend(self, others: Described) -> None:
        """Adds all of some others."""
        for batch in others.table.to_batches():
            self.add_batch(batch)

    @property
    def table(self) -> Any:
        """All of them, as an Arrow table."""
        self._flush()
        return pa.Table.from_batches(self._batches, COLUMNS).combine_chunks()

    def lists(self) -> DescribedLists:
        """All of them, as lists."""
        return DescribedLists(*[column.to_pylist() for column in self.table.columns])

    def __len__(self) -> int:
        return self._count + len(self._fresh.node)

    def __reduce__(self) -> tuple[Callable[..., Described], tuple[Any, ...]]:
        return Described, (self.table,)

    def _flush(self) -> None:
        if self._fresh.node:
            columns = [pa.array(c, f.type) for c, f in zip(self._fresh, COLUMNS, strict=True)]
            self._batches.append(pa.RecordBatch.from_arrays(columns, schema=COLUMNS))
            self._count += len(self._fresh.node)
            self._fresh = DescribedLists([], [], [], [], [], [])


def written(value: float | str | bool) -> str:
    """A value as XPath's ``string()`` writes it.

    >>> written(True), written(3.0), written(float("nan")), written(1 / 3), written("x")
    ('true', '3', 'NaN', '0.333333333333333', 'x')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    return str(_AS_STRING(_NOTHING, x=value))


_AS_STRING: Final = etree.XPath("string($x)")
_NOTHING: Final = etree.Element("nothing")


def limited(value: str, most: int | None) -> str | None:
    """The value, or None if it has too many bytes."""
    if most is None or len(value) <= most // 4:
        return value
    return value if len(value.encode()) <= most else None


def standalone(element: object) -> str:
    """An element of a tree as XML that stands alone."""
    return str(etree.tostring(element, encoding="unicode", with_tail=False))
