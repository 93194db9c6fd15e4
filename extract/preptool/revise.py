"""Revises a scheme when subscriptions are added or removed, at the cost of the change.

>>> from extract.preptool.prepare import prepare
>>> from extract.schema.model import Declaration, Schema
>>> from extract.subscriptions import Subscriptions
>>> a, b, c = Declaration(0, "a", children=(1, 2)), Declaration(1, "b"), Declaration(2, "c")
>>> schema = Schema("memory", "dtd", (a, b, c), roots=(0,))
>>> reviser = Reviser(prepare(schema, Subscriptions.of({"old": "//b"}), chunks=1))
>>> reviser.add(Subscription("new", "/a[c]/b"))
Subscriber(id='new', xpath='/a[c]/b', absolute='/a[c]/b', weight=1.0)
>>> scheme = reviser.scheme()
>>> scheme.queries_in(scheme.chunks[0]), scheme.chunks[0].filters
(('old', 'new'), (Want(path='/a/c', need=<Need.NODE: 1>),))
>>> _ = reviser.remove("new")
>>> scheme = reviser.scheme()
>>> scheme.queries_in(scheme.chunks[0]), scheme.chunks[0].filters
(('old',), ())

Always holds: the scheme is the one that `prepare` would make of the same subscriptions, except for
the order of ids, the numbers of branches, forms and templates, and the invented prefixes; and
unless there are so many branches (`Expansion.total`) that the order decides which queries are
expanded.

Each `Reviser.add` looks up the template of one query, and normalises it if it is new. The query
tree and the chunks are revised by `Reviser.scheme`, all changes together: it chooses the prefixes
again, and then examines only branches that were added, removed or moved. The needs of a chunk are
counted (`extract.preptool.footprints.need_counts`), so that a removal need not examine the other
branches.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Final, NamedTuple

from extract.errors import QuerySyntaxError, SchemeError, SubscriptionsError
from extract.limits import DEFAULTS, RAISE, Limits
from extract.preptool.assignment import ChunkAssignment
from extract.preptool.canonical_weights import CanonicalWeights, QueryGroups, weighted_queries
from extract.preptool.choose import choose
from extract.preptool.chunk_builder import WHOLE_DOCUMENT
from extract.preptool.costing.auto import ChunkingPlan, best_plan
from extract.preptool.costing.estimate import Estimator
from extract.preptool.footprints.branch_footprints import BranchFootprints
from extract.preptool.footprints.original_paths import original_paths
from extract.preptool.prepare import crowded, notes, weigh_of
from extract.preptool.query_tree import QueryTree, WeightedQuery
from extract.preptool.registry import QueryRegistry, RegisteredQuery, RegisteredTables
from extract.scheme.garbage import no_collection
from extract.scheme.lookup import no_such_query
from extract.scheme.model import Scheme
from extract.scheme.registered import CustomOutput, Rejected, Unsatisfiable
from extract.scheme.templates import form_parameters, in_form_numbers
from extract.subscriptions import Subscription, Subscriptions
from extract.subscriptions.blocks import QueryBlock
from extract.subscriptions.columns import Offsets
from extract.subscriptions.model import with_checked_metadata
from extract.transtool.expansion import Expansion
from extract.xpath.ast import ParameterType
from extract.xpath.functions import Type
from extract.xpath.reference_tables import KnownTables, no_tables

_ASKED: Final = 1000  # templates of which it is kept what they ask
_MANY_MORE: Final = 10  # times as many queries as there are
_SPARE: Final = 1000  # branches and rows that are not needed any more, and kept all the same


class AddedQueries(NamedTuple):
    """The outcome of adding many subscriptions.

    Attributes:
        number: How many they are.
        rejected: Those that cannot be evaluated.
        unsatisfiable: Those that can match no conforming document.
    """

    number: int
    rejected: list[Rejected]
    unsatisfiable: list[Unsatisfiable]


class AskedQuery(NamedTuple):
    """What is asked of documents for one subscription.

    Attributes:
        form: The number of its normal form.
        branches: The branches of that form, with parameters.
        type: The type of its value.
        original: The query as it is written, with the form's parameters; empty if it has others.
        parameters: The types of the parameters.
        constants: The constants of the query, for these.
    """

    form: int
    branches: tuple[str, ...]
    type: Type
    original: str
    parameters: tuple[ParameterType, ...]
    constants: tuple[str, ...]


class Reviser:
    """The subscriptions of a scheme, to add to, replace and remove; `scheme` gives the new scheme.

    Args:
        scheme: The scheme to start from; it is not changed.
        limits: The largest length and depth of a query, and the number of queries.
        tables: The tables that new queries may join.

    Attributes:
        starts: How often the members were numbered anew, in the order of the scheme.

    Raises:
        SchemeError: The queries were weighed by a function that the scheme does not name.
    """

    def __init__(
        self, scheme: Scheme, limits: Limits | None = None, tables: KnownTables = no_tables
    ) -> None:
        self._limits = limits or DEFAULTS
        self._tables = tables
        self._weigh = weigh_of(scheme)
        self.starts = 0
        self._start(scheme)

    def _start(self, scheme: Scheme) -> None:
        self.starts += 1
        self._scheme = scheme  # before the changes below
        self._templates_asked: dict[int, tuple[AskedQuery, tuple[int, ...]]] = {}
        self._changed = False
        with no_collection():
            self._registry = registry = QueryRegistry.of(scheme, self._limits, self._tables)
            forms = registry.forms
            forms.touched = set()
            self._footprints = BranchFootprints(forms.branches, forms.tails)
            self._whole = set(scheme.document.branches)
            self._examined = len(forms.branches)  # of which it is known if they need the document
            self._assignment = ChunkAssignment(scheme, forms, self._footprints)
            queries = CanonicalWeights.of_scheme(scheme)
            self._groups = queries.groups(self._weigh)
            self._tree = QueryTree.of(self._weighted(self._groups), self._weigh)

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
        return len(self._registry.forms.branches)

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

    def row(self, identifier: str) -> int:
        """Returns the row of a member, which it keeps until `starts` changes; -1 if the query is
        none: rejected, in a later version of XPath, or not there."""
        return self._registry.table.find(identifier)

    def rows(self) -> Offsets:
        """Returns the rows of all members, ascending: the order that they have in `scheme`."""
        return self._registry.table.present_rows()

    @property
    def later(self) -> Collection[str]:
        """The ids of queries in later versions of XPath, in their order in `scheme`."""
        return self._registry.later.keys()

    @property
    def prefixes(self) -> Mapping[str, str]:
        """All prefixes that branches may have, also such as the last scheme does not need."""
        return self._registry.prefixes

    def output(self, identifier: str) -> CustomOutput | None:
        """Returns what a FLWR query makes of the nodes that it binds; None for any other query."""
        return self._registry.outputs.get(identifier)

    def asked(self, identifier: str) -> AskedQuery | None:
        """Returns what is asked of documents for a subscription; None if that is nothing, or a
        query in a later version of XPath."""
        table = self._registry.table
        row = table.find(identifier)
        template = table.row(row).template if row >= 0 else -1
        if template < 0 or self._registry.forms.shapes.forms[template] < 0:
            return None
        constants = table.fields(row)[1:]
        asked, arguments = self._asked_by(template, len(constants))
        return asked._replace(constants=tuple([constants[n] for n in arguments]))

    def _asked_by(self, template: int, parameters: int) -> tuple[AskedQuery, tuple[int, ...]]:
        """What members of a template ask, but for their constants; and which of them these are."""
        known = self._templates_asked.get(template)
        if known is None:
            forms = self._registry.forms
            form, arguments = forms.shapes.forms[template], forms.shapes.arguments_of(template)
            branches = [forms.branches[n].xpath for n in forms.forms[form].branches]
            text = in_form_numbers(forms.xpaths[template], arguments, parameters)
            types, type_ = form_parameters(branches), forms.forms[form].type
            known = AskedQuery(form, tuple(branches), type_, text, types, ()), arguments
            if len(self._templates_asked) >= _ASKED:
                self._templates_asked.clear()
            self._templates_asked[template] = known
        return known

    def check(self, subscription: Subscription) -> None:
        """Makes sure that a query can be evaluated, in the time that it takes to look up its shape.

        Raises:
            QuerySyntaxError: It cannot; the reason names it.
        """
        try:
            self._registry.check(subscription)
        except QuerySyntaxError as error:
            reason, *others = error.args
            raise QuerySyntaxError(f"query {subscription.id!r}: {reason}", *others) from None

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
        return self._registered(self.enter(subscription, source), subscription.id)

    def enter(self, subscription: Subscription, source: str = "") -> int:
        """Adds a subscription as `add` does; returns its row as `row` does."""
        subscription = with_checked_metadata(subscription, self._limits, source)
        self._check_new(subscription, source)
        self._changed = True
        return self._registry.add(subscription, source)

    def add_all(self, subscriptions: Subscriptions) -> AddedQueries:
        """Adds many subscriptions, as `add` does.

        Raises:
            SubscriptionsError: As for `add`, for the first of them; then nothing has changed.
        """
        registry, source = self._registry, subscriptions.source
        blocks = [self._checked(block, source) for block in subscriptions.blocks()]
        count = sum(map(len, blocks))
        if len(registry) + count > self._limits.subscriptions:
            raise SubscriptionsError(self._limits.passed("subscriptions"), RAISE, source)
        first = len(registry.table)
        rejected: list[Rejected] = []
        for block in blocks:
            for name in block.ids if registry.rejected else ():
                registry.rejected.pop(name, None)
            known = len(registry.rejected)
            registry.add_blocks([block], source)
            rejected += islice(registry.rejected.values(), known, None)
        self._changed |= bool(blocks)
        dead: list[int] = []
        if any(form < 0 for form in registry.forms.shapes.forms):
            dead = [row for row in range(first, len(registry.table)) if registry.form_of(row) < 0]
        values = [registry.value(row) for row in dead]
        return AddedQueries(
            count, rejected, [one for one in values if isinstance(one, Unsatisfiable)]
        )

    def _checked(self, block: QueryBlock, source: str) -> QueryBlock:
        """Makes sure that all queries of a block can be added."""
        registry: QueryRegistry | set[str] = self._registry
        if len(self._registry) * _MANY_MORE < len(block):
            registry = set(self._registry)  # a look-up in it is faster
        for position, name in enumerate(block.ids):
            if name in registry and name not in self._registry.rejected:
                raise self._taken(block.subscription(position), source)
        for position in block.metadata:
            with_checked_metadata(block.subscription(position), self._limits, source)
        return block

    def _check_new(self, subscription: Subscription, source: str) -> None:
        registry = self._registry
        if registry.rejected.pop(subscription.id, None) is not None:
            return
        if subscription.id in registry:
            raise self._taken(subscription, source)
        if len(registry) >= self._limits.subscriptions:
            raise SubscriptionsError(self._limits.passed("subscriptions"), RAISE, source)

    def _taken(self, subscription: Subscription, source: str) -> SubscriptionsError:
        reason = f"the scheme already has a query {subscription.id!r}"
        hint = "give this one another id, or replace the other one"
        line = subscription.line
        if line and subscription.id == str(line):
            hint = "write id<TAB>xpath: a query without an id takes its line number"
        return SubscriptionsError(reason, hint, source, line, 1 if line else 0)

    def _registered(self, row: int, identifier: str) -> RegisteredQuery:
        if row >= 0:
            return self._registry.value(row)
        registered = self._registry.get(identifier)
        assert registered is not None
        return registered

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
            self.check(subscription)
        except QuerySyntaxError as error:
            raise error.at(source, subscription.line, subscription.column) from None
        self.discard(subscription.id)
        return self._registered(self._registry.add(subscription, source), subscription.id)

    def remove(self, identifier: str) -> RegisteredQuery:
        """Removes a subscription.

        Returns:
            Its entry in the scheme.

        Raises:
            SchemeError: There is no such subscription.
        """
        registered = self.get(identifier)
        self.discard(identifier)
        return registered

    def discard(self, identifier: str) -> None:
        """Removes a subscription as `remove` does, without a look at what it was."""
        if identifier not in self._registry:
            raise no_such_query(identifier, self._registry)
        self._changed = True
        self._registry.discard(identifier)

    def scheme(self) -> Scheme:
        """Returns the scheme of the present subscriptions."""
        if self._changed:
            with no_collection():
                self._scheme = scheme = self._revised()
            self._changed = False
            registry = self._registry
            branches, rows = len(registry.forms.branches), len(registry.table)
            if (
                branches > 2 * len(scheme.branches) + _SPARE
                or rows > 2 * len(scheme.members) + _SPARE
            ):
                self._start(scheme)  # otherwise what was removed would fill the memory
        return self._scheme

    # -- the new scheme

    def _revised(self) -> Scheme:
        registry, before, forms = self._registry, self._scheme, self._registry.forms
        known = len(before.templates)
        tables = registry.tables()
        for number in range(self._examined, len(forms.branches)):
            if self._footprints.why_whole(number):
                self._whole.add(number)
        self._examined = len(forms.branches)
        plan = self._plan(tables)
        choice, settings = plan.choice, before.settings
        if settings.auto:
            settings = replace(settings, chunks=max(1, len(choice.prefixes)))
        self._assignment.update(choice.prefixes, self._whole, forms.touched or ())
        forms.touched = set()
        builders = self._assignment.builders
        rows: Callable[[int], int] = int if tables.rows is None else tables.rows.__getitem__
        chunks = [
            builders[key].chunk(number, rows, key in plan.projected)
            for number, key in enumerate(choice.prefixes, 1)
        ]
        absolutes = tables.templates.xpaths
        if absolutes[:known] == before.templates.xpaths:
            absolutes = (*before.originals, *absolutes[known:])
        return Scheme(
            schema=before.schema,
            namespaces=registry.namespaces(tables),
            settings=settings,
            branches=tables.branches,
            forms=tables.forms,
            templates=tables.templates,
            wordings=tables.wordings,
            members=tables.members,
            chunks=tuple(chunks),
            potpourri=builders[None].chunk(0, rows),
            document=builders[WHOLE_DOCUMENT].chunk(0, rows),
            originals=original_paths(absolutes),
            rejected=tuple(registry.rejected.values()),
            notes=(
                *notes(tables, len(registry.later), choice),
                *crowded(forms.size, Expansion.of(settings.limits)),
            ),
            statistics=before.statistics,
            later=tuple(registry.later.values()),
            outputs=dict(registry.outputs),
        )

    def _plan(self, tables: RegisteredTables) -> ChunkingPlan:
        """Returns the new prefixes; for ``auto``, the best number of chunks for all branches."""
        settings, forms = self._scheme.settings, self._registry.forms
        queries = CanonicalWeights.of_members(tables.columns, forms.shapes)
        self._reweigh(queries.groups(self._weigh))
        if not settings.auto:
            return ChunkingPlan(choose(self._tree, settings.chunks))
        times = queries.branch_times(forms.forms, forms.branches)
        estimator = Estimator(self._scheme.statistics, self._registry.namespaces(tables))
        return best_plan(
            self._tree,
            times,
            forms.spines,
            self._footprints,
            self._whole,
            estimator,
            settings.workers,
        )

    def _reweigh(self, groups: QueryGroups) -> None:
        """Changes the tree where queries have come or gone."""
        before, self._groups = self._groups, groups
        changed = [
            group for group in {**before, **groups} if before.get(group) != groups.get(group)
        ]
        # What comes is added first: no path may weigh less than what is below it.
        more = {group: groups.get(group, 0) - before.get(group, 0) for group in changed}
        for query in self._weighted({group: n for group, n in more.items() if n > 0}):
            self._tree = self._tree.added(query)
        for query in self._weighted({group: -n for group, n in more.items() if n < 0}):
            self._tree = self._tree.removed(query)

    def _weighted(self, groups: QueryGroups) -> Iterator[WeightedQuery]:
        forms = self._registry.forms
        return weighted_queries(groups, forms.forms, forms.spines, self._whole)
