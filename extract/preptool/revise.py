"""Revises a scheme when subscriptions are added or removed, at the cost of the change.

>>> from extract.preptool.prepare import prepare
>>> from extract.schema.model import Declaration, Schema
>>> from extract.subscriptions import Subscriptions
>>> a, b, c = Declaration(0, "a", children=(1, 2)), Declaration(1, "b"), Declaration(2, "c")
>>> schema = Schema("memory", "dtd", (a, b, c), roots=(0,))
>>> reviser = Reviser(prepare(schema, Subscriptions.of({"old": "//b"}), chunks=1))
>>> reviser.add(Subscription("new", "/a[c]/b"))
Subscriber(id='new', xpath='/a[c]/b', absolute='/a[c]/b', weight=1.0)
>>> reviser.scheme().chunks[0].queries, reviser.scheme().chunks[0].filters
(('old', 'new'), (Want(path='/a/c', need=<Need.NODE: 1>),))
>>> _ = reviser.remove("new")
>>> reviser.scheme().chunks[0].queries, reviser.scheme().chunks[0].filters
(('old',), ())

Always holds: the scheme is the one that `prepare` would make of the same subscriptions, except for
    the
order of ids, the numbers of branches and the invented prefixes; and unless there are so many
branches (`Expansion.total`) that the order decides which queries are expanded.

Each `Reviser.add` normalises one query and counts its branches in the query tree. Chunks are
revised by `Reviser.scheme`, all changes together: it chooses the prefixes again, and then examines
only branches that were added, removed or moved. The needs of a chunk are counted
(`extract.preptool.footprints.need_counts`), so that a removal need not examine the other branches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import chain

from extract.errors import QuerySyntaxError, SchemeError, SubscriptionsError
from extract.limits import DEFAULTS, RAISE, Limits
from extract.preptool.assignment import ChunkAssignment
from extract.preptool.canonical import (
    CanonicalQuery,
    Form,
    Normalisers,
    QueryRegistry,
    RegisteredQuery,
    by_prefix,
    in_use,
)
from extract.preptool.choose import choose
from extract.preptool.chunk_builder import WHOLE_DOCUMENT
from extract.preptool.costing.auto import ChunkingPlan, best_plan
from extract.preptool.costing.estimate import Estimator
from extract.preptool.footprints.branch_footprints import BranchFootprints
from extract.preptool.footprints.original_paths import original_paths
from extract.preptool.prepare import crowded, notes, weigh_of
from extract.preptool.query_tree import QueryTree, WeightedQuery, one_each
from extract.scheme.garbage import no_collection
from extract.scheme.lookup import no_such_query
from extract.scheme.model import Branches, Later, Query, Rejected, Scheme, Subscriber
from extract.subscriptions import Subscription
from extract.subscriptions.model import with_checked_metadata
from extract.transtool.expansion import Expansion
from extract.transtool.prefixes import Prefixes
from extract.transtool.queries import parse_query, translate


class Reviser:
    """The subscriptions of a scheme, to add to, replace and remove; `scheme` gives the new scheme.

    Args:
        scheme: The scheme to start from; it is not changed.
        limits: The largest length and depth of a query, and the number of queries.

    Raises:
        SchemeError: The queries were weighed by a function that the scheme does not name.
    """

    def __init__(self, scheme: Scheme, limits: Limits | None = None) -> None:
        self._limits = limits or DEFAULTS
        self._weigh = weigh_of(scheme)
        expansion = Expansion.of(scheme.settings.limits)
        self._normalisers = Normalisers(scheme.schema, Prefixes(scheme.namespaces), expansion)
        self._start(scheme)

    def _start(self, scheme: Scheme) -> None:
        self._scheme = scheme  # before the changes below
        with no_collection():
            self._registry = registry = QueryRegistry.of(scheme)
            self._footprints = BranchFootprints(registry.branches, registry.tails)
            self._whole = set(scheme.document.branches)
            forms = registry.forms.items()
            queries = (self._weighed(form, self._weights(canonical)) for form, canonical in forms)
            self._tree = QueryTree.of(queries, self._weigh)
            self._assignment = ChunkAssignment(scheme, registry, self._footprints)
        self._forget_changes()

    def _forget_changes(self) -> None:
        """Drops the changes, which scheme and chunks now have."""
        self._changed = False
        self._any_removed = False
        self._added: dict[str, Form] = {}
        self._removed: dict[str, Form] = {}
        self._unneeded: list[int] = []
        self._absolutes: list[str] = []

    def __contains__(self, identifier: str) -> bool:
        return identifier in self._registry

    def __len__(self) -> int:
        return len(self._registry)

    def __iter__(self) -> Iterator[str]:
        """Yields the ids of all subscriptions, including rejected ones."""
        return iter(self._registry)

    @property
    def branches_in_memory(self) -> int:
        """The number of branches, including those that no query needs since the last `scheme`."""
        return len(self._registry.branches)

    @property
    def namespaces(self) -> Mapping[str, str]:
        """The prefixes of the scheme, for queries that do not bind theirs."""
        return self._scheme.namespaces

    def get(self, identifier: str) -> RegisteredQuery:
        """Returns what the scheme has of a subscription.

        Raises:
            SchemeError: There is no such subscription.
        """
        registered = self._registry.get(identifier)
        if registered is None:
            raise no_such_query(identifier, self._registry)
        return registered

    def add(self, subscription: Subscription, source: str = "") -> RegisteredQuery:
        """Adds a subscription. One that does not parse is recorded as rejected.

        Args:
            subscription: One whose id is new, or that of a subscription that was rejected: that
                one is replaced.
            source: The file that it comes from, for errors.

        Returns:
            Its outcome, as in the scheme.

        Raises:
            SubscriptionsError: There is a subscription of this id, there are too many, or metadata
                cannot be kept. Then nothing has changed.
        """
        registry = self._registry
        subscription = with_checked_metadata(subscription, self._limits, source)
        if subscription.id in registry.rejected:
            registry.remove(subscription.id)
            return self._register(subscription, source)
        if subscription.id in registry:
            reason = f"the scheme already has a query {subscription.id!r}"
            hint = "give this one another id, or replace the other one"
            line = subscription.line
            if line and subscription.id == str(line):
                hint = "write id<TAB>xpath: a query without an id takes its line number"
            raise SubscriptionsError(reason, hint, source, line, 1 if line else 0)
        if len(registry) >= self._limits.subscriptions:
            raise SubscriptionsError(self._limits.passed("subscriptions"), RAISE, source)
        return self._register(subscription, source)

    def _register(self, subscription: Subscription, source: str) -> RegisteredQuery:
        """Registers a subscription whose id is free."""
        registry = self._registry
        first_new = len(registry.branches)
        normaliser = self._normalisers.after(registry.size)
        translation = translate(normaliser, subscription, source, self._limits)
        outcome = registry.add(subscription, translation)
        self._changed = True
        if isinstance(outcome, Rejected | Later):
            return outcome
        if isinstance(outcome, Subscriber):
            self._added[outcome.id] = form = registry.ids[outcome.id]
            for number in range(first_new, len(registry.branches)):
                if self._footprints.why_whole(number):
                    self._whole.add(number)
            weights = self._weights(registry.forms[form])
            self._reweigh(form, weights[:-1], weights)
            self._absolutes.append(outcome.absolute)
        else:
            self._absolutes.append(outcome.subscriber.absolute)
        return outcome

    def replace(self, subscription: Subscription, source: str = "") -> RegisteredQuery:
        """Puts a subscription in the place of the one that has its id: query, weight and metadata.

        Args:
            subscription: One whose id is there; also that of a subscription that was rejected.
            source: The file that it comes from, for errors.

        Returns:
            Its outcome, as the scheme will have it.

        Raises:
            SchemeError: There is no subscription of this id.
            QuerySyntaxError: The query does not parse.
            SubscriptionsError: Metadata cannot be kept. In all cases nothing has changed.
        """
        if subscription.id not in self._registry:
            error = no_such_query(subscription.id, self._registry)
            line = subscription.line
            raise SchemeError(error.reason, error.hint, source, line, 1 if line else 0)
        subscription = with_checked_metadata(subscription, self._limits, source)
        try:
            parse_query(subscription, source, self._limits)
        except QuerySyntaxError as error:
            reason, *others = error.args
            raise QuerySyntaxError(f"query {subscription.id!r}: {reason}", *others) from None
        self.remove(subscription.id)
        return self._register(subscription, source)

    def remove(self, identifier: str) -> RegisteredQuery:
        """Removes a subscription.

        Returns:
            Its entry in the scheme.

        Raises:
            SchemeError: There is no such subscription.
        """
        registry = self._registry
        if identifier not in registry:
            raise no_such_query(identifier, registry)
        self._changed = self._any_removed = True
        form = registry.ids.get(identifier)
        if form is None:
            return registry.remove(identifier)
        canonical = registry.forms[form]
        before = self._weights(canonical)
        outcome = registry.remove(identifier)
        self._reweigh(form, before, self._weights(canonical))
        if self._added.pop(identifier, None) is None:
            self._removed[identifier] = form
        if not canonical.subscribers:
            self._unneeded.extend([number for number in form if not registry.users[number]])
        return outcome

    def scheme(self) -> Scheme:
        """Returns the scheme of the present subscriptions."""
        if self._changed:
            with no_collection():
                self._scheme = self._revised()
            self._forget_changes()
            alive = len(self._scheme.branches)
            if len(self._registry.branches) > 2 * alive + 1000:
                self._start(self._scheme)  # otherwise removed branches would fill the memory
        return self._scheme

    def _weights(self, canonical: CanonicalQuery) -> tuple[float, ...]:
        if self._weigh is one_each:  # it only matters whether there is a subscriber
            return (1.0,) * min(2, len(canonical.subscribers))
        return canonical.weights

    def _weighed(self, form: Form, weights: tuple[float, ...]) -> WeightedQuery:
        spines, whole = self._registry.spines, self._whole
        paths = [WHOLE_DOCUMENT if number in whole else spines[number] for number in form]
        return WeightedQuery(tuple(dict.fromkeys(paths)), weights)

    def _reweigh(self, form: Form, before: tuple[float, ...], after: tuple[float, ...]) -> None:
        old, new = self._weighed(form, before), self._weighed(form, after)
        if before and after and self._weigh(old) == self._weigh(new):
            return
        if after:
            self._tree = self._tree.added(new)
        if before:
            self._tree = self._tree.removed(old)

    # -- the new scheme

    def _revised(self) -> Scheme:
        registry, before = self._registry, self._scheme
        plan = self._plan()
        choice, settings = plan.choice, before.settings
        if settings.auto:
            settings = replace(settings, chunks=max(1, len(choice.prefixes)))
        self._assignment.update(
            choice.prefixes, self._whole, self._added, self._removed, self._unneeded
        )
        builders = self._assignment.builders
        rows, branches, queries = self._tables()
        chunks = [
            builders[key].chunk(number, rows, key in plan.projected)
            for number, key in enumerate(choice.prefixes, 1)
        ]
        return Scheme(
            schema=before.schema,
            namespaces=by_prefix(in_use(self._normalisers.prefixes.table, before.schema, registry)),
            settings=settings,
            branches=branches,
            queries=queries,
            chunks=tuple(chunks),
            potpourri=builders[None].chunk(0, rows),
            document=builders[WHOLE_DOCUMENT].chunk(0, rows),
            originals=self._originals(),
            unsatisfiable=tuple(registry.unsatisfiable.values()),
            rejected=tuple(registry.rejected.values()),
            notes=(
                *notes(queries, registry.unsatisfiable, registry.later, choice),
                *crowded(registry.size, Expansion.of(settings.limits)),
            ),
            statistics=before.statistics,
            later=tuple(registry.later.values()),
        )

    def _plan(self) -> ChunkingPlan:
        """Returns the new prefixes; for ``auto``, the best number of chunks for all branches."""
        settings, registry = self._scheme.settings, self._registry
        if not settings.auto:
            return ChunkingPlan(choose(self._tree, settings.chunks))
        alive = [number for number, users in enumerate(registry.users) if users]
        estimator = Estimator(self._scheme.statistics, self._normalisers.prefixes.table)
        return best_plan(
            self._tree,
            alive,
            registry.spines,
            self._footprints,
            self._whole,
            estimator,
            settings.workers,
        )

    def _tables(self) -> tuple[Callable[[int], int], Branches, tuple[Query, ...]]:
        """Returns the row of each branch, the rows, and the queries, which refer to them."""
        registry, before = self._registry, self._scheme.branches
        if all(registry.users):
            more = registry.branches[len(before) :]
            xpaths = (*before.xpaths, *[branch.xpath for branch in more])
            steps = (*before.steps, *[branch.steps for branch in more])
            return int, Branches(xpaths, steps), tuple(registry.queries())
        rows: list[int] = []
        alive: list[int] = []
        for number, users in enumerate(registry.users):
            rows.append(len(alive))
            if users:
                alive.append(number)
        branches = Branches.of([registry.branches[number] for number in alive])
        row = rows.__getitem__
        queries = [
            Query(query.type, tuple(map(row, query.branches)), query.subscribers)
            for query in registry.queries()
        ]
        return row, branches, tuple(queries)

    def _originals(self) -> tuple[str, ...]:
        if self._any_removed:
            return original_paths(self._registry.absolutes())
        return original_paths(chain(self._scheme.originals, self._absolutes))
