"""`PushEngine`: very many queries and small documents in, matches out, in C.

Queries come as questions (`Question`), with a number for each query. The first queries of a
question compile it; further ones with other constants are rows. Any number of threads may match at
a time; a change waits until they have finished, and holds for all calls after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from extract.filtertool.matchers.protocol import Question, Select
from extract.filtertool.matchers.push.automaton import EngineAutomaton, EngineNames
from extract.filtertool.matchers.push.conditions import Cell
from extract.filtertool.matchers.push.engine_answers import (
    BatchAnswers,
    EngineAnswers,
    EngineFound,
    EngineOutputs,
    Indices,
)
from extract.filtertool.matchers.push.order_claims import OrderClaims
from extract.filtertool.matchers.push.output_programs import OutputProgram, compile_output
from extract.filtertool.matchers.push.program import CompiledTemplate, compile_question
from extract.filtertool.matchers.push.shared_lock import SharedLock
from extract.flwr.query import FlwrQuery
from extract.limits import DEFAULTS, STEPS, Limits
from extract.schema.model import Schema
from extract.subscriptions.constants import Constants
from extract.subscriptions.records import numbers_of
from extract.xpath.functions import Type

_NO_QUERIES: Final[Indices] = np.empty(0, np.int32)
STATE_BYTES: Final = 64 << 20  # of the states of one machine
_FIRST_ADAPTATION: Final = 200  # documents; then after each sixteen times as many
_NONE_EMPTY: Final[frozenset[int]] = frozenset()
_SELECTS: Final[Mapping[Select, int]] = {"doc": 0, "count": 1, "nodes": 2, "output": 3}


_Variant: TypeAlias = tuple[Hashable, frozenset[int]]
"""Queries with one program: the key of their question, and the parameters that are empty."""


class _Program(NamedTuple):
    """A question as C has it: its number there, and how its constants are made."""

    number: int
    cells: tuple[Cell, ...]


@dataclass(slots=True)
class _KnownTemplate:
    """What the engine keeps of a question: there may be a million of them.

    Attributes:
        exact, searched: As in `CompiledTemplate`.
        compiled: It, as long as C does not have it.
        variants: How many programs of it C has.
    """

    exact: bool
    searched: tuple[int, ...]
    compiled: CompiledTemplate | None
    variants: int = 0


class PushEngine:
    """Matches documents with queries.

    Args:
        schema: The schema whose edges documents are checked for.
        namespaces: Prefix to namespace URI, for all queries.
        select: What to tell of matches.
        limits: How large documents may be.
        approximate: Whether to take questions that the engine cannot decide, and name the documents
            that may match.
        conditions: Whether to take questions that are no node sets, too. Those that are true or
            false of a document match where they are true.
        state_bytes: How much memory the states of each thread may take.
        claims: Whether to rely on the schema for the order of nodes in results.
        names: The names of another engine, to match documents that it has scanned.

    Attributes:
        conditions: Where nodes are selected: queries that are true or false of a document,
            ascending. Whoever adds queries sets it.
        other: The engine for documents that break the schema, which has the names of this one and
            is used by no one else; None if such documents are left to the caller.
    """

    def __init__(
        self,
        schema: Schema,
        namespaces: Mapping[str, str],
        select: Select = "doc",
        limits: Limits | None = None,
        approximate: bool = False,
        conditions: bool = False,
        state_bytes: int = STATE_BYTES,
        claims: bool = True,
        names: EngineNames | None = None,
    ) -> None:
        from extract.filtertool.matchers.push._push import Registry

        self.conditions: Indices = _NO_QUERIES
        self._other: PushEngine | None = None
        self._schema = schema
        self._names = names or EngineNames(schema, dict(namespaces))
        self._registry = Registry()
        self._select = select
        self._limits = limits or DEFAULTS
        self._approximate = approximate
        self._types = set(Type) if conditions else {Type.NODES}
        self._state_bytes = state_bytes
        self._claims = OrderClaims(schema) if claims else None
        self._templates: dict[Hashable, _KnownTemplate] = {}
        self._programs: dict[_Variant, _Program] = {}
        self._by_number: dict[int, _Variant] = {}
        self._cells: dict[tuple[Cell, ...], tuple[Cell, ...]] = {}
        self._lock = SharedLock()
        self._machines: list[Any] = []  # that no thread uses
        self._every_machine: list[Any] = []
        self._generation = -1
        self._adapt_at = _FIRST_ADAPTATION
        self._documents = 0
        self._broken = False
        self._past: Counter[str] = Counter()  # figures of machines that are gone

    @property
    def names(self) -> EngineNames:
        """The names that it tells apart."""
        return self._names

    @property
    def other(self) -> PushEngine | None:
        """The engine for documents that break the schema."""
        return self._other

    @other.setter
    def other(self, engine: PushEngine | None) -> None:
        with self._lock.exclusive():
            if engine is not self._other:
                if self._other is not None:
                    self._past.update(self._other.figures())
                self._other = engine
                self._generation = -1  # machines start anew, with the other one

    # -- queries

    def bind(self, namespaces: Mapping[str, str]) -> None:
        """Binds further prefixes, for questions that come."""
        self._names.bind(namespaces)

    def takes(self, key: Hashable, question: Question) -> bool:
        """Whether the engine takes a question.

        Args:
            key: Identifies the question, apart from its constants.
            question: The question.
        """
        template = self._templates.get(key)
        if template is None:
            if question.type not in self._types:
                return False
            template = self._templates[key] = self._known(question)
        return template.exact or self._approximate

    def add(self, key: Hashable, question: Question, queries: Indices) -> None:
        """Adds the queries of a question.

        Args:
            key: Identifies the question, apart from its constants; the engine takes it.
            question: The question, with the constants of these queries.
            queries: The numbers of the queries, which are new.
        """
        added: list[int] = []
        with self._lock.exclusive():
            try:
                for empty, rows in _by_empty(
                    self._templates[key], question.constants, len(queries)
                ):
                    chosen = question.constants
                    if chosen is not None and len(rows) < len(chosen):
                        chosen = chosen.take(rows)
                    number, cells = self._program(key, question, empty)
                    columns = [_column(chosen, cell) for cell in cells]
                    numbers = np.ascontiguousarray(queries[rows], np.int32)
                    self._registry.add_queries(number, numbers, columns)
                    added += numbers.tolist()
            except BaseException:  # whatever it is, nothing has changed
                self._remove(added)
                self._drop_unused(key)
                raise

    def add_one(
        self, key: Hashable, question: Question, constants: Sequence[str], query: int
    ) -> None:
        """Adds one query of a question, as `add` does: without arrays of one item.

        Args:
            key: As for `add`.
            question: The question, without constants.
            constants: The constants of this query, as they are written.
            query: The number of the query, which is new.
        """
        with self._lock.exclusive():
            searched = self._templates[key].searched
            empty = frozenset([n for n in searched if not constants[n]]) or _NONE_EMPTY
            number, cells = self._program(key, question, empty)
            values = [
                (constants[one.parameter].encode("utf-8", "surrogatepass"), *one[1:])
                for one in cells
            ]
            self._registry.add_query(number, query, tuple(values))

    def remove(self, queries: Iterable[int]) -> None:
        """Removes queries; those that match nothing were never added, and are passed over."""
        with self._lock.exclusive():
            self._remove(queries)

    def _remove(self, queries: Iterable[int]) -> None:
        for query in queries:
            unused = self._registry.remove_query(query)
            if self._select == "output":
                self._registry.assign_program(query, -1)
            if unused >= 0:
                self._drop(unused)

    def _drop_unused(self, key: Hashable) -> None:
        """Drops templates of a question that got no queries."""
        numbers = [number for number, variant in self._by_number.items() if variant[0] == key]
        for number in numbers:
            if not self._registry.has_queries(number):
                self._drop(number)

    def _drop(self, number: int) -> None:
        """Drops a template without queries."""
        self._registry.remove_template(number)
        variant = self._by_number.pop(number)
        del self._programs[variant]
        template = self._templates[variant[0]]
        template.variants -= 1
        if not template.variants:
            del self._templates[variant[0]]

    def __len__(self) -> int:
        """The number of queries."""
        count: int = self._registry.queries
        return count

    def decides(self, key: Hashable) -> bool:
        """Whether the engine decides a question that it takes; else it finds what may match."""
        return self._templates[key].exact

    def _compile(self, question: Question, empty: frozenset[int]) -> CompiledTemplate:
        values = self._select == "nodes"  # then also those that do not count as matches
        return compile_question(question, self._names, empty, values)

    def _known(self, question: Question) -> _KnownTemplate:
        compiled = self._compile(question, _NONE_EMPTY)._replace(clauses=())
        return _KnownTemplate(compiled.exact, compiled.searched, compiled)

    def _program(self, key: Hashable, question: Question, empty: frozenset[int]) -> _Program:
        variant = (key, empty)
        program = self._programs.get(variant)
        if program is None:
            known = self._templates[key]
            compiled = None if empty else known.compiled
            if compiled is None:
                compiled = self._compile(question, empty)
            number = self._registry.add_template(np.array(compiled.words, np.int32))
            try:
                cells = self._cells.setdefault(compiled.cells, compiled.cells)
                program = self._programs[variant] = _Program(number, cells)
                self._by_number[number] = variant
            except MemoryError:
                self._programs.pop(variant, None)
                self._registry.remove_template(number)
                raise
            known.variants += 1
            if not empty:
                known.compiled = None
        return program

    # -- results that are written

    def program(self, query: FlwrQuery) -> OutputProgram | None:
        """The program that writes the result of a query; None if the engine does not write it."""
        return compile_output(query, self._names.bound(query.namespaces), self._claims)

    def add_program(self, program: OutputProgram) -> int:
        """Adds a program; returns its number. It is dropped when no query has it any more."""
        with self._lock.exclusive():
            constants = program.constants()
            columns = [_column(constants, cell) for cell in program.cells]
            words = np.array(program.words, np.int32)
            number: int = self._registry.add_program(words, program.text, columns, program.texts)
            return number

    def assign_program(self, number: int, queries: Iterable[int]) -> None:
        """Gives a program to queries that the engine has."""
        with self._lock.exclusive():
            for query in queries:
                self._registry.assign_program(query, number)

    # -- documents

    def match(self, documents: Sequence[bytes]) -> EngineAnswers:
        """Matches documents.

        Raises:
            MemoryError: There is not enough, or was not at an earlier call.
        """
        done, own, _, broken = self.match_all(documents)
        if broken:
            done[done > 1] = 0
        return EngineAnswers(done, own.matches, own.candidates)

    def match_all(self, documents: Sequence[bytes]) -> BatchAnswers:
        """Matches documents, those that break the schema with the other engine.

        Raises:
            MemoryError: As for `match`.
        """
        (done, own, other, broken), _ = self._matched(documents)
        return BatchAnswers(
            done,
            EngineFound.of(own),
            None if other is None else EngineFound.of(other),
            dict(broken),
        )

    def write(self, documents: Sequence[bytes]) -> tuple[NDArray[np.int8], EngineOutputs]:
        """Writes the results of programs; returns which documents were matched, and the results.

        Raises:
            MemoryError: As for `match`.
        """
        (done, *_, broken), written = self._matched(documents)
        if broken:
            done[done > 1] = 0
        return done, EngineOutputs(*written)

    def _matched(self, documents: Sequence[bytes]) -> tuple[Any, Any]:
        """The columns of matches, and for ``output`` those of results."""
        answers = written = None
        while answers is None:
            self._lock.share()
            try:
                # Here, for a name that comes before the lock is held may be one of a new query's.
                if self._generation == self._names.generation:
                    if self._broken:
                        raise MemoryError("the queries were lost; compile the filter again")
                    machine = self._machines.pop() if self._machines else self._new_machine()
                    others = self._other.conditions if self._other is not None else _NO_QUERIES
                    answers = machine.match(tuple(documents), self.conditions, others)
                    written = machine.written() if self._select == "output" else None
                    self._machines.append(machine)
            finally:
                self._lock.release()
            if answers is None:
                self._learn_names()
        self._documents += len(documents)
        if self._documents >= self._adapt_at:
            self._adapt(machine)
        return answers, written

    def _learn_names(self) -> None:
        """Starts anew with machines: those that there are do not know all names."""
        with self._lock.exclusive():
            self._generation = self._names.generation
            self._registry.set_namespaces(self._names.namespaces())
            self._forget_machines()
            if self._other is not None:
                self._other._registry.set_namespaces(self._names.namespaces())
                self._other._forget_machines()

    def _forget_machines(self) -> None:
        self._past.update(self._present_figures())
        self._machines.clear()
        self._every_machine.clear()

    def _new_machine(self) -> Any:
        from extract.filtertool.matchers.push._push import Machine

        automaton = EngineAutomaton(self._schema, self._names)
        select = _SELECTS[self._select]
        other = None if self._other is None else self._other._new_machine()
        machine = Machine(
            self._registry, automaton, self._limits, select, self._state_bytes, STEPS, other
        )
        self._every_machine.append(machine)
        return machine

    def _adapt(self, machine: Any) -> None:
        """Reorganises the engine by what a machine has seen."""
        with self._lock.exclusive():
            if self._documents >= self._adapt_at:
                self._adapt_at *= 16
                self._broken = True  # until it is done: it may fail half-way
                machine.adapt()
                self._broken = False

    def memory(self) -> tuple[int, int]:
        """How much memory there is for queries, and for matching, in bytes."""
        with self._lock.exclusive():
            return self._registry.memory, sum([machine.memory for machine in self._machines])

    def figures(self) -> dict[str, int]:
        """What was done so far: documents, states, candidates and so on."""
        total = Counter(self._past)
        total.update(self._present_figures())  # not +, which leaves out what is 0
        if self._other is not None:
            total.update(self._other.figures())
        return dict(total)

    def _present_figures(self) -> Counter[str]:
        total: Counter[str] = Counter()
        for machine in list(self._every_machine):
            total.update(machine.figures())
        return total


def _by_empty(
    template: _KnownTemplate, constants: Constants | None, count: int
) -> Iterator[tuple[frozenset[int], NDArray[np.int64]]]:
    """The queries by their constants that are empty strings, where it matters if they are."""
    every = np.arange(count)
    if constants is None:
        yield _NONE_EMPTY, every
        return
    empty = {
        number: constants.texts[number].starts == constants.texts[number].stops
        for number in template.searched
    }
    empty = {number: column for number, column in empty.items() if column.any()}
    if not empty:
        yield _NONE_EMPTY, every
        return
    flags = np.stack(list(empty.values()), axis=1)
    kinds, codes = np.unique(flags, axis=0, return_inverse=True)
    numbers = np.array(list(empty))
    for code, kind in enumerate(kinds):
        yield frozenset(numbers[kind].tolist()), np.flatnonzero(codes.reshape(-1) == code)


def _column(constants: Constants | None, cell: Cell) -> Any:
    """A column of constants for the engine."""
    assert constants is not None
    texts = constants.texts[cell.parameter]
    if cell.is_string:
        return texts.buffer, texts.starts, texts.stops
    numbers = constants.numbers[cell.parameter]
    if numbers is None:
        numbers = numbers_of(texts)
    return -numbers if cell.negative else numbers
