"""From subscriptions to canonical queries: one for each normal form, with its subscribers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from extract.errors import QuerySyntaxError
from extract.schema.model import Schema
from extract.scheme.model import Branch, Query, Rejected, Subscriber, Unsatisfiable
from extract.subscriptions import Subscription, Subscriptions
from extract.transtool.limits import Limits
from extract.transtool.normalise import NormalForm, Normaliser, Part
from extract.transtool.prefixes import Prefixes
from extract.transtool.rules.make_absolute import make_absolute
from extract.xpath.ast import Expr
from extract.xpath.check import parse_checked
from extract.xpath.functions import Type


@dataclass(slots=True)
class Collection:
    """What became of all subscriptions.

    Attributes:
        branches: Every branch once, in the order in which the queries need them.
        tails: For each branch what follows its spine.
        spines: For each branch the names of its spine; equal ones are one object.
        queries: The canonical queries, in the order of their first subscribers.
        unsatisfiable: Queries that can match no conforming document.
        rejected: Queries that cannot be evaluated.
        namespaces: Prefix to namespace URI, for all branches.
    """

    branches: list[Branch] = field(default_factory=list)
    tails: list[str] = field(default_factory=list)
    spines: list[tuple[str, ...]] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)
    unsatisfiable: list[Unsatisfiable] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    namespaces: Mapping[str, str] = field(default_factory=dict)

    def absolutes(self) -> Iterator[str]:
        """Every query that can be evaluated, as `Subscriber.absolute` has it."""
        for query in self.queries:
            yield from (one.absolute for one in query.subscribers)
        yield from (dead.subscriber.absolute for dead in self.unsatisfiable)


def collect(schema: Schema, subscriptions: Subscriptions, limits: Limits) -> Collection:
    """Normalises the subscriptions in their order, and puts those with equal normal forms together.

    Which prefixes stand for which namespaces depends on the order of the subscriptions, but not on
    the order of bindings within one: mappings may come in any.
    """
    normaliser = Normaliser(schema, Prefixes(_by_prefix(schema.prefixes)), limits)
    collector = _Collector()
    bindings: dict[int, tuple[Mapping[str, str], dict[str, str]]] = {}
    for subscription in subscriptions:
        given = subscription.namespaces
        known = bindings.get(id(given))
        if known is None:  # keeps the mapping, or another one could take its identity
            known = bindings[id(given)] = (given, _by_prefix(given))
        try:
            parsed = parse_checked(subscription.xpath, given)
        except QuerySyntaxError as error:
            place = error.at(subscriptions.source, subscription.line, subscription.column)
            collector.reject(subscription, place)
            continue
        bound = normaliser.prefixes.bind(parsed, known[1])
        collector.add(subscription, bound, normaliser.normalise(bound))
    found = collector.finish()
    found.namespaces = _by_prefix(normaliser.prefixes.table)
    return found


class _Collector:
    """Numbers branches as they come, and so finds equal normal forms: by their numbers."""

    def __init__(self) -> None:
        self.found = Collection()
        self.numbers: dict[str, int] = {}
        self.spines: dict[tuple[str, ...], tuple[str, ...]] = {}
        self.forms: dict[tuple[int, ...], tuple[Type, list[Subscriber]]] = {}

    def reject(self, query: Subscription, error: QuerySyntaxError) -> None:
        place = (error.hint, error.line, error.column, error.offset)
        self.found.rejected.append(Rejected(query.id, query.xpath, error.reason, *place))

    def add(self, query: Subscription, bound: Expr, form: NormalForm) -> None:
        absolute = str(make_absolute(bound))
        # Most are written in canonical form, and one string is enough for both.
        if absolute == query.xpath:
            absolute = query.xpath
        subscriber = Subscriber(query.id, query.xpath, absolute, query.weight)
        if not form.parts:
            self.found.unsatisfiable.append(Unsatisfiable(subscriber, form.unsatisfiable))
            return
        numbers = tuple([self.number(part) for part in form.parts])
        self.forms.setdefault(numbers, (form.type, []))[1].append(subscriber)

    def number(self, part: Part) -> int:
        known = self.numbers.get(part.xpath)
        if known is None:
            known = self.numbers[part.xpath] = len(self.numbers)
            self.found.branches.append(Branch(part.xpath, len(part.prefix)))
            self.found.tails.append(part.residual if part.prefix else part.xpath)
            self.found.spines.append(self.spines.setdefault(part.prefix, part.prefix))
        return known

    def finish(self) -> Collection:
        for numbers, (kind, subscribers) in self.forms.items():
            self.found.queries.append(Query(kind, numbers, tuple(subscribers)))
        return self.found


def _by_prefix(namespaces: Mapping[str, str]) -> dict[str, str]:
    return dict(sorted(namespaces.items()))
