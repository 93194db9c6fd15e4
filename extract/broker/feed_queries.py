"""All queries of a feed, in two turns: quick ones, then those that take a process of their own.

libxml2 cannot be interrupted, so a query that may take very long runs in a process that is killed
when its time is up. Where a quick query would need one it is given up at once, and is dear from
this document on. Dear queries are asked document by document, when the quick ones have told of all
documents. One that has got no answer on a few of its last documents is set aside: it is asked no
more until somebody puts it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from extract.broker.bodies import SubscriptionBody
from extract.broker.isolated_filters import IsolatedFilters, ReadAgain, Write, WrittenSaid
from extract.broker.said_rows import Said, Shown
from extract.broker.store.rows import ArrivedDocument
from extract.filtertool.results.outcome import COST
from extract.limits import Limits
from extract.scheme.registered import Rejected

MOST_UNANSWERED: Final = 3  # of a query's last documents; then it is set aside
LAST_DOCUMENTS: Final = 100


class SetAside(NamedTuple):
    """A query that is asked no more.

    Attributes:
        key: Of the subscriber.
        place: Of the last document that it was asked about, among those that are matched.
        reason: Why it got no answer there.
    """

    key: int
    place: int
    reason: str


class AnswerRecord:
    """On which of its last documents a query got no answer.

    >>> some = AnswerRecord()
    >>> [some.note(answered) for answered in (False, True, False, False)]
    [False, False, False, True]
    >>> some = AnswerRecord()
    >>> any([some.note(n % 50 != 0) for n in range(1_000)])
    False
    """

    __slots__ = ("_documents", "_places")

    def __init__(self) -> None:
        self._documents = 0
        self._places: list[int] = []

    def note(self, answered: bool) -> bool:
        """Takes note of a document; returns whether too many of the last had no answer."""
        self._documents += 1
        if not answered:
            first = self._documents - LAST_DOCUMENTS
            self._places = [*[one for one in self._places if one > first], self._documents]
        return not answered and len(self._places) >= MOST_UNANSWERED


class FeedQueries:
    """The queries of a feed.

    Args:
        limits: For documents and answers.
        shown: How much a notification shows of the nodes of its query.
        room: Bytes that the rows of nodes and results may take at a time, about.
    """

    def __init__(self, limits: Limits, shown: Shown, room: int) -> None:
        self._quick = IsolatedFilters(limits, shown, room, patient=False)
        self._dear = IsolatedFilters(limits, shown, room, patient=True)
        self._records: dict[int, AnswerRecord] = {}  # of dear queries
        self._first: dict[int, int] = {}  # the place that a query is dear from, if it is new

    def __len__(self) -> int:
        return len(self._quick) + len(self._dear)

    @property
    def has_dear(self) -> bool:
        """Whether `match_dear` has something to do."""
        return len(self._dear) > 0

    @property
    def refused(self) -> dict[int, Rejected]:
        """The queries that cannot be compiled; they are left out."""
        return {**self._quick.refused, **self._dear.refused}

    def load(self, bodies: Mapping[int, SubscriptionBody]) -> None:
        """Compiles many queries at once; there must be none."""
        self._quick.load(bodies)

    def change(self, changes: Mapping[int, SubscriptionBody | None], again: ReadAgain) -> None:
        """Lets queries begin, change or end, from the next batch on.

        Args:
            changes: The subscriptions; None for one that ends.
            again: Reads subscriptions as they are after the changes.
        """
        self._forget([key for key in changes if key in self._records], again)
        self._quick.change(changes, again)

    def _forget(self, keys: Sequence[int], again: ReadAgain) -> None:
        if keys:
            self._dear.change(dict.fromkeys(keys), again)
        for key in keys:
            del self._records[key]
            self._first.pop(key, None)

    def states(self) -> int:
        """States of the engine's automata."""
        return self._quick.states() + self._dear.states()

    def match(
        self,
        documents: Sequence[ArrivedDocument],
        rejected: list[dict[str, Any]],
        write: Write,
        again: ReadAgain,
        first: int = 0,
    ) -> Iterator[WrittenSaid]:
        """Yields what is told by quick queries, for each subscriber in the order of the documents.

        Args:
            documents: The documents.
            rejected: Gets what was rejected, with the place as ``document`` and the key as
                ``query``.
            write: Writes notifications.
            again: Reads the subscriptions that these documents are matched with.
            first: How many documents `match_dear` gets before these.
        """
        dear: dict[int, int] = {}  # the first place that each is not answered for here
        rows: list[dict[str, Any]] = []
        seen = 0
        for said in self._quick.match(documents, rows, write, again):
            if seen < len(rows):  # what was given up is known before later documents are told
                for row in rows[seen:]:
                    _note_dear(row, dear)
                seen = len(rows)
            if not dear:
                yield said
                continue
            keys = [key for key in said.keys if said.place < dear.get(key, said.place + 1)]
            if keys:
                yield said._replace(keys=keys)
        for row in rows[seen:]:
            _note_dear(row, dear)
        rejected += [row for row in rows if not _is_put_off(row, dear)]
        if dear:
            self._dear.take([key for key in dear if key in self._quick], self._quick, again)
        for key, place in dear.items():
            self._records[key] = AnswerRecord()
            self._first[key] = first + place

    def match_dear(
        self,
        documents: Sequence[ArrivedDocument],
        rejected: list[dict[str, Any]],
        set_aside: list[SetAside],
        write: Write,
        again: ReadAgain,
    ) -> Iterator[WrittenSaid]:
        """Yields what is told by dear queries, in the order of the documents.

        Args:
            documents: All documents that `match` had since the last call.
            rejected: Gets what was rejected.
            set_aside: Gets those that are asked no more.
            write: Writes notifications.
            again: Reads the subscriptions that these documents are matched with.
        """
        first, self._first = self._first, {}
        for place, document in enumerate(documents):
            asked = [key for key in self._dear if first.get(key, 0) <= place]
            if not asked:
                continue
            rows: list[dict[str, Any]] = []
            placed = partial(_write_at, place, write)
            for said in self._dear.match([document], rows, placed, again):
                keys = [key for key in said.keys if first.get(key, 0) <= place]
                if keys:
                    yield WrittenSaid(place, keys, said.written)
            given_up = {int(row["query"]): row for row in rows if row["stage"] == COST}
            once = [row for row in rows if row["stage"] != COST] + list(given_up.values())
            for row in once:
                if not row["query"] or first.get(int(row["query"]), 0) <= place:
                    rejected.append({**row, "document": str(place)})
            for key in asked:
                if self._records[key].note(answered=key not in given_up):
                    set_aside.append(SetAside(key, place, given_up[key]["reason"]))
                    self._forget([key], again)


def _write_at(place: int, write: Write, said: Said) -> bytes:
    return write(said._replace(place=place))


def _note_dear(row: Mapping[str, Any], dear: dict[int, int]) -> None:
    if row["stage"] == COST:
        key, place = int(row["query"]), int(row["document"])
        dear[key] = min(place, dear.get(key, place))


def _is_put_off(row: Mapping[str, Any], dear: Mapping[int, int]) -> bool:
    """Whether a row is of a query and a document that are asked later."""
    if not row["query"] or int(row["query"]) not in dear:
        return False
    return int(row["document"]) >= dear[int(row["query"])]
