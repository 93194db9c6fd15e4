"""The filters of one feed: for nodes, counts, yes or no, and what FLWR queries make.

Queries are called by the numbers of their subscribers. The filters know no schema: answers do not
depend on one, and so a feed may change it while documents come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from extract.broker.bodies import SubscriptionBody
from extract.broker.bounded_answers import BoundedAnswers
from extract.broker.said_rows import Said, Shown, rejections, said_rows, table_of
from extract.broker.store.rows import ArrivedDocument
from extract.filtertool.matchers.protocol import Select
from extract.limits import Limits
from extract.live_filter import Filter
from extract.pipeline import prepare
from extract.subscriptions import Subscription, Subscriptions

_body = msgspec.json.Decoder(SubscriptionBody)


def read_body(body: bytes) -> SubscriptionBody:
    """A subscription as the store has it."""
    return _body.decode(body)


def select_of(body: SubscriptionBody) -> Select | None:
    """What the filter of a subscription gives; None for joins."""
    if isinstance(body.xscl, str):
        return None
    return "output" if isinstance(body.flwr, str) else body.select


def as_subscription(key: int, body: SubscriptionBody) -> Subscription:
    """A subscription as the library knows it."""
    text = body.flwr if isinstance(body.flwr, str) else body.xpath
    assert isinstance(text, str)
    namespaces = body.namespaces if isinstance(body.namespaces, dict) else {}
    return Subscription(str(key), text, namespaces)


class FeedFilters:
    """The filters of a feed, by what they give.

    Args:
        limits: For documents and answers.
        shown: How much a notification shows of the nodes of its query.
        room: Bytes that the rows of nodes and results may take at a time, about.
        patient: Whether a query may take a process of its own, for seconds; without it, one that
            would is rejected with the stage `COST`.
    """

    def __init__(self, limits: Limits, shown: Shown, room: int, patient: bool = True) -> None:
        self._limits = limits
        self._shown = shown
        self._room = room
        self._patient = patient
        self._filters: dict[Select, Filter | BoundedAnswers] = {}
        self._selects: dict[int, Select] = {}

    def __len__(self) -> int:
        return len(self._selects)

    def __iter__(self) -> Iterator[int]:
        return iter(list(self._selects))

    def __contains__(self, key: object) -> bool:
        return key in self._selects

    def load(self, bodies: Mapping[int, SubscriptionBody]) -> None:
        """Compiles many queries at once; the filters must be empty."""
        groups: dict[Select, list[Subscription]] = {}
        for key, body in bodies.items():
            select = select_of(body)
            if select is not None:
                groups.setdefault(select, []).append(as_subscription(key, body))
                self._selects[key] = select
        for select, queries in groups.items():
            self._compile(select, queries)

    def _compile(self, select: Select, queries: Sequence[Subscription]) -> None:
        chosen = Subscriptions.of(queries)
        if select == "nodes" or select == "output":
            self._filters[select] = BoundedAnswers(
                select, chosen, self._limits, self._shown, self._room, self._patient
            )
        else:
            scheme = prepare(None, chosen, limits=self._limits)
            self._filters[select] = Filter(scheme, select, limits=self._limits)

    def change(self, changes: Mapping[int, SubscriptionBody | None]) -> None:
        """Lets queries begin, change or end, from the next batch on."""
        removed: dict[Select, list[str]] = {}
        added: dict[Select, list[Subscription]] = {}
        for key, body in changes.items():
            before = self._selects.pop(key, None)
            if before is not None:
                removed.setdefault(before, []).append(str(key))
            select = None if body is None else select_of(body)
            if body is not None and select is not None:
                added.setdefault(select, []).append(as_subscription(key, body))
                self._selects[key] = select
        for name, identifiers in removed.items():
            self._filters[name].remove(identifiers)
        self._add(added)

    def take(self, keys: Iterable[int], other: FeedFilters) -> None:
        """Takes queries over from other filters, which have them no longer."""
        taken: dict[Select, list[Subscription]] = {}
        for key in keys:
            select = self._selects[key] = other._selects.pop(key)
            source = other._filters[select]
            taken.setdefault(select, []).append(source.query(str(key)))
            source.remove([str(key)])
        self._add(taken)

    def _add(self, added: Mapping[Select, Sequence[Subscription]]) -> None:
        for name, queries in added.items():
            present = self._filters.get(name)
            if present is None or not len(present):
                self._compile(name, queries)
            else:
                present.add(Subscriptions.of(queries))

    def states(self) -> int:
        """States of the engine's automata."""
        figures = [one.figures() for one in list(self._filters.values())]
        return int(sum([some.get("push_states", 0) for some in figures]))

    def match(
        self, documents: Sequence[ArrivedDocument], rejected: list[dict[str, Any]]
    ) -> Iterator[Said]:
        """Yields what is told of documents, for each subscriber in the order of the documents.

        Args:
            documents: The documents.
            rejected: Gets what was rejected, with the place as ``document`` and the key as
                ``query``.
        """
        batch = [(str(n), one.content) for n, one in enumerate(documents)]
        for select, compiled in self._filters.items():
            if not len(compiled):
                continue
            if isinstance(compiled, BoundedAnswers):
                yield from compiled.match(batch, rejected)
                continue
            table = table_of(compiled, batch, self._patient)
            rejected += rejections(compiled)
            yield from said_rows(select, table, self._shown)
