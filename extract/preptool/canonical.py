"""Canonical queries: one for each normal form, with the subscriptions that have it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import TypeAlias

from extract.limits import Limits
from extract.preptool.query_tree import NamePath
from extract.schema.model import Schema
from extract.scheme.model import Branch, Later, Query, Rejected, Scheme, Subscriber, Unsatisfiable
from extract.scheme.spine import all_names
from extract.subscriptions import Subscription, Subscriptions
from extract.transtool.expansion import Expansion
from extract.transtool.normalise import NormalBranch, Normaliser
from extract.transtool.prefixes import Prefixes, is_used
from extract.transtool.queries import Translation, own_prefixes, translate
from extract.transtool.rules.make_absolute import make_absolute
from extract.xpath.functions import Type

Form: TypeAlias = tuple[int, ...]  # a normal form: the numbers of its branches
RegisteredQuery: TypeAlias = Subscriber | Unsatisfiable | Later | Rejected


@dataclass(slots=True)
class CanonicalQuery:
    """A canonical query with its present subscribers, in the order of their arrival."""

    type: Type
    subscribers: dict[str, Subscriber]

    @property
    def weights(self) -> tuple[float, ...]:
        """The weight of each subscriber."""
        return tuple([subscriber.weight for subscriber in self.subscribers.values()])


@dataclass(slots=True)
class QueryRegistry:
    """All queries, and the branches that they need.

    Branches are numbered in the order of their arrival, and equal normal forms are recognised by
    these numbers. The number of a branch that no query needs any more is not reused.

    Attributes:
        branches: Every branch once, by number.
        tails: For each branch the part after its spine; None until it is needed.
        spines: For each branch the names of its spine; equal ones are one object.
        users: For each branch the number of canonical queries that need it.
        size: Characters of the branches that are needed.
        forms: The canonical queries by normal form, in the order of their first subscribers.
        ids: For each subscriber the normal form of its query.
        unsatisfiable: Queries that match no conforming document, by id.
        later: Queries in later versions of XPath, by id.
        rejected: Queries that cannot be evaluated, by id.
    """

    branches: list[Branch] = field(default_factory=list)
    tails: list[str | None] = field(default_factory=list)
    spines: list[NamePath] = field(default_factory=list)
    users: list[int] = field(default_factory=list)
    size: int = 0
    forms: dict[Form, CanonicalQuery] = field(default_factory=dict)
    ids: dict[str, Form] = field(default_factory=dict)
    unsatisfiable: dict[str, Unsatisfiable] = field(default_factory=dict)
    later: dict[str, Later] = field(default_factory=dict)
    rejected: dict[str, Rejected] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)
    _paths: dict[NamePath, NamePath] = field(default_factory=dict)

    @classmethod
    def of(cls, scheme: Scheme) -> QueryRegistry:
        """Makes the registry of a scheme."""
        xpaths = scheme.branches.xpaths
        registry = cls(
            branches=list(scheme.branches),
            tails=[None] * len(xpaths),
            spines=all_names(scheme.branches),
            users=[0] * len(xpaths),
            size=sum(map(len, xpaths)),
            unsatisfiable={entry.subscriber.id: entry for entry in scheme.unsatisfiable},
            later={entry.subscriber.id: entry for entry in scheme.later},
            rejected={entry.id: entry for entry in scheme.rejected},
            _numbers=dict(zip(xpaths, range(len(xpaths)), strict=True)),
        )
        registry._paths.update((spine, spine) for spine in registry.spines)
        for query in scheme.queries:
            subscribers = {subscriber.id: subscriber for subscriber in query.subscribers}
            registry.forms[query.branches] = CanonicalQuery(query.type, subscribers)
            registry.ids.update(zip(subscribers, repeat(query.branches)))
            for number in query.branches:
                registry.users[number] += 1
        return registry

    def __contains__(self, identifier: str) -> bool:
        return any(identifier in ids for ids in self._by_id())

    def __len__(self) -> int:
        return sum(map(len, self._by_id()))

    def __iter__(self) -> Iterator[str]:
        """Yields the ids of all queries, including rejected ones."""
        return chain.from_iterable(self._by_id())

    def _by_id(self) -> tuple[Mapping[str, object], ...]:
        return (self.ids, self.unsatisfiable, self.later, self.rejected)

    def get(self, identifier: str) -> RegisteredQuery | None:
        """Returns what is registered by an id; None if nothing is."""
        form = self.ids.get(identifier)
        if form is not None:
            return self.forms[form].subscribers[identifier]
        for others in (self.unsatisfiable, self.later, self.rejected):
            if identifier in others:
                return others[identifier]
        return None

    def add(self, query: Subscription, translation: Translation) -> RegisteredQuery:
        """Registers a query with a new id."""
        bound, form, error = translation
        if error is not None:
            place = (error.hint, error.line, error.column, error.offset)
            rejected = Rejected(query.id, query.xpath, error.reason, *place, query.metadata)
            self.rejected[query.id] = rejected
            return rejected
        if bound is None or form is None:
            own = Subscriber(query.id, query.xpath, query.xpath, query.weight, query.metadata)
            later = self.later[query.id] = Later(own, query.version, own_prefixes(query))
            return later
        absolute = str(make_absolute(bound))
        # Most queries are written in canonical form, and share one string.
        if absolute == query.xpath:
            absolute = query.xpath
        subscriber = Subscriber(query.id, query.xpath, absolute, query.weight, query.metadata)
        if not form.branches:
            dead = self.unsatisfiable[query.id] = Unsatisfiable(subscriber, form.unsatisfiable)
            return dead
        numbers = tuple([self._number(branch) for branch in form.branches])
        canonical = self.forms.get(numbers)
        if canonical is None:
            canonical = self.forms[numbers] = CanonicalQuery(form.type, {})
            for number in numbers:
                self.users[number] += 1
        canonical.subscribers[query.id] = subscriber
        self.ids[query.id] = numbers
        return subscriber

    def remove(self, identifier: str) -> RegisteredQuery:
        """Removes a query, and with the last subscriber the branches that no other query needs."""
        if identifier in self.rejected:
            return self.rejected.pop(identifier)
        if identifier in self.later:
            return self.later.pop(identifier)
        if identifier in self.unsatisfiable:
            return self.unsatisfiable.pop(identifier)
        numbers = self.ids.pop(identifier)
        subscribers = self.forms[numbers].subscribers
        subscriber = subscribers.pop(identifier)
        if not subscribers:
            del self.forms[numbers]
            for number in numbers:
                self.users[number] -= 1
                if not self.users[number]:
                    del self._numbers[self.branches[number].xpath]
                    self.size -= len(self.branches[number].xpath)
        return subscriber

    def _number(self, branch: NormalBranch) -> int:
        number = self._numbers.get(branch.xpath)
        if number is None:
            number = self._numbers[branch.xpath] = len(self.branches)
            self.branches.append(Branch(branch.xpath, len(branch.prefix)))
            self.tails.append(branch.residual if branch.prefix else branch.xpath)
            self.spines.append(self._paths.setdefault(branch.prefix, branch.prefix))
            self.users.append(0)
            self.size += len(branch.xpath)
        return number

    def queries(self) -> Iterator[Query]:
        """Yields the canonical queries in the form of a scheme."""
        for numbers, canonical in self.forms.items():
            yield Query(canonical.type, numbers, tuple(canonical.subscribers.values()))

    def absolutes(self) -> Iterator[str]:
        """Yields every query that can be evaluated, in the form of `Subscriber.absolute`."""
        for canonical in self.forms.values():
            yield from (subscriber.absolute for subscriber in canonical.subscribers.values())
        yield from (dead.subscriber.absolute for dead in self.unsatisfiable.values())

    def xpaths(self) -> Iterator[str]:
        """Yields every branch that is needed."""
        return (self.branches[number].xpath for number in self._numbers.values())


@dataclass(frozen=True, slots=True)
class CollectedQueries:
    """All subscriptions after normalisation.

    Attributes:
        branches: Every branch once, in the order in which the queries need them.
        tails: For each branch the part after its spine.
        spines: For each branch the names of its spine; equal ones are one object.
        queries: The canonical queries, in the order of their first subscribers.
        unsatisfiable: Queries that match no conforming document.
        later: Queries in later versions of XPath.
        rejected: Queries that cannot be evaluated.
        namespaces: Prefix to namespace URI, for all branches.
        size: Characters of all branches.
    """

    branches: list[Branch]
    tails: list[str]
    spines: list[NamePath]
    queries: list[Query]
    unsatisfiable: list[Unsatisfiable]
    later: list[Later]
    rejected: list[Rejected]
    namespaces: Mapping[str, str]
    size: int

    def absolutes(self) -> Iterator[str]:
        """Yields every query that can be evaluated, in the form of `Subscriber.absolute`."""
        for query in self.queries:
            yield from (subscriber.absolute for subscriber in query.subscribers)
        yield from (dead.subscriber.absolute for dead in self.unsatisfiable)


def collect_queries(
    schema: Schema,
    subscriptions: Subscriptions,
    expansion: Expansion,
    limits: Limits,
    progress: Callable[[int], object] = lambda _: None,
) -> CollectedQueries:
    """Normalises the subscriptions in their order, and groups those with equal normal forms.

    The prefixes of namespaces depend on the order of the subscriptions, but not on the order of
    bindings within one. ``progress`` is called with the number of subscriptions since the last
    call.
    """
    prefixes = Prefixes(by_prefix(schema.prefixes))
    normalisers = Normalisers(schema, prefixes, expansion)
    registry = QueryRegistry()
    for subscription in subscriptions:
        normaliser = normalisers.after(registry.size)
        registry.add(
            subscription, translate(normaliser, subscription, subscriptions.source, limits)
        )
        progress(1)
    return CollectedQueries(
        registry.branches,
        [tail or "" for tail in registry.tails],
        registry.spines,
        list(registry.queries()),
        list(registry.unsatisfiable.values()),
        list(registry.later.values()),
        list(registry.rejected.values()),
        by_prefix(in_use(prefixes.table, schema, registry)),
        registry.size,
    )


class Normalisers:
    """Two normalisers: one that expands queries, and one for when there are too many branches."""

    def __init__(self, schema: Schema, prefixes: Prefixes, expansion: Expansion) -> None:
        self.prefixes = prefixes
        self._total = expansion.total
        self._expanding = Normaliser(schema, prefixes, expansion)
        self._plain = Normaliser(schema, prefixes, expansion.none)

    def after(self, size: int) -> Normaliser:
        """Returns the normaliser for a query after so many characters of branches."""
        return self._expanding if size < self._total else self._plain


def in_use(table: Mapping[str, str], schema: Schema, registry: QueryRegistry) -> dict[str, str]:
    """Returns the prefixes of the schema, and those that a query or branch uses."""
    of_schema = frozenset(schema.prefixes.values())
    return {
        prefix: uri
        for prefix, uri in table.items()
        if uri in of_schema or is_used(prefix, chain(registry.absolutes(), registry.xpaths()))
    }


def by_prefix(namespaces: Mapping[str, str]) -> dict[str, str]:
    """Returns the bindings in an order that does not depend on their origin."""
    return dict(sorted(namespaces.items()))
