"""The queries of a filter that come and go: their scheme, and their numbers in the push engine."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from extract.errors import SubscriptionsError
from extract.filtertool.matchers.protocol import Question
from extract.filtertool.output_queries import OutputQueries
from extract.filtertool.push_queries import PushQueries
from extract.filtertool.results.owners import Indices
from extract.filtertool.scheme_view import SchemeView
from extract.limits import Limits
from extract.preptool.revise import AskedQuery, Reviser
from extract.scheme.model import Scheme
from extract.scheme.registered import CustomOutput, Later, Rejected, Unsatisfiable
from extract.subscriptions import Subscription
from extract.subscriptions.constants import Constants
from extract.xpath.functions import Type

_SPARE: Final = 10_000  # numbers of removed queries that do not matter


class QueryChange(NamedTuple):
    """What has changed.

    Attributes:
        added: The ids of new queries; they have the numbers from `first` on.
        first: The number of the first of them.
        removed: The numbers of queries that are gone.
    """

    added: tuple[str, ...]
    first: int
    removed: tuple[int, ...]


class LiveQueries:
    """The queries of a scheme and what has changed since. A query keeps its number.

    Args:
        scheme: The queries to start from; their places are their numbers.
        limits: How long a query may be, and how many there may be.
    """

    def __init__(self, scheme: Scheme, limits: Limits) -> None:
        self._lock = threading.RLock()
        self._reviser = Reviser(scheme, limits)
        self._limits = limits
        self._starts = self._first_start = self._reviser.starts
        members = len(scheme.members)
        self._numbers = array("i", range(members))  # of rows of the reviser
        self._later = {name: members + n for n, name in enumerate(self._reviser.later)}
        self._next = members + len(self._later)

    def __len__(self) -> int:
        """The number of queries, rejected ones included."""
        return len(self._reviser)

    def __contains__(self, identifier: str) -> bool:
        with self._lock:
            return identifier in self._reviser

    @property
    def crowded(self) -> bool:
        """Whether most numbers are those of removed queries."""
        return self._next > 2 * len(self._reviser) + _SPARE

    def query(self, identifier: str) -> Subscription:
        """Returns a query such that another filter answers it in the same way.

        Raises:
            SchemeError: There is no query with such an id.
        """
        with self._lock:
            registered = self._reviser.get(identifier)
            output = self._reviser.output(identifier)
            if output is not None:
                return Subscription(identifier, output.flwr, output.namespaces)
            if isinstance(registered, Later):
                text, namespaces = registered.subscriber.xpath, registered.namespaces
                return Subscription(identifier, text, namespaces, version=registered.version)
            if isinstance(registered, Rejected):
                return Subscription(identifier, registered.xpath)
            if isinstance(registered, Unsatisfiable):
                registered = registered.subscriber
            return Subscription(identifier, registered.absolute, self._reviser.prefixes)

    def selects_nodes(self, identifier: str) -> bool:
        """Whether a query is known to select nodes; others may have a row for every document."""
        with self._lock:
            asked = self._reviser.asked(identifier)
            if asked is None:
                return identifier not in self._later
            return asked.type is Type.NODES

    # -- changes; an error changes nothing

    def add(self, subscriptions: Sequence[Subscription]) -> QueryChange:
        """Adds queries.

        Raises:
            QuerySyntaxError: One cannot be evaluated.
            SubscriptionsError: There is a query with such an id already, or there are too many.
        """
        with self._lock:
            self._check(subscriptions)
            for one in subscriptions:
                if one.id in self._reviser:
                    reason = f"there is already a query {one.id!r}"
                    raise SubscriptionsError(reason, "use replace, or give it another id")
            return self._changed([], subscriptions)

    def remove(self, identifiers: Sequence[str]) -> QueryChange:
        """Removes queries.

        Raises:
            SchemeError: There is no query with such an id.
        """
        with self._lock:
            for one in identifiers:
                if one not in self._reviser:
                    self._reviser.get(one)  # which says so
            return self._changed(identifiers, [])

    def replace(self, subscriptions: Sequence[Subscription]) -> QueryChange:
        """Puts queries in the place of those with their ids.

        Raises:
            QuerySyntaxError: One cannot be evaluated.
            SchemeError: There is no query with such an id.
        """
        with self._lock:
            self._check(subscriptions)
            for one in subscriptions:
                self._reviser.get(one.id)
            return self._changed([one.id for one in subscriptions], subscriptions)

    def follow(
        self,
        removed: Sequence[str],
        added: Sequence[Subscription],
        later: Sequence[Subscription],
    ) -> QueryChange:
        """Takes over what has changed elsewhere, where it was checked.

        Args:
            removed: The ids of queries that are gone or replaced; some may not be here.
            added: Queries that are new, or replace others.
            later: All queries in later versions of XPath, as they are now.
        """
        with self._lock:
            present = {one.id: one for one in later}
            kept = {name for name in self._reviser.later if self._is_same(name, present.get(name))}
            fresh = [*added, *[one for one in later if one.id not in kept]]
            gone = {*removed, *self._reviser.later, *[one.id for one in fresh]} - kept
            return self._changed([name for name in gone if name in self._reviser], fresh)

    def _is_same(self, identifier: str, other: Subscription | None) -> bool:
        """Whether a query in a later version of XPath is still as it was."""
        own = self._reviser.get(identifier)
        return (
            isinstance(own, Later)
            and other is not None
            and (own.subscriber.xpath, own.version) == (other.xpath, other.version)
            and dict(own.namespaces) == dict(other.namespaces)
        )

    def _check(self, subscriptions: Sequence[Subscription]) -> None:
        for one in subscriptions:
            self._reviser.check(one)
        room = self._limits.subscriptions - len(self._reviser)
        if len(subscriptions) > room:
            raise SubscriptionsError(self._limits.passed("subscriptions"))

    def _changed(self, removed: Sequence[str], added: Sequence[Subscription]) -> QueryChange:
        gone = []
        for identifier in removed:
            row = self._reviser.row(identifier)
            number = self._numbers[row] if row >= 0 else self._later.pop(identifier, -1)
            # No engine has a query that can match nothing.
            if number >= 0 and (row < 0 or self._reviser.asked(identifier) is not None):
                gone.append(number)
            self._reviser.discard(identifier)
        first = self._next
        for one in added:
            if self._reviser.enter(one) >= 0:
                self._numbers.append(self._next)  # new rows come behind all others
            else:
                self._later[one.id] = self._next
            self._next += 1
        return QueryChange(tuple([one.id for one in added]), first, tuple(gone))

    # -- the engine

    def outputs(self, change: QueryChange) -> list[tuple[str, CustomOutput | None]]:
        """The ids of new queries, and what they make of bindings; None if they are no FLWR."""
        with self._lock:
            return [(one, self._reviser.output(one)) for one in change.added]

    def apply(self, change: QueryChange, queries: PushQueries | OutputQueries) -> bool:
        """Takes a change over into an engine; returns whether it answers all these queries."""
        with self._lock:
            all_taken = queries.remove(change.removed)
            queries.bind(self._reviser.prefixes)
            by_form: dict[int, list[tuple[int, AskedQuery]]] = {}
            for number, identifier in enumerate(change.added, change.first):
                asked = self._reviser.asked(identifier)
                if asked is not None:
                    by_form.setdefault(asked.form, []).append((number, asked))
                elif identifier in self._later:
                    queries.add_rest(number)
                    all_taken = False
            epoch = self._reviser.starts - self._first_start
            for members in by_form.values():
                number, one = members[0]
                question = Question(one.branches, one.type, one.original)
                form = question.key(epoch)  # the reviser numbers its forms anew at each start
                if len(members) == 1 and queries.decides(form, question):
                    queries.add_one(form, question, one.constants, number)
                    continue
                question = _question([asked for _, asked in members])
                numbers = np.array([number for number, _ in members], np.int32)
                all_taken &= queries.add(form, question, numbers)
            return all_taken

    def view(self) -> SchemeView:
        """The scheme of the present queries, with their numbers."""
        with self._lock:
            numbers: Indices = np.array(self._numbers, np.int32)[self._reviser.rows()]
            scheme = self._reviser.scheme()
            if self._reviser.starts != self._starts:  # its rows are those of the scheme now
                self._starts = self._reviser.starts
                self._numbers = array("i", numbers.tobytes())
            later = np.array([self._later[name] for name in self._reviser.later], np.int32)
            return SchemeView(scheme, np.concatenate([numbers, later]).astype(np.int32))


def _question(members: Sequence[AskedQuery]) -> Question:
    """The question of queries that have one form."""
    first = members[0]
    constants = None
    if first.parameters:
        constants = Constants.of(first.parameters, [one.constants for one in members])
    return Question(first.branches, first.type, first.original, constants)
