"""What joins in other processes need: queries and options, without any state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

    def stages(self) -> Mapping[str, int]:
        """Returns for each query its stage: when all that the streams it reads have is there.

        A query that reads no published stream is of stage 0; one that reads what stage 0 publishes
        of stage 1. `StreamGraph` has seen to it that no query waits for itself.
        """
        publishers: dict[str, list[XsclQuery]] = {}
        for member, query in self.queries:
            if member.publish:
                publishers.setdefault(member.publish, []).append(query)
        levels: dict[str, int] = {}

        def level(stream: str) -> int:
            if stream not in levels:
                before = [1 + stage(query) for query in publishers.get(stream, ())]
                levels[stream] = max(before, default=0)
            return levels[stream]

        def stage(query: XsclQuery) -> int:
            return max([level(stream) for stream in query.streams])

        return {member.id: stage(query) for member, query in self.queries}
