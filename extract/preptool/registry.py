"""The queries of a scheme while they are registered: members of templates, and others.

The first query of a shape is parsed and normalised; each further one is looked up
(`extract.subscriptions.wordings`) and becomes a row of a table (`MemberTable`). Queries with one
normal form and the same constants are one *canonical query*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from extract.errors import QuerySyntaxError
from extract.flwr.parser import is_flwr
from extract.flwr.templates import shared_reader
from extract.limits import Limits
from extract.preptool.forms import FormTable
from extract.schema.model import Schema
from extract.scheme.garbage import no_collection
from extract.scheme.model import Branches, Scheme
from extract.scheme.registered import CustomOutput, Later, Rejected, Subscriber, Unsatisfiable
from extract.scheme.templates import Form, RegisteredTemplates, WordingTable
from extract.subscriptions import Subscription, Subscriptions
from extract.subscriptions.bindings import bindings_of
from extract.subscriptions.blocks import QueryBlock
from extract.subscriptions.columns import TextColumn
from extract.subscriptions.flwr_queries import FLWR, as_xpath
from extract.subscriptions.member_table import MemberColumns, MemberTable
from extract.subscriptions.members import Members, templates_of
from extract.subscriptions.records import Records, record
from extract.subscriptions.wording_index import NO_WORDING
from extract.subscriptions.wordings import Wordings
from extract.transtool.branch_syntax import BranchSyntax
from extract.transtool.expansion import Expansion
from extract.transtool.normalise import NormalForm, Normaliser
from extract.transtool.prefixes import Prefixes, is_used
from extract.transtool.queries import check_later, own_prefixes, used_prefixes
from extract.transtool.template_resolver import TemplateResolver
from extract.xpath.ast import Expr
from extract.xpath.later import FIRST
from extract.xpath.parameters import filled
from extract.xpath.reference_tables import KnownTables, no_tables

_BLOCK: Final = 10_000  # queries between two reports of progress

RegisteredQuery: TypeAlias = Subscriber | Unsatisfiable | Later | Rejected


class RegisteredTables(NamedTuple):
    """The tables of a scheme, without anything that no member needs.

    Attributes:
        rows: For each number of a branch its row in the table; None if that is its number.
        branches, forms, templates, wordings, members: As in `Scheme`.
        columns: The members, with the numbers of templates and canonical queries of the registry.
    """

    rows: NDArray[np.int64] | None
    branches: Branches
    forms: tuple[Form, ...]
    templates: RegisteredTemplates
    wordings: WordingTable
    members: Members
    columns: MemberColumns


class _Members(NamedTuple):
    """Members that are not in the table yet: their records, weights, and metadata by position."""

    records: Records
    weights: NDArray[np.float64] | None
    metadata: Mapping[int, Mapping[str, Any]]

    @classmethod
    def of(cls, block: QueryBlock, records: Records, kept: NDArray[np.int64] | None) -> _Members:
        """The records of queries at some places of a block; None for all places."""
        weights, metadata = block.weights, block.metadata
        if kept is not None:
            weights = None if weights is None else weights[kept]
            places = {old: new for new, old in enumerate(kept.tolist())} if metadata else {}
            metadata = {places[old]: one for old, one in metadata.items() if old in places}
        return cls(records, weights, metadata)


class QueryRegistry:
    """All queries, and the templates that they have.

    Args:
        schema: The schema.
        prefixes: The prefixes of all queries.
        expansion: Bounds on the size of normal forms.
        limits: The largest length and depth of a query.
        tables: The tables that queries may join.

    Attributes:
        forms: The templates, their forms and branches.
        parts: The filters and tails of branches as expressions, as far as they are known.
        table: The members.
        later: Queries in later versions of XPath, by id.
        outputs: What FLWR queries make of their bindings, by id.
        rejected: Queries that cannot be evaluated, by id.
    """

    def __init__(
        self,
        schema: Schema,
        prefixes: Prefixes,
        expansion: Expansion,
        limits: Limits,
        forms: FormTable | None = None,
        tables: KnownTables = no_tables,
    ) -> None:
        self.forms = forms or FormTable()
        self.table = MemberTable()
        self.later: dict[str, Later] = {}
        self.outputs: dict[str, CustomOutput] = {}
        self.rejected: dict[str, Rejected] = {}
        self._schema = schema
        self._prefixes = prefixes
        self._limits = limits
        normalisers = _Normalisers(schema, prefixes, expansion, self.forms)
        self.parts = normalisers.parts
        self._resolver = TemplateResolver(prefixes, normalisers.normalise, self.forms.add)
        self._wordings = Wordings(self._resolver, limits, tables)
        self._flwr = shared_reader(limits)

    @classmethod
    def of(cls, scheme: Scheme, limits: Limits, tables: KnownTables = no_tables) -> QueryRegistry:
        """Makes the registry of a scheme."""
        expansion = Expansion.of(scheme.settings.limits)
        prefixes, forms = Prefixes(scheme.namespaces), FormTable.of(scheme)
        registry = cls(scheme.schema, prefixes, expansion, limits, forms, tables)
        registry.later = {one.subscriber.id: one for one in scheme.later}
        registry.outputs = dict(scheme.outputs)
        registry.rejected = {one.id: one for one in scheme.rejected}
        registry._resolver.know(scheme.templates.xpaths)
        for template, text in zip(*scheme.wordings, strict=True):
            registry._wordings.code(template, text)
        directory = scheme.directory
        registry.table.extend_by(scheme.members, directory.templates, registry.forms.shapes)
        registry.forms.add_members(directory.forms)
        return registry

    # -- asking

    @property
    def prefixes(self) -> Mapping[str, str]:
        """Prefix to namespace URI, for all templates and branches."""
        return self._prefixes.table

    def __contains__(self, identifier: str) -> bool:
        others = identifier in self.later or identifier in self.rejected
        return others or self.table.find(identifier) >= 0

    def __len__(self) -> int:
        return self.table.present + len(self.later) + len(self.rejected)

    def __iter__(self) -> Iterator[str]:
        """Yields the ids of all queries, including rejected ones."""
        return chain(self.table.columns().members.ids, self.later, self.rejected)

    def get(self, identifier: str) -> RegisteredQuery | None:
        """Returns what is registered by an id; None if nothing is."""
        row = self.table.find(identifier)
        if row >= 0:
            return self.value(row)
        return self.later.get(identifier) or self.rejected.get(identifier)

    def value(self, row: int) -> Subscriber | Unsatisfiable:
        """Returns a member as its owner sees it."""
        name, *constants = self.table.fields(row)
        code, template, *_ = self.table.row(row)
        canonical = self.forms.xpaths[template]
        absolute = filled(canonical, constants)
        xpath = self._wordings.written(code, canonical, constants)
        if name in self.outputs:
            xpath = self.outputs[name].flwr
        weight, metadata = self.table.weight(row), self.table.metadata_of(row)
        subscriber = Subscriber(name, xpath, absolute, weight, metadata)
        if self.forms.shapes.forms[template] >= 0:
            return subscriber
        return Unsatisfiable(subscriber, filled(self.forms.reasons[template], constants))

    def form_of(self, row: int) -> int:
        """Returns the form of a member; -1 if it matches nothing."""
        return self.forms.shapes.forms[self.table.row(row).template]

    def check(self, query: Subscription) -> None:
        """Makes sure that a query can be evaluated.

        Raises:
            QuerySyntaxError: It cannot.
        """
        query = as_xpath(query, self._limits)
        if query.version == FIRST:
            self._wordings.read(query.xpath, query.namespaces)
        elif query.version != FLWR:
            check_later(query, self._limits)

    # -- adding and removing

    def add(self, query: Subscription, source: str = "") -> int:
        """Registers a query with a new id.

        Args:
            query: The query.
            source: The file that it comes from, for errors.

        Returns:
            Its row; -1 if it is rejected, or in a later version of XPath.
        """
        if query.version != FIRST:
            self._add_later_or_reject(query, source)
            return -1
        try:
            own = as_xpath(query, self._limits)
            if own.version != FIRST:
                self._add_later(own)
                return -1
            code, constants = self._wordings.read(own.xpath, own.namespaces)
        except QuerySyntaxError as error:
            self._reject(query, error.at(source, query.line, query.column))
            return -1
        data = record(query.id, constants)
        records = Records(np.array([code], np.int32), np.array([len(data)]), data)
        weights = None if query.weight == 1 else np.array([query.weight])
        metadata = {0: query.metadata} if query.metadata else {}
        template, shapes = self._wordings.template_of(code), self.forms.shapes
        templates = np.array([template], np.int32)
        self.table.extend(records, templates, shapes, weights, metadata)
        if own is not query:
            self.outputs[query.id] = CustomOutput(query.xpath, own_prefixes(query))
        if shapes.forms[template] >= 0:
            self.forms.add_member(shapes.forms[template])
        return len(self.table) - 1

    def add_blocks(self, blocks: Iterable[QueryBlock], source: str = "") -> None:
        """Registers many queries with new ids; ``source`` is as for `add`.

        Blocks may be small, for many a query file binds other prefixes for each query: so their
        members are taken in together.
        """
        added: list[_Members] = []
        for block in blocks:
            if block.version != FIRST:
                for position in range(len(block)):
                    self._add_later_or_reject(block.subscription(position), source)
            else:
                added.append(self._members_of(block, source))
        if added:
            self._extend(*_together(added))

    def _members_of(self, block: QueryBlock, source: str) -> _Members:
        """Reads the queries of a block; returns those that are not rejected."""
        records, errors, flwr = self._wordings.read_all(
            block.xpaths, block.ids, block.namespaces, is_flwr
        )
        for position, error in errors.items():
            query = block.subscription(position)
            self._reject(query, error.at(source, query.line, query.column))
        kept = None
        if errors or flwr:
            kept = np.flatnonzero(records.wordings != NO_WORDING)
            records = Records(records.wordings[kept], records.ends[kept], records.heap)
        members = _Members.of(block, records, kept)
        return _together([self._flwr_members(block, flwr, source), members]) if flwr else members

    def _flwr_members(self, block: QueryBlock, places: Sequence[int], source: str) -> _Members:
        """Reads FLWR queries at some places of a block, as the XPath that they stand for."""
        xpaths: list[str] = []
        kept: list[int] = []
        for place in places:
            text, namespaces = block.xpaths.text(place), bindings_of(block.namespaces, place)
            try:
                flwr = self._flwr.read(text, namespaces)
            except QuerySyntaxError as error:
                query = block.subscription(place)
                self._reject(query, error.at(source, query.line, query.column))
                continue
            if flwr.head.query.rest is not None:
                self._add_later(replace(block.subscription(place), version=FLWR))
                continue
            self.outputs[block.ids.text(place)] = CustomOutput(
                text, used_prefixes(text, namespaces), flwr
            )
            xpaths.append(flwr.xpath)
            kept.append(place)
        rows = np.array(kept, np.int64)
        ids = TextColumn(block.ids.buffer, block.ids.starts[rows], block.ids.stops[rows])
        bound = block.namespaces
        if not isinstance(bound, Mapping):
            bound = [bound[place] for place in kept]
        read = self._wordings.read_all(TextColumn.of(xpaths), ids, bound)
        for place, reason in read.errors.items():
            query = block.subscription(kept[place])
            del self.outputs[query.id]
            self._reject(query, reason.at(source, query.line, query.column))
        good = np.flatnonzero(read.records.wordings != NO_WORDING)
        records = read.records
        records = Records(records.wordings[good], records.ends[good], records.heap)
        return _Members.of(block, records, rows[good])

    def discard(self, identifier: str) -> None:
        """Removes a query that is there."""
        for others in (self.rejected, self.later):
            if others.pop(identifier, None) is not None:
                self.outputs.pop(identifier, None)
                return
        row = self.table.find(identifier)
        form = self.form_of(row)
        self.outputs.pop(identifier, None)
        self.table.remove(row)
        if form >= 0:
            self.forms.remove_member(form)

    def _extend(
        self,
        records: Records,
        weights: NDArray[np.float64] | None,
        metadata: Mapping[int, Mapping[str, Any]],
    ) -> None:
        if not len(records.wordings):
            return
        templates = templates_of(records.wordings, self._wordings.templates)
        shapes = self.forms.shapes
        self.table.extend(records, templates, shapes, weights, metadata)
        self.forms.add_members(np.frombuffer(shapes.forms, np.int32)[templates])

    def _add_later_or_reject(self, query: Subscription, source: str) -> None:
        try:
            check_later(query, self._limits)
        except QuerySyntaxError as error:
            self._reject(query, error.at(source, query.line, query.column))
            return
        self._add_later(query)

    def _add_later(self, query: Subscription) -> None:
        if query.version == FLWR:
            self.outputs[query.id] = CustomOutput(query.xpath, own_prefixes(query))
        own = Subscriber(query.id, query.xpath, query.xpath, query.weight, query.metadata)
        self.later[query.id] = Later(own, query.version, own_prefixes(query))

    def _reject(self, query: Subscription, error: QuerySyntaxError) -> None:
        place = (error.hint, error.line, error.column, error.offset)
        rejected = Rejected(query.id, query.xpath, error.reason, *place, query.metadata)
        self.rejected[query.id] = rejected

    # -- the tables of a scheme

    def tables(self) -> RegisteredTables:
        """Returns the present queries as tables."""
        columns, forms = self.table.columns(), self.forms
        codes, texts = columns.members.codes, self._wordings.texts
        written = np.flatnonzero(codes < 0)
        templates = np.flatnonzero(np.bincount(columns.templates))
        # Forms and wordings in the order in which a reader of the scheme meets them.
        form_of = np.array(forms.shapes.forms, np.int64)
        own = _in_order(form_of[templates[form_of[templates] >= 0]])
        wordings = _in_order(~codes[written])
        branches = np.flatnonzero(np.array(forms.users) > 0)
        rows = _places(branches, len(forms.branches))
        template_rows = _places(templates, len(forms.xpaths))
        wording_rows = _places(wordings, len(texts))
        renumbered = template_rows[columns.templates]
        renumbered[written] = ~wording_rows[~codes[written]]
        complete = len(branches) == len(forms.branches)
        return RegisteredTables(
            None if complete else rows,
            Branches.of([forms.branches[n] for n in branches.tolist()]),
            forms.rows(own, None if complete else rows),
            forms.templates(templates, _places(own, len(forms.forms))),
            WordingTable(
                tuple([int(template_rows[self._wordings.templates[n]]) for n in wordings.tolist()]),
                tuple([texts[n] for n in wordings.tolist()]),
            ),
            columns.members.recoded(renumbered.astype(np.int32)),
            columns,
        )

    def namespaces(self, tables: RegisteredTables) -> dict[str, str]:
        """Returns the prefixes of the schema, and those that a query or branch uses, by name."""
        of_schema = frozenset(self._schema.prefixes.values())
        texts = (tables.templates.xpaths, tables.branches.xpaths)
        in_use = [
            (prefix, uri)
            for prefix, uri in self._prefixes.table.items()
            if uri in of_schema or is_used(prefix, chain(*texts))
        ]
        return dict(sorted(in_use))


def _together(several: Sequence[_Members]) -> _Members:
    """Returns members as one, in their order."""
    if len(several) == 1:
        return several[0]
    sizes = [len(one.records.wordings) for one in several]
    starts = np.cumsum([0, *sizes[:-1]]).tolist()
    heaps = np.cumsum([0, *[len(one.records.heap) for one in several[:-1]]]).tolist()
    records = Records(
        np.concatenate([one.records.wordings for one in several]),
        np.concatenate([one.records.ends + at for one, at in zip(several, heaps, strict=True)]),
        b"".join([one.records.heap for one in several]),
    )
    weights = None
    if any(one.weights is not None for one in several):
        pairs = zip(several, sizes, strict=True)
        each = [np.ones(size) if one.weights is None else one.weights for one, size in pairs]
        weights = np.concatenate(each)
    metadata = {
        start + place: values
        for one, start in zip(several, starts, strict=True)
        for place, values in one.metadata.items()
    }
    return _Members(records, weights, metadata)


def _in_order(numbers: NDArray[np.int64] | NDArray[np.int32]) -> NDArray[np.int64]:
    """Returns numbers from 0 on in the order in which they occur first, each once."""
    count = len(numbers)
    first = np.full(int(numbers.max(initial=-1)) + 1, count)
    first[numbers[::-1]] = np.arange(count)[::-1]  # of equal ones the last one stays
    used = np.flatnonzero(first < count)
    return used[np.argsort(first[used])]


def _places(numbers: NDArray[Any], count: int) -> NDArray[np.int64]:
    """Returns for each of so many numbers its place among these; -1 for the others."""
    places = np.full(count, -1, np.int64)
    places[numbers] = np.arange(len(numbers))
    return places


class _Normalisers:
    """Two normalisers: one that expands queries, and one for when there are too many branches."""

    def __init__(
        self, schema: Schema, prefixes: Prefixes, expansion: Expansion, forms: FormTable
    ) -> None:
        self._total = expansion.total
        self.parts = BranchSyntax()
        self._expanding = Normaliser(schema, prefixes, expansion, self.parts)
        self._plain = Normaliser(schema, prefixes, expansion.none, self.parts)
        self._forms = forms

    def normalise(self, query: Expr, constants: Sequence[str]) -> tuple[NormalForm, Sequence[Expr]]:
        """Returns the normal form of a query after all others, and `Normaliser.exprs`."""
        normaliser = self._expanding if self._forms.size < self._total else self._plain
        return normaliser.normalise(query, constants), normaliser.exprs


def register_all(
    schema: Schema,
    subscriptions: Subscriptions,
    expansion: Expansion,
    limits: Limits,
    progress: Callable[[int], object] = lambda _: None,
    tables: KnownTables = no_tables,
) -> QueryRegistry:
    """Registers subscriptions in their order.

    The prefixes of namespaces depend on the order of the subscriptions, but not on the order of
    bindings within one. ``progress`` is called with the number of subscriptions since the last
    call; ``tables`` are those that queries may join.
    """
    prefixes = Prefixes(dict(sorted(schema.prefixes.items())))
    registry = QueryRegistry(schema, prefixes, expansion, limits, tables=tables)
    registry.table.expect(len(subscriptions))
    waiting: list[QueryBlock] = []
    size = 0
    with no_collection():
        for block in subscriptions.blocks():
            for part in block.parts(_BLOCK):
                waiting.append(part)
                size += len(part)
                if size >= _BLOCK:
                    registry.add_blocks(waiting, subscriptions.source)
                    progress(size)
                    waiting, size = [], 0
        registry.add_blocks(waiting, subscriptions.source)
        progress(size)
    return registry
