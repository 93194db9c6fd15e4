"""FLWR queries of a scheme: parsed when they are asked for, and as programs of the push engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from extract.filtertool.matchers.push.engine import PushEngine
from extract.filtertool.matchers.push.output_programs import OutputProgram, takes_bindings
from extract.flwr.query import FlwrQuery, parse_flwr
from extract.flwr.templates import FlwrHead, FlwrResult, ReadFlwr, shared_reader
from extract.limits import DEFAULTS
from extract.scheme.registered import CustomOutput
from extract.subscriptions.columns import TextColumn


class OutputPrograms:
    """The programs of queries, each compiled once for all queries that differ in constants.

    Attributes:
        numbers: The numbers of the queries with each program.
    """

    def __init__(self, engine: PushEngine, queries: ParsedQueries) -> None:
        self.numbers: dict[OutputProgram, list[int]] = {}
        self._engine = engine
        self._queries = queries
        self._takes: dict[FlwrHead, bool] = {}
        self._compiled: dict[tuple[FlwrResult, tuple[bool, ...]], OutputProgram | None] = {}
        self._of: dict[tuple[FlwrResult, tuple[str, ...]], list[int]] = {}

    def add(self, number: int) -> bool:
        """Adds a query; returns whether the engine writes its result."""
        read = self._queries.read(number)
        takes = self._takes.get(read.head)
        if takes is None:
            takes = self._takes[read.head] = takes_bindings(read.head.query)
        if not takes:
            return False
        key = (read.result, read.result_constants)
        numbers = self._of.get(key)
        if numbers is None:
            program = self._program(number, *key)
            if program is None:
                return False
            numbers = self._of[key] = self.numbers.setdefault(program, [])
        numbers.append(number)
        return True

    def _program(
        self, number: int, result: FlwrResult, constants: tuple[str, ...]
    ) -> OutputProgram | None:
        empty = tuple([not one for one in constants])  # conditions on nothing are other ones
        if (result, empty) not in self._compiled:
            query = self._queries[number] if constants else result.query
            self._compiled[result, empty] = self._engine.program(query)
        program = self._compiled[result, empty]
        if program is None or not constants:
            return program
        return program.with_values(constants, result.sources)


class ParsedQueries(Mapping[int, FlwrQuery]):
    """The queries of subscribers by their numbers, parsed when they are asked for."""

    def __init__(self, ids: TextColumn, outputs: Mapping[str, CustomOutput]) -> None:
        self._ids = ids
        self._outputs = outputs
        self._parsed: dict[int, FlwrQuery] = {}
        self._reader = shared_reader(DEFAULTS)

    def __getitem__(self, number: int) -> FlwrQuery:
        query = self._parsed.get(number)
        if query is None:
            output = self._outputs[self._ids.text(number)]
            query = self._parsed[number] = parse_flwr(output.flwr, output.namespaces)
        return query

    def read(self, number: int) -> ReadFlwr:
        """A query as its templates and their constants."""
        output = self._outputs[self._ids.text(number)]
        return output.read or self._reader.read(output.flwr, output.namespaces)

    def __iter__(self) -> Iterator[int]:
        return (n for n, one in enumerate(self._ids) if one in self._outputs)

    def __len__(self) -> int:
        return len(self._outputs)
