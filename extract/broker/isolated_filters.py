"""Filters in which what fails hurts nothing else: neither other queries nor other documents.

A query that cannot be compiled is refused and left out. Where a change or matching fails in a way
that nobody foresaw, the filters are compiled again from the store; documents, and then queries, are
tried by halves until those are found with which it fails. Such a query gets filters of its own, and
what fails there is a rejection of this query and document.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from extract.broker.bodies import SubscriptionBody
from extract.broker.bounded_answers import rejection
from extract.broker.feed_filters import FeedFilters, failing, failure_reason, select_of
from extract.broker.said_rows import Said, Shown
from extract.broker.store.rows import ArrivedDocument
from extract.limits import Limits
from extract.scheme.registered import Rejected

_log: Final = logging.getLogger("extract.broker.filters")
_APART: Final = 16  # queries that fail on one document, before it is the document

ReadAgain: TypeAlias = Callable[[], Mapping[int, SubscriptionBody]]
"""Reads the present subscriptions of the feed from the store, by their keys."""

Write: TypeAlias = Callable[[Said], bytes]
"""Writes a notification; what cannot be written fails like what cannot be matched."""


class WrittenSaid(NamedTuple):
    """What subscribers are told of a document, as it is written.

    Attributes:
        place: Of the document, among those that are matched.
        keys: Of the subscribers.
        written: The notification.
    """

    place: int
    keys: Sequence[int]
    written: bytes


class IsolatedFilters:
    """Filters of a feed, and those of queries that have failed: each for itself.

    Args:
        limits: For documents and answers.
        shown: How much a notification shows of the nodes of its query.
        room: Bytes that the rows of nodes and results may take at a time, about.
        patient: Whether a query may take a process of its own, for seconds.

    Attributes:
        refused: The queries that cannot be compiled.
    """

    def __init__(self, limits: Limits, shown: Shown, room: int, patient: bool) -> None:
        self._make = partial(FeedFilters, limits, shown, room, patient)
        self._filters = self._make()
        self._apart: dict[int, FeedFilters] = {}
        self.refused: dict[int, Rejected] = {}

    def __len__(self) -> int:
        return len(self._filters) + len(self._apart)

    def __iter__(self) -> Iterator[int]:
        return iter([*self._filters, *self._apart])

    def __contains__(self, key: object) -> bool:
        return key in self._filters or key in self._apart

    def states(self) -> int:
        """States of the engine's automata."""
        return self._filters.states()

    def load(self, bodies: Mapping[int, SubscriptionBody], apart: Collection[int] = ()) -> None:
        """Begins again with some queries.

        Args:
            bodies: The queries, by the keys of their subscribers.
            apart: The keys of those that get filters of their own.
        """
        queries = {key: body for key, body in bodies.items() if select_of(body) is not None}
        self._apart = {}
        self._filters = self._compiled({k: one for k, one in queries.items() if k not in apart})
        for key in apart:
            if key in queries:
                own = self._compiled({key: queries[key]})
                if len(own):
                    self._apart[key] = own

    def _compiled(self, queries: Mapping[int, SubscriptionBody]) -> FeedFilters:
        """Filters of queries, without those that are refused."""
        made = self._make()
        try:
            self.refused |= made.load(queries)
        except Exception as error:
            _log.error("no query of a feed can be compiled", exc_info=error)
            reason = failure_reason(error)
            self.refused |= {key: Rejected(str(key), "", reason) for key in queries}
            return self._make()
        return made

    def change(self, changes: Mapping[int, SubscriptionBody | None], again: ReadAgain) -> None:
        """Lets queries begin, change or end, from the next batch on.

        Args:
            changes: The subscriptions; None for one that ends.
            again: Reads subscriptions as they are after the changes.
        """
        for key in changes:  # whoever puts a query again may have changed it
            self.refused.pop(key, None)
            self._apart.pop(key, None)
        try:
            self.refused |= self._filters.change(changes)
        except Exception as error:
            _log.error("the changes of a feed fail", exc_info=error)
            self._load_again([*self, *changes], again, self._apart)

    def take(self, keys: Sequence[int], other: IsolatedFilters, again: ReadAgain) -> None:
        """Takes queries over from other filters, which have them no longer."""
        own, left = [*self, *keys], [key for key in other if key not in keys]
        apart = {*self._apart, *other._apart}
        try:
            together = [key for key in keys if key in other._filters]
            self.refused |= self._filters.take(together, other._filters)
            for key in keys:
                if key not in together:
                    one = self._make()
                    self.refused |= one.take([key], other._apart.pop(key))
                    self._apart[key] = one
        except Exception as error:
            _log.error("queries cannot be taken over", exc_info=error)
            other._load_again(left, again, apart)
            self._load_again(own, again, apart)

    def _load_again(self, keys: Iterable[int], again: ReadAgain, apart: Collection[int]) -> None:
        """Compiles queries as the store has them, after something has failed."""
        present = again()
        self.load({key: present[key] for key in keys if key in present}, apart)

    # -- documents

    def match(
        self,
        documents: Sequence[ArrivedDocument],
        rejected: list[dict[str, Any]],
        write: Write,
        again: ReadAgain,
    ) -> Iterator[WrittenSaid]:
        """Yields what is told of documents, for each subscriber in the order of the documents.

        Args:
            documents: The documents.
            rejected: Gets what was rejected, with the place as ``document`` and the key as
                ``query``, before more is told of it.
            write: Writes notifications.
            again: Reads the subscriptions that these documents are matched with.
        """
        told: list[tuple[int, Sequence[int]]] = []
        first = len(rejected)
        try:
            for said in self._filters.match(documents, rejected):
                written = write(said)
                told.append((said.place, said.keys))
                yield WrittenSaid(said.place, said.keys, written)
        except Exception as error:
            _log.error("documents cannot be matched", exc_info=error)
        else:
            yield from self._match_apart(documents, rejected, write)
            return
        pairs = {(place, key) for place, keys in told for key in keys}
        known = {(row["document"], row["query"]) for row in rejected[first:]}
        self._load_again(list(self), again, self._apart)
        for found, rows in self._by_halves(documents, write, again):
            rejected += [row for row in rows if (row["document"], row["query"]) not in known]
            for one in found:
                keys = [key for key in one.keys if (one.place, key) not in pairs]
                if keys:
                    yield one._replace(keys=keys)

    def _match_apart(
        self, documents: Sequence[ArrivedDocument], rejected: list[dict[str, Any]], write: Write
    ) -> Iterator[WrittenSaid]:
        """Asks queries that have failed, each alone: where one fails, that is a rejection."""
        for key, own in self._apart.items():
            for place, document in enumerate(documents):
                rows: list[dict[str, Any]] = []
                try:
                    said = [one._replace(place=place) for one in own.match([document], rows)]
                    found = [WrittenSaid(place, one.keys, write(one)) for one in said]
                except Exception as error:
                    _log.error("the query %d fails on a document", key, exc_info=error)
                    rejected.append(rejection(place, key, failure_reason(error)))
                    continue
                rejected += [{**row, "document": str(place)} for row in rows]
                yield from found

    def _by_halves(
        self, documents: Sequence[ArrivedDocument], write: Write, again: ReadAgain
    ) -> Iterator[tuple[list[WrittenSaid], list[dict[str, Any]]]]:
        """Yields what is told and rejected of documents some of which fail, in their order."""
        waiting: list[Sequence[int]] = [range(len(documents))]
        while waiting:
            places = waiting.pop()
            done = self._attempt(documents, places, write)
            if done is None and len(places) > 1:
                half = len(places) // 2
                waiting += [places[half:], places[:half]]
                continue
            if done is None and self._set_apart(documents[places[0]], places[0], write, again):
                done = self._attempt(documents, places, write)
            if done is None:
                reason = "extract failed on this document; the log of the broker says where"
                row = {"document": str(places[0]), "query": "", "stage": "match", "reason": reason}
                done = [], [{**row, "line": None, "offset": None}]
            yield done

    def _attempt(
        self, documents: Sequence[ArrivedDocument], places: Sequence[int], write: Write
    ) -> tuple[list[WrittenSaid], list[dict[str, Any]]] | None:
        """What is told and rejected of some documents; None if that fails."""
        some = [documents[place] for place in places]
        rows: list[dict[str, Any]] = []

        def placed(said: Said) -> bytes:
            return write(said._replace(place=places[said.place]))

        try:
            said = [
                WrittenSaid(s.place, s.keys, placed(s)) for s in self._filters.match(some, rows)
            ]
        except Exception:
            return None
        said += self._match_apart(some, rows, placed)
        return (
            [one._replace(place=places[one.place]) for one in said],
            [{**row, "document": str(places[int(row["document"])])} for row in rows],
        )

    def _set_apart(
        self, document: ArrivedDocument, place: int, write: Write, again: ReadAgain
    ) -> bool:
        """Gives the queries that fail on a document filters of their own.

        Returns:
            Whether there are any, and few: what fails with many is the document.
        """
        present = again()

        def attempt(keys: Sequence[int]) -> None:
            filters = self._make()
            filters.load({key: present[key] for key in keys})
            for one in filters.match([document], []):
                write(one._replace(place=place))

        keys = [key for key in self._filters if key in present]
        bad = failing(attempt, keys, _APART) if keys else {}
        if not 0 < len(bad) <= _APART:
            return False
        own = {key: present[key] for key in self if key in present}
        self.load(own, {*self._apart, *bad})
        return True
