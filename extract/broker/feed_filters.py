"""The filters of one feed: for nodes, counts, yes or no, and what FLWR queries make.

Queries are called by the numbers of their subscribers. The filters know no schema: answers do not
depend on one, and so a feed may change it while documents come.

Filters are compiled here and nowhere else: by the matcher, and on trial when a subscription is put
(`refusals`), so what is taken can be compiled. What cannot is left out, and told; a query that
cannot be compiled for a reason that nobody foresaw is found by halving.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from extract.broker.bodies import QueryFields, SubscriptionBody
from extract.broker.bounded_answers import BoundedAnswers
from extract.broker.problems import Problem
from extract.broker.said_rows import Said, Shown, rejections, said_rows, table_of
from extract.broker.store.rows import ArrivedDocument
from extract.errors import ExtractError
from extract.filtertool.matchers.protocol import Select
from extract.limits import Limits
from extract.live_filter import Filter
from extract.pipeline import prepare
from extract.scheme.registered import Rejected
from extract.subscriptions import Subscription, Subscriptions
from extract.xpath.later import FIRST

_log: Final = logging.getLogger("extract.broker.filters")
_T = TypeVar("_T")
_TRIAL: Final = ArrivedDocument("", None, b"<a/>")
_SHOWN: Final = Shown(1, 1)  # of a trial
_ROOM: Final = 1 << 26
_body = msgspec.json.Decoder(SubscriptionBody)


def stored_body(body: bytes) -> SubscriptionBody | None:
    """A subscription as the store has it; None if it cannot be read."""
    try:
        return _body.decode(body)
    except msgspec.MsgspecError:
        return None


def failure_reason(error: Exception) -> str:
    """What clients are told of an error; of one that nobody foresaw the log says more."""
    if isinstance(error, ExtractError):
        return error.reason
    return f"extract failed ({type(error).__name__}); the log of the broker says where"


def failing(
    call: Callable[[Sequence[_T]], object], items: Sequence[_T], most: int = 1 << 62
) -> dict[_T, Exception]:
    """The items with which a call fails, each alone, found by halving.

    Args:
        call: The call.
        items: The items.
        most: After how many the search may end.

    >>> failing(lambda some: [8 // one for one in some], [1, 0, 2])
    {0: ZeroDivisionError('integer division or modulo by zero')}
    """
    try:
        call(items)
    except Exception as error:
        if len(items) == 1:
            return {items[0]: error}
        half = len(items) // 2
        first = failing(call, items[:half], most)
        if len(first) > most:
            return first
        return first | failing(call, items[half:], most - len(first))
    return {}


def select_of(body: SubscriptionBody) -> Select | None:
    """What the filter of a subscription gives; None for joins."""
    if isinstance(body.xscl, str):
        return None
    return "output" if isinstance(body.flwr, str) else body.select


def query_version(body: QueryFields) -> str:
    """The version of XPath of a query.

    Raises:
        Problem: It is one that FLWR and XSCL are not in.
    """
    if not isinstance(body.version, str) or body.version == FIRST:
        return FIRST
    if not isinstance(body.xpath, str):
        reason = f"FLWR and XSCL are in XPath {FIRST}, not {body.version}"
        raise Problem(422, reason, "leave the version out")
    return body.version


def as_subscription(key: int, body: SubscriptionBody) -> Subscription:
    """A subscription as the library knows it.

    Raises:
        Problem: It has no query, or one in a version that it cannot have.
    """
    text = body.flwr if isinstance(body.flwr, str) else body.xpath
    if not isinstance(text, str):
        raise Problem(422, "a subscription has one of xpath, flwr and xscl")
    namespaces = body.namespaces if isinstance(body.namespaces, dict) else {}
    return Subscription(str(key), text, namespaces, version=query_version(body))


def refusals(bodies: Sequence[SubscriptionBody], limits: Limits) -> dict[int, Rejected]:
    """Why queries cannot be answered, by their places.

    They are compiled as the matcher compiles them, and answered on a small document, because some
    parts are compiled for the first one. Queries in later versions of XPath, whose evaluation may
    take long, are only compiled.
    """

    def attempt(places: Sequence[int]) -> dict[int, Rejected]:
        filters = FeedFilters(limits, _SHOWN, _ROOM)
        refused = filters.load({place: bodies[place] for place in places})
        if as_subscription(places[0], bodies[places[0]]).version == FIRST:
            for _ in filters.match([_TRIAL], []):
                pass
        return refused

    refused: dict[int, Rejected] = {}
    versions: dict[bool, list[int]] = {}
    for place, body in enumerate(bodies):
        versions.setdefault(as_subscription(place, body).version == FIRST, []).append(place)
    for places in versions.values():
        try:
            refused |= attempt(places)
        except Exception as error:
            _log.error("queries cannot be compiled together", exc_info=error)
            bad = failing(attempt, places)
            for place, reason in bad.items():
                text = as_subscription(place, bodies[place]).xpath
                refused[place] = Rejected(str(place), text, failure_reason(reason))
            refused |= attempt([place for place in places if place not in bad])
    return refused


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

    def load(self, bodies: Mapping[int, SubscriptionBody]) -> dict[int, Rejected]:
        """Compiles many queries at once; the filters must be empty.

        Returns:
            The queries that cannot be compiled; they are left out.
        """
        groups, refused = _by_select(bodies)
        for select, queries in groups.items():
            refused |= self._compile(select, queries)
        return refused

    def _compile(self, select: Select, queries: Sequence[Subscription]) -> dict[int, Rejected]:
        refused: dict[int, Rejected] = {}

        def make(some: Sequence[Subscription]) -> Filter | BoundedAnswers:
            chosen = Subscriptions.of(some)
            if select == "nodes" or select == "output":
                return BoundedAnswers(
                    select, chosen, self._limits, self._shown, self._room, self._patient
                )
            scheme = prepare(None, chosen, limits=self._limits)
            return Filter(scheme, select, limits=self._limits)

        try:
            self._filters[select] = made = make(queries)
        except Exception as error:
            _log.error("queries cannot be compiled together", exc_info=error)
            bad = failing(make, queries)
            queries = [one for one in queries if one not in bad]
            for one, reason in bad.items():
                refused[int(one.id)] = Rejected(one.id, one.xpath, failure_reason(reason))
            self._filters[select] = made = make(queries)
        rejected = made.scheme.rejected
        if rejected:  # what a filter has of it would stay until it is removed
            made.remove([one.id for one in rejected])
            refused |= {int(one.id): one for one in rejected}
        self._selects |= {int(one.id): select for one in queries if int(one.id) not in refused}
        return refused

    def change(self, changes: Mapping[int, SubscriptionBody | None]) -> dict[int, Rejected]:
        """Lets queries begin, change or end, from the next batch on.

        Returns:
            The queries that cannot be compiled; they are left out.

        Raises:
            Exception: Something has failed; the filters must be loaded again.
        """
        removed: dict[Select, list[str]] = {}
        for key in changes:
            before = self._selects.pop(key, None)
            if before is not None:
                removed.setdefault(before, []).append(str(key))
        for name, identifiers in removed.items():
            self._filters[name].remove(identifiers)
        added, refused = _by_select({k: body for k, body in changes.items() if body is not None})
        return refused | self._add(added)

    def take(self, keys: Iterable[int], other: FeedFilters) -> dict[int, Rejected]:
        """Takes queries over from other filters, which have them no longer.

        Returns:
            The queries that cannot be compiled; they are left out.

        Raises:
            Exception: Something has failed; both must be loaded again.
        """
        taken: dict[Select, list[Subscription]] = {}
        for key in keys:
            select = other._selects.pop(key)
            source = other._filters[select]
            taken.setdefault(select, []).append(source.query(str(key)))
            source.remove([str(key)])
        return self._add(taken)

    def _add(self, added: Mapping[Select, Sequence[Subscription]]) -> dict[int, Rejected]:
        refused: dict[int, Rejected] = {}
        for name, queries in added.items():
            present = self._filters.get(name)
            if present is None or not len(present):
                refused |= self._compile(name, queries)
            else:
                present.add(Subscriptions.of(queries))
                self._selects |= {int(one.id): name for one in queries}
        return refused

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

        Raises:
            Exception: Something has failed, and not all is told.
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


def _by_select(
    bodies: Mapping[int, SubscriptionBody],
) -> tuple[dict[Select, list[Subscription]], dict[int, Rejected]]:
    """The queries of subscriptions by what their filters give, and those that are none."""
    groups: dict[Select, list[Subscription]] = {}
    refused: dict[int, Rejected] = {}
    for key, body in bodies.items():
        select = select_of(body)
        if select is None:
            continue
        try:
            query = as_subscription(key, body)
        except Problem as problem:
            refused[key] = Rejected(str(key), "", problem.reason)
        else:
            groups.setdefault(select, []).append(query)
    return groups, refused
