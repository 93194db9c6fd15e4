"""What is reported of nodes: kind, name, span, unique path, value and text, in columns.

What the push engine finds are columns in C, shared by the documents of a batch; what others find
are plain lists, or record batches of Arrow if they are many. pyarrow is imported only where
somebody asks for Arrow (`extract.filtertool.results.node_batches`): it takes longer to import than
a small document takes to filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lxml import etree

if TYPE_CHECKING:
    from extract.filtertool.matchers.push._node_columns import NodeColumns

_MANY: Final = 200  # nodes from which on Arrow goes faster from one process to another than lists


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
    """Descriptions as lists, for those who go from one to the next.

    Attributes:
        node: The kind of each, as in `extract.filtertool.results.findings.Match`.
        name, start, end, path, value, text: Likewise.
    """

    node: list[str]
    name: list[str | None]
    start: list[int | None]
    end: list[int | None]
    path: list[str | None]
    value: list[str | None]
    text: list[str | None]

    @classmethod
    def none(cls) -> DescribedLists:
        """Returns empty lists."""
        return cls([], [], [], [], [], [], [])

    def extend(self, others: DescribedLists) -> None:
        """Adds all of some others."""
        columns: Iterable[tuple[list[Any], list[Any]]] = zip(self, others, strict=True)
        for ours, theirs in columns:
            ours.extend(theirs)


class NodeRange(NamedTuple):
    """Some of the nodes in columns that several documents share.

    Attributes:
        columns: The columns.
        first, end: Which nodes these are.
    """

    columns: NodeColumns
    first: int
    end: int

    def lists(self) -> DescribedLists:
        """The nodes as lists."""
        return DescribedLists(*self.columns.lists(self.first, self.end))


Part = DescribedLists | NodeRange | Any  # the last is a record batch


class Described:
    """Nodes and values as columns, as in the rows of the contract; None is unknown.

    Args:
        parts: Those to begin with: lists, ranges, and record batches with the columns of
            `extract.filtertool.results.node_batches.COLUMNS`.

    >>> described = Described()
    >>> described.add_value(2.0, None)
    >>> len(described), described.lists().text
    (1, ['2'])
    """

    def __init__(self, parts: Iterable[Part] = ()) -> None:
        self._parts = list(parts)
        self._count = sum(map(_rows, self._parts))

    def add(
        self,
        node: str,
        name: str | None,
        start: int | None,
        end: int | None,
        path: str | None,
        value: str | None,
        text: str | None,
    ) -> None:
        """Adds a node."""
        lists = self._last_lists()
        lists.node.append(node)
        lists.name.append(name)
        lists.start.append(start)
        lists.end.append(end)
        lists.path.append(path)
        lists.value.append(value)
        lists.text.append(text)
        self._count += 1

    def add_value(self, value: float | str | bool | AtomicValue, most: int | None) -> None:
        """Adds the value of an expression that is no node set.

        Args:
            value: The value.
            most: How many bytes it may have.
        """
        if isinstance(value, AtomicValue):
            kind, text = value.kind, limited(value.text, most)
        else:
            kind = "boolean" if isinstance(value, bool) else "string"
            kind = "number" if isinstance(value, float) else kind
            text = limited(written(value), most)
        self.add(kind, None, None, None, None, text, text)

    def add_lists(self, lists: DescribedLists) -> None:
        """Adds nodes that are in lists of equal length."""
        self._last_lists().extend(lists)
        self._count += len(lists.node)

    def add_batch(self, batch: NodeRange | Any) -> None:
        """Adds a record batch, or a range."""
        self._parts.append(batch)
        self._count += _rows(batch)

    @property
    def range(self) -> NodeRange | None:
        """Where they are, if they are some of the nodes in columns that documents share."""
        one = self._parts[0] if len(self._parts) == 1 else None
        return one if isinstance(one, NodeRange) else None

    def extend(self, others: Described) -> None:
        """Adds all of some others."""
        for part in others._parts:
            if isinstance(part, DescribedLists):
                self.add_lists(part)
            else:
                self.add_batch(part)

    @classmethod
    def together(cls, several: Iterable[Described]) -> Described:
        """Puts descriptions one after the other."""
        joined = cls()
        for one in several:
            joined.extend(one)
        return joined

    @property
    def table(self) -> Any:
        """All of them, as an Arrow table with one chunk."""
        from extract.filtertool.results.node_batches import table_of

        return table_of(self._parts)

    @property
    def nbytes(self) -> int:
        """About how many bytes they take."""
        return sum([_size(part) for part in self._parts])

    def lists(self) -> DescribedLists:
        """All of them, as lists; not to be changed."""
        if len(self._parts) == 1 and isinstance(self._parts[0], DescribedLists):
            return self._parts[0]
        if len(self._parts) == 1 and isinstance(self._parts[0], NodeRange):
            return self._parts[0].lists()
        lists = DescribedLists.none()
        for part in self._parts:
            if isinstance(part, DescribedLists):
                lists.extend(part)
            elif isinstance(part, NodeRange):
                lists.extend(part.lists())
            else:
                lists.extend(DescribedLists(*[column.to_pylist() for column in part.columns]))
        return lists

    def __len__(self) -> int:
        return self._count

    def __reduce__(self) -> tuple[Callable[..., Described], tuple[Any, ...]]:
        if self._count < _MANY:
            parts = [one.lists() if isinstance(one, NodeRange) else one for one in self._parts]
            return Described, (parts,)
        return Described, (self.table.to_batches(),)

    def _last_lists(self) -> DescribedLists:
        last = self._parts[-1] if self._parts else None
        if not isinstance(last, DescribedLists):
            last = DescribedLists.none()
            self._parts.append(last)
        return last


def _rows(part: Part) -> int:
    if isinstance(part, NodeRange):
        return part.end - part.first
    return len(part.node) if isinstance(part, DescribedLists) else int(part.num_rows)


def _size(part: Part) -> int:
    if isinstance(part, NodeRange):
        return part.columns.nbytes * (part.end - part.first) // max(1, len(part.columns))
    if not isinstance(part, DescribedLists):
        return int(part.nbytes)
    texts = (part.name, part.path, part.value, part.text)
    return sum([len(text) for column in texts for text in column if text is not None])


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
