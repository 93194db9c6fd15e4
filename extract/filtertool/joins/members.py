"""The queries that have one join graph: their windows, and the names of their variables."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Set
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from extract.filtertool.joins.graphs import JoinGraph, NamedGraph
from extract.filtertool.joins.outputs import OutputMaker
from extract.xscl.ast import XsclQuery


@dataclass(frozen=True, slots=True)
class JoinMember:
    """A query.

    Attributes:
        order: Its number among all queries that there ever were.
        id: Its id.
        size: The size of its window.
        since: The clock of the first document that it sees.
        publish: The stream that its outputs go to; empty if there is none.
        timeline: Tells with which others it takes documents for late.
    """

    order: int
    id: str
    size: int
    since: int
    publish: str
    timeline: int = -1


_WIDEST_FIRST: Final = attrgetter("size")


class MemberVariant:
    """Members whose variables have the same names and whose outputs are alike.

    Attributes:
        names: The names of variables, and their indices in the patterns of the graph.
        output: Makes outputs.
    """

    __slots__ = ("_members", "names", "output")

    def __init__(self, named: NamedGraph, query: XsclQuery) -> None:
        self.names = named
        self.output = OutputMaker(query, named)
        self._members: list[JoinMember] = []  # by size, ascending

    def __bool__(self) -> bool:
        return bool(self._members)

    @property
    def widest(self) -> int:
        """The size of the widest window."""
        return self._members[-1].size

    def add(self, member: JoinMember) -> None:
        """Adds a query."""
        insort(self._members, member, key=_WIDEST_FIRST)

    def remove(self, member: JoinMember) -> None:
        """Removes a query."""
        self._members.remove(member)

    def seeing(self, distance: int, clock: int, late: Set[int]) -> list[JoinMember]:
        """Returns the members whose windows have room for a distance.

        Args:
            distance: Between two documents.
            clock: That of the first of them.
            late: The timelines for which one of them is late.
        """
        members: list[JoinMember] = []
        for one in reversed(self._members):
            if one.size < distance:
                break
            if one.since <= clock and one.timeline not in late:
                members.append(one)
        return members


class GraphMembers:
    """All queries with one join graph.

    Attributes:
        graph: The graph.
        streams: The streams of its left and its right side.
        widest: The size of the widest window; -1 if there is no query.
    """

    def __init__(self, graph: JoinGraph, streams: tuple[str, str]) -> None:
        self.graph = graph
        self.streams = streams
        self.widest = -1
        self._variants: dict[object, MemberVariant] = {}

    def __bool__(self) -> bool:
        return bool(self._variants)

    def __iter__(self) -> Iterator[MemberVariant]:
        return iter(self._variants.values())

    def add(self, member: JoinMember, named: NamedGraph, query: XsclQuery) -> None:
        """Adds a query."""
        key = _key(named, query)
        variant = self._variants.get(key)
        if variant is None:
            variant = self._variants[key] = MemberVariant(named, query)
        variant.add(member)
        self.widest = max(self.widest, member.size)

    def remove(self, member: JoinMember, named: NamedGraph, query: XsclQuery) -> None:
        """Removes a query."""
        key = _key(named, query)
        self._variants[key].remove(member)
        if not self._variants[key]:
            del self._variants[key]
        if member.size == self.widest:
            self.widest = max([one.widest for one in self], default=-1)


def _key(named: NamedGraph, query: XsclQuery) -> object:
    namespaces = tuple(sorted(query.namespaces.items())) if query.output is not None else ()
    return named.left, named.right, query.output, namespaces
