"""What a filter takes for small messages, as a row next to what a rival takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from extract.bench.message_rivals import best_seconds, expat_parse, lxml_parse
from extract.live_filter import Filter
from extract.preptool.prepare import prepare
from extract.schema.model import Schema
from extract.subscriptions import Subscriptions

Row = list[str | int | float]

COLUMNS: Final = (
    "messages",
    "queries",
    "bytes",
    "matches",
    "a second",
    "us",
    "next to",
    "its us",
    "ratio",
    "goal",
    "holds",
)
REMARKS: Final = (
    "us: processor time for a message, all queries, from bytes to a table; ratio: that against",
    "its us. matches: queries that match a message, on average. goal: the largest ratio.",
)


class Measured(NamedTuple):
    """What a filter takes for messages.

    Attributes:
        name: What they are.
        queries: The number of queries.
        messages: The messages.
        matches: Rows of a message, on average.
        seconds: For a message.
    """

    name: str
    queries: int
    messages: Sequence[bytes]
    matches: float
    seconds: float

    @classmethod
    def of(cls, name: str, ready: Filter, messages: Sequence[bytes]) -> Measured:
        """Filters messages, in one batch; the first turns warm up."""
        named = [(str(number), message) for number, message in enumerate(messages)]
        rows = [ready.table(named).num_rows for _ in range(2)][-1]
        seconds = best_seconds(lambda: ready.table(named))
        return cls(name, len(ready), messages, rows / len(named), seconds / len(named))

    def row(self, rival: str, seconds: float, goal: float | None = None) -> Row:
        """A row of the table; ``seconds`` are the rival's for a message."""
        ratio = self.seconds / seconds
        size = sum(map(len, self.messages)) // len(self.messages)
        own: Row = [self.name, self.queries, size, self.matches, int(1 / self.seconds)]
        return [*own, self.seconds * 1e6, rival, seconds * 1e6, ratio, *held(ratio, goal)]

    def next_to_parsers(self, goal: float | None = None) -> Iterator[Row]:
        """Rows next to lxml's parse, for which the goal is, and next to expat's."""
        count = len(self.messages)
        lxml = best_seconds(lambda: lxml_parse(self.messages)) / count
        yield self.row("lxml's parse", lxml, goal)
        yield self.row("expat", best_seconds(lambda: expat_parse(self.messages), 2) / count)


def held(ratio: float, goal: float | None) -> tuple[str | float, str]:
    """A goal, and whether a ratio keeps to it."""
    return ("", "") if goal is None else (goal, "yes" if ratio <= goal else "no")


def filter_of(schema: Schema, queries: dict[str, str] | Subscriptions) -> Filter:
    """A filter for queries, for which documents are not cut."""
    subscriptions = queries if isinstance(queries, Subscriptions) else Subscriptions.of(queries)
    return Filter(prepare(schema, subscriptions, chunks=1))
