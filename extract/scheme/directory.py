"""The queries of a scheme one by one: by id, by chunk, by normal form, in order.

Values such as `Subscriber` are made when they are asked for: a scheme may have a million members.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from extract.scheme.model import DOCUMENT, Chunk, Scheme
from extract.scheme.registered import Query, Subscriber, Unsatisfiable
from extract.scheme.templates import (
    Ints32,
    RegisteredTemplates,
    filled_branches,
    form_constants,
)
from extract.subscriptions.columns import Offsets, TextColumn
from extract.subscriptions.member_table import MemberTable, TemplateForms
from extract.subscriptions.members import templates_of
from extract.xpath.parameters import filled

T = TypeVar("T")


class CanonicalQueries(NamedTuple):
    """The canonical queries of a scheme, numbered in the order of their first members.

    Attributes:
        of_members: For each member the number of its canonical query; -1 if it matches nothing.
        first: For each canonical query its first member.
        forms: For each canonical query its form.
    """

    of_members: Ints32
    first: Offsets
    forms: Ints32

    def members(self, number: int) -> Offsets:
        """The members of a canonical query."""
        return np.flatnonzero(self.of_members == number)


class _Values(Sequence[T], Generic[T]):
    """Values that are made when they are asked for."""

    def __init__(self, count: int, make: Callable[[int], T]) -> None:
        self._count = count
        self._make = make

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[T]:
        return map(self._make, range(self._count))

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        if isinstance(index, slice):
            return tuple([self._make(n) for n in range(*index.indices(self._count))])
        if not -self._count <= index < self._count:
            raise IndexError(f"there are {self._count}")
        return self._make(index % self._count)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


def _no_forms(templates: int) -> RegisteredTemplates:
    """Templates without forms, for a table in which canonical queries are not sought."""
    nothing = np.zeros(templates + 1, np.int32)
    return RegisteredTemplates((), np.full(templates, -1, np.int32), nothing, nothing[:0])


class QueryDirectory:
    """Finds the queries of a scheme.

    Args:
        scheme: The scheme.
    """

    def __init__(self, scheme: Scheme) -> None:
        # Not the scheme itself, which refers to this.
        self._members = scheme.members
        self._templates = scheme.templates
        self._wordings = scheme.wordings
        self._forms = scheme.forms
        self._xpaths = scheme.branches.xpaths
        self._later = scheme.later
        self._outputs = scheme.outputs
        self._rejected = scheme.rejected

    # -- columns

    @cached_property
    def templates(self) -> Ints32:
        """For each member its template."""
        return templates_of(self._members.codes, self._wordings.templates)

    @cached_property
    def forms(self) -> Ints32:
        """For each member its form; -1 if it matches nothing."""
        return self._templates.forms[self.templates]

    @cached_property
    def canonical(self) -> CanonicalQueries:
        """The canonical queries."""
        return self._canonical(self._templates, self.forms)

    @cached_property
    def originals(self) -> CanonicalQueries:
        """The same for queries as they were written: two are one if they have one canonical text.
        Their forms are the templates."""
        count = self._templates.parameters
        at = np.append(0, np.cumsum(count))
        own = np.arange(len(count), dtype=np.int32)
        arguments = np.arange(int(at[-1])) - np.repeat(at[:-1], count)
        every = RegisteredTemplates((), own, at.astype(np.int32), arguments.astype(np.int32))
        return self._canonical(every, self.templates)

    def _canonical(self, shapes: TemplateForms, forms: Ints32) -> CanonicalQueries:
        of_members = self._table(shapes).columns().canonical
        numbers, first = np.unique(of_members, return_index=True)
        first = first[numbers >= 0]
        return CanonicalQueries(of_members, first, forms[first])

    def _table(self, shapes: TemplateForms | None = None) -> MemberTable:
        table = MemberTable()
        forms = self._templates if shapes is None else shapes
        table.extend_by(self._members, self.templates, forms)
        return table

    @cached_property
    def _by_id(self) -> MemberTable:
        return self._table(_no_forms(len(self._templates)))

    def twice(self) -> str | None:
        """An id that two queries have; None if all are different, as they should be."""
        others = [one.subscriber.id for one in self._later] + [one.id for one in self._rejected]
        table = self._table(_no_forms(len(self._templates)))
        taken = [one for one, times in Counter(others).items() if times > 1]
        taken += [one for one in others if table.find(one) >= 0]
        return taken[0] if taken else table.twice()

    # -- one by one

    def find(self, identifier: str) -> int:
        """The row of the member with an id; -1 if there is none."""
        return self._by_id.find(identifier)

    def subscriber(self, row: int) -> Subscriber:
        """A member as its owner sees it."""
        members, code = self._members, int(self._members.codes[row])
        name, *constants = members.fields(row)
        canonical = self._templates.xpaths[self.templates[row]]
        absolute = filled(canonical, constants)
        xpath = self._wordings.written(code, canonical, constants)
        # Most queries are written in canonical form, and share one string.
        xpath = absolute if xpath == absolute else xpath
        output = self._outputs.get(name)
        xpath = xpath if output is None else output.flwr
        return Subscriber(name, xpath, absolute, members.weight(row), members.metadata_of(row))

    @cached_property
    def subscribers(self) -> Sequence[Subscriber]:
        """All whose queries can be evaluated: the members, then those in later versions."""
        count = len(self._members)
        return _Values(
            count + len(self._later),
            lambda n: self.subscriber(n) if n < count else self._later[n - count].subscriber,
        )

    @cached_property
    def ids(self) -> TextColumn:
        """The ids of all subscribers."""
        if not self._later:
            return self._members.ids
        later = TextColumn.of([one.subscriber.id for one in self._later])
        return TextColumn.concat([self._members.ids, later])

    @cached_property
    def queries(self) -> Sequence[Query]:
        """The canonical queries, in the order of their first subscribers."""
        canonical = self.canonical
        rows = np.argsort(canonical.of_members, kind="stable")
        at = np.searchsorted(canonical.of_members[rows], np.arange(len(canonical.first) + 1))

        def query(number: int) -> Query:
            some = rows[at[number] : at[number + 1]].tolist()
            form = int(canonical.forms[number])
            return Query(
                self._forms[form].type,
                self.branches(some[0]),
                tuple([self.subscriber(row) for row in some]),
                form,
            )

        return _Values(len(canonical.first), query)

    def branches(self, row: int) -> tuple[str, ...]:
        """The normal form of a member's query, with its constants."""
        template = self._templates[int(self.templates[row])]
        if template.form < 0:
            return ()
        branches = [self._xpaths[number] for number in self._forms[template.form].branches]
        return filled_branches(branches, self.constants(row))

    def constants(self, row: int) -> tuple[str, ...]:
        """The constants of a member, in the order of its form's parameters."""
        template = self._templates[int(self.templates[row])]
        if not template.arguments:
            return ()
        return form_constants(template, self._members.fields(row)[1:])

    @cached_property
    def unsatisfiable(self) -> Sequence[Unsatisfiable]:
        """Queries that can match no conforming document."""
        rows = np.flatnonzero(self.forms < 0)

        def value(number: int) -> Unsatisfiable:
            row = int(rows[number])
            return Unsatisfiable(self.subscriber(row), self.reason(row))

        return _Values(len(rows), value)

    def reason(self, row: int) -> str:
        """Why a member matches nothing; empty if it may match."""
        reason = self._templates.reasons.get(int(self.templates[row]), "")
        return filled(reason, self._members.fields(row)[1:])

    def metadata(self) -> dict[str, Mapping[str, Any]]:
        """The metadata of all queries that have any, by id."""
        column = self._members.metadata
        every: dict[str, Mapping[str, Any]] = {}
        if column is not None:
            for row in np.flatnonzero(column.stops > column.starts).tolist():
                every[self._members.ids.text(row)] = self._members.metadata_of(row)
        others = [(one.subscriber.id, one.subscriber.metadata) for one in self._later]
        others += [(one.id, one.metadata) for one in self._rejected]
        every.update((name, metadata) for name, metadata in others if metadata)
        return every

    # -- by chunk

    def forms_in(self, branches: Sequence[int]) -> NDArray[np.bool_]:
        """For each form whether it has one of these branches."""
        here = frozenset(branches)
        return np.array([not here.isdisjoint(form.branches) for form in self._forms], np.bool_)

    def rows_in(self, chunk: Chunk) -> Offsets:
        """The members that have a branch in a chunk."""
        inside = np.append(self.forms_in(chunk.branches), False)  # the last one for those without
        return np.flatnonzero(inside[self.forms])

    def ids_in(self, chunk: Chunk) -> tuple[str, ...]:
        """The ids of the queries that have a branch in a chunk."""
        ids = tuple(self._members.ids.take(self.rows_in(chunk)))
        if chunk.id == DOCUMENT:
            ids += tuple([one.subscriber.id for one in self._later])
        return ids

    def xpaths_in(self, chunk: Chunk) -> list[str]:
        """The branches that are evaluated on a chunk, with the constants of all queries, each
        once."""
        here = frozenset(chunk.branches)
        xpaths: dict[str, None] = {}
        canonical = self.canonical
        for row, form in zip(canonical.first.tolist(), canonical.forms.tolist(), strict=True):
            pairs = zip(self._forms[form].branches, self.branches(row), strict=True)
            xpaths.update(dict.fromkeys([xpath for number, xpath in pairs if number in here]))
        return list(xpaths)

    def count_in(self, chunk: Chunk) -> int:
        """The number of queries that have a branch in a chunk."""
        return len(self.rows_in(chunk)) + (len(self._later) if chunk.id == DOCUMENT else 0)

    def counts(self, elsewhere: Sequence[int]) -> dict[str, int]:
        """How many queries there are of each kind, see `Scheme.counts`.

        Args:
            elsewhere: The branches that belong to no chunk of their own.
        """
        later = len(self._later)
        unsatisfiable = int(np.count_nonzero(self.forms < 0))
        satisfiable = len(self._members) - unsatisfiable + later
        different = {
            (one.subscriber.xpath, one.version, *sorted(one.namespaces.items()))
            for one in self._later
        }
        not_in_chunks = self.forms_in(elsewhere)
        return {
            "registered": satisfiable + unsatisfiable + len(self._rejected),
            "satisfiable": satisfiable,
            "canonical": len(self.canonical.first) + len(different),
            "templates": int(np.count_nonzero(self._templates.forms >= 0)),
            "potpourri": int(np.append(not_in_chunks, False)[self.forms].sum()) + later,
            "later": later,
            "unsatisfiable": unsatisfiable,
            "rejected": len(self._rejected),
        }
