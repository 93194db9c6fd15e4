"""Estimates the elements and bytes of a document that a chunk keeps, from statistics.

Sets of paths are integers used as bit sets: bit 0 is the document node, bit ``i + 1`` is row ``i``
    of
the statistics. Rows are in document order, so the paths below a path are one run of bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from extract.preptool.costing.paths import REST
from extract.preptool.footprints.footprint import Pattern
from extract.scheme.model import Chunk, Need
from extract.scheme.statistics import PathCount, Statistics
from extract.xpath.ast import KindTest, LocationPath, Step
from extract.xpath.parser import parse

# Sets, because operations on flags take longer than everything else that is done for a want.
_ALL_BELOW = frozenset(need for need in map(Need, range(16)) if need & (Need.SUBTREE | Need.STRING))
_CHILDREN = frozenset(need for need in map(Need, range(16)) if need & Need.CHILDREN) - _ALL_BELOW
_DOCUMENT = PathCount("", -1, 1, 1, 0, 0, 0, 0)


class PathMarks(NamedTuple):
    """The needs of paths, as bit sets: see `Need`."""

    nodes: int = 0
    children: int = 0
    subtrees: int = 0

    @classmethod
    def together(cls, several: Iterable[PathMarks]) -> PathMarks:
        """Returns the needs of several."""
        nodes = children = subtrees = 0
        for own, below, all_below in several:
            nodes |= own
            children |= below
            subtrees |= all_below
        return cls(nodes, children, subtrees)

    def __or__(self, other: PathMarks) -> PathMarks:
        return PathMarks(
            self.nodes | other.nodes, self.children | other.children, self.subtrees | other.subtrees
        )


@dataclass(frozen=True, slots=True)
class KeptSize:
    """The part of an average document that a chunk keeps.

    Attributes:
        elements: The number of elements.
        size_bytes: The number of bytes.
        at: The number of kept elements by path, for the paths down to whole subtrees.
        whole: The paths whose subtrees are whole.
    """

    elements: float
    size_bytes: float
    at: Mapping[int, float] = field(repr=False)
    whole: int = field(repr=False)


class Estimator:
    """Estimates the sizes of chunks.

    Args:
        statistics: The statistics of documents.
        namespaces: Prefix to namespace URI, for the names in patterns.
    """

    def __init__(self, statistics: Statistics, namespaces: Mapping[str, str]) -> None:
        self.statistics = statistics
        self._namespaces = namespaces
        self._documents = max(1, statistics.documents)
        self.rows = [_DOCUMENT, *statistics.rows]
        self.parents = [-1, *[row.parent + 1 for row in statistics.rows]]
        self.children: list[dict[str, int]] = [{} for _ in self.rows]
        self._child_bits = [0] * len(self.rows)
        self.above = [0] * len(self.rows)  # the paths above each path
        for number in range(1, len(self.rows)):
            parent = self.parents[number]
            self.children[parent][self.rows[number].name] = number
            self._child_bits[parent] |= 1 << number
            self.above[number] = self.above[parent] | 1 << parent
        self._by_name: dict[str, int] = {}
        self._recursive = 0
        for number, row in enumerate(self.rows):
            self._by_name[row.name] = self._by_name.get(row.name, 0) | 1 << number
            self._recursive |= row.recursive << number
        self._steps: dict[tuple[int, Step], int] = {}  # queries share most of their steps
        self._recursive_named: dict[str, list[tuple[int, int]]] = {}
        self._ends = list(range(1, len(self.rows) + 1))
        for number in range(len(self.rows) - 1, 0, -1):
            parent = self.parents[number]
            self._ends[parent] = max(self._ends[parent], self._ends[number])

    @property
    def document_bytes(self) -> float:
        """The size of an average document."""
        return self.statistics.document_bytes / self._documents

    def expanded(self, name: str) -> str:
        """Returns the expanded name of a name as written in a scheme."""
        prefix, colon, local = name.partition(":")
        return f"{{{self._namespaces.get(prefix, '')}}}{local}" if colon else name

    @property
    def roots(self) -> int:
        """The paths of document elements."""
        return self._child_bits[0]

    def path(self, names: Iterable[str]) -> int | None:
        """Returns the path of names as written in a scheme; None if no document has it."""
        number: int | None = 0
        for name in names:
            number = None if number is None else self.child(number, self.expanded(name))
        return number

    def child(self, number: int, name: str) -> int | None:
        """Returns the path one step below, by expanded name; None if no document has it."""
        below = self.children[number].get(name)
        above = number
        while below is None and above > 0:
            row = self.rows[above]
            if row.recursive and row.name in (name, REST):
                return above
            above = self.parents[above]
        return below

    def subtree(self, number: int) -> int:
        """Returns the paths at and below a path."""
        return (1 << self._ends[number]) - (1 << number)

    # -- from patterns to paths

    def marks(self, wants: Iterable[tuple[Pattern, Need]], start: int = 0) -> PathMarks:
        """Returns the paths that wants select, by need.

        Args:
            wants: Patterns with needs.
            start: The path that the patterns start from.
        """
        nodes = children = subtrees = 0
        for pattern, need in wants:
            paths = self.select(pattern, start)
            nodes |= paths
            if need in _ALL_BELOW:
                subtrees |= paths
            elif need in _CHILDREN:
                children |= paths
        return PathMarks(nodes, children, subtrees)

    def select(self, pattern: Pattern, start: int = 0) -> int:
        """Returns the paths that a pattern selects."""
        paths = 1 << start
        for step in pattern:
            reached = self._steps.get((paths, step))
            if reached is None:
                reached = self._steps[paths, step] = self._step(paths, step)
            paths = reached
        return paths

    def _step(self, paths: int, step: Step) -> int:
        if step.axis == "child":
            return self._children(paths, step)
        if step.axis == "self":
            return self._named(paths, step)
        reached = paths if step.axis == "descendant-or-self" else paths & self._recursive
        for number in bits(self._outermost(paths)):
            reached |= self.subtree(number) & ~(1 << number)
        return self._named(reached, step)

    def _children(self, paths: int, step: Step) -> int:
        name = self._name(step)
        reached = paths & self._by_name.get(REST, 0)  # the children of the rest are the rest
        if name is None:
            for number in bits(paths):
                reached |= self._named(self._child_bits[number], step)
            return reached
        for bit, subtree in self._recursive_paths(name):
            if paths & subtree:
                reached |= bit
        if paths & (paths - 1):
            for number in bits(self._by_name.get(name, 0)):
                if paths >> self.parents[number] & 1:
                    reached |= 1 << number
        elif paths:  # one path, as where patterns start
            below = self.children[paths.bit_length() - 1].get(name)
            reached |= 0 if below is None else 1 << below
        return reached

    def _recursive_paths(self, name: str) -> list[tuple[int, int]]:
        """Returns the recursive paths of a name, each with the paths at and below it."""
        pairs = self._recursive_named.get(name)
        if pairs is None:
            numbers = bits(self._by_name.get(name, 0) & self._recursive)
            pairs = [(1 << number, self.subtree(number)) for number in numbers]
            self._recursive_named[name] = pairs
        return pairs

    def _name(self, step: Step) -> str | None:
        """Returns the one expanded name of a step's test; None if the test has several."""
        if isinstance(step.test, KindTest) or step.test.local == "*":
            return None
        test = step.test
        return self.expanded(f"{test.prefix}:{test.local}" if test.prefix else test.local)

    def _named(self, paths: int, step: Step) -> int:
        """Returns the paths that pass a step's test."""
        name = self._name(step)
        if name is not None:
            return paths & self._by_name.get(name, 0)
        if isinstance(step.test, KindTest) or not step.test.prefix:
            return paths & ~1
        start = self.expanded(f"{step.test.prefix}:")
        return sum(1 << n for n in bits(paths) if self.rows[n].name.startswith(start))

    # -- from paths to sizes

    def keep(self, marks: PathMarks) -> KeptSize:
        """Returns the size of the kept part of an average document, with the tags above it."""
        whole = self._outermost(marks.subtrees & ~1)
        inside = 0
        for number in bits(whole):
            inside |= self.subtree(number) & ~(1 << number)
        needed = marks.nodes | marks.children
        for number in bits(marks.children):
            needed |= self._child_bits[number]
        needed &= ~inside
        paths = needed | whole | self.roots
        for number in bits(paths):
            paths |= self.above[number]
        at: dict[int, float] = {}
        carried: dict[int, float] = {}  # by path: elements that must be kept for those below
        elements = size = 0.0
        for number in reversed(bits(paths & ~1)):
            row = self.rows[number]
            all_of_it = float(row.elements)
            if whole >> number & 1:
                kept = all_of_it
                elements += row.subtree_elements
                size += row.subtree_bytes
            else:
                kept = all_of_it if needed >> number & 1 else carried.get(number, 0.0)
                if row.parent < 0:
                    kept = all_of_it  # the document element is in every chunk
                kept = min(kept, all_of_it)
                elements += kept
                own = row.tag_bytes + (row.text_bytes if marks.children >> number & 1 else 0)
                size += own * kept / (all_of_it or 1.0)
            at[number] = kept / self._documents
            parent = self.parents[number]
            carried[parent] = carried.get(parent, 0.0) + kept * row.owners / (all_of_it or 1.0)
        total = self.statistics.document_bytes
        return KeptSize(elements / self._documents, min(size, total) / self._documents, at, whole)

    def _outermost(self, paths: int) -> int:
        """Removes paths that are below another one."""
        outermost, end = 0, 0
        for number in bits(paths):
            if number >= end:
                outermost |= 1 << number
                end = self._ends[number]
        return outermost

    def of_chunk(self, chunk: Chunk) -> KeptSize:
        """Returns the size of a chunk for an average document."""
        if chunk.whole:
            return self.keep(PathMarks(subtrees=self.roots))
        return self.keep(self.marks((_pattern(path), need) for path, need in chunk.wants))


def _pattern(path: str) -> Pattern:
    parsed = parse(path)
    assert isinstance(parsed, LocationPath), path
    return parsed.steps


def bits(numbers: int) -> list[int]:
    """Returns the numbers of the set bits, from the lowest.

    >>> bits(0b1010), bits(0)
    ([1, 3], [])
    """
    if not numbers:
        return []
    text = bin(numbers)[:1:-1]  # arithmetic would copy all bits for each one that is set
    out: list[int] = []
    at = text.find("1")
    while at >= 0:
        out.append(at)
        at = text.find("1", at + 1)
    return out
