"""What joins in other processes need: queries and options, without any state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from extract.filtertool.joins.edges import EdgeTable
from extract.filtertool.joins.engine import Candidates
from extract.filtertool.joins.lateness import Lateness
from extract.filtertool.joins.members import JoinMember
from extract.limits import Limits
from extract.xscl.ast import XsclQuery


@dataclass(frozen=True)
class JoinJob:
    """Queries and options.

    Attributes:
        queries: The queries.
        limits: How large documents and outputs may be.
        lateness: By how many microseconds a document may be late, if that was given.
        published: The streams that queries publish.
        filtering: Returns what says which edges may match a document.
    """

    queries: tuple[tuple[JoinMember, XsclQuery], ...]
    limits: Limits
    lateness: int | None
    published: frozenset[str]
    filtering: Callable[[EdgeTable], Candidates]

    def times(self) -> Lateness:
        """Returns the lateness of the queries, before the first document."""
        times = Lateness(self.lateness)
        for member, query in self.queries:
            times.add(member.id, member.order, query, member.timeline)
        return times

    @property
    def chained(self) -> frozenset[str]:
        """The streams that some queries publish and others read."""
        read = [stream for _, query in self.queries for stream in query.streams]
        return self.published.intersection(read)
