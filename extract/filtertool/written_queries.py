"""The FLWR queries whose results the push engine writes, which come and go."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from extract.filtertool.flwr.parsed_queries import ParsedQueries
from extract.filtertool.matchers.protocol import Question
from extract.filtertool.matchers.push.engine import PushEngine
from extract.filtertool.matchers.push.output_programs import OutputProgram, takes_bindings
from extract.filtertool.results.owners import Indices
from extract.flwr.templates import FlwrHead, FlwrResult

_Key: TypeAlias = tuple[FlwrResult, tuple[str, ...]]
_MOST: Final = 1 << 17  # shapes of queries that are remembered


@dataclass(slots=True, eq=False)
class _SharedProgram:
    """A program of the engine, for all queries with the same result.

    Attributes:
        program: The program.
        number: Its number in the engine; -1 while no query has it.
        uses: How many queries have it.
        keys: The results, with constants, that it writes.
    """

    program: OutputProgram
    number: int = -1
    uses: int = 0
    keys: list[_Key] = field(default_factory=list)


class WrittenQueries:
    """The queries of an engine that writes results, each compiled once for all that differ in
    constants.

    Args:
        engine: The engine.
        queries: The queries, by their numbers.

    Attributes:
        engine: The engine.
        compiled: How many results were compiled so far.
    """

    def __init__(self, engine: PushEngine, queries: ParsedQueries) -> None:
        self.engine = engine
        self.compiled = 0
        self._queries = queries
        self._takes: dict[FlwrHead, bool] = {}
        self._results: dict[tuple[FlwrResult, tuple[bool, ...]], OutputProgram | None] = {}
        self._by_key: dict[_Key, _SharedProgram] = {}
        self._shared: dict[OutputProgram, _SharedProgram] = {}
        self._of: dict[int, _SharedProgram] = {}

    def __len__(self) -> int:
        return len(self._of)

    def __contains__(self, number: object) -> bool:
        return number in self._of

    def __iter__(self) -> Iterator[int]:
        return iter(self._of)

    def program(self, number: int) -> OutputProgram:
        """The program of a query."""
        return self._of[number].program

    def add(self, form: Hashable, question: Question, numbers: Indices) -> NDArray[np.bool_]:
        """Adds queries; returns for each whether the engine writes its result.

        Args:
            form: Identifies their normal form: always the same for it, as `Question.key`.
            question: What they bind, with their constants.
            numbers: Their numbers, which are new.
        """
        taken = np.zeros(len(numbers), np.bool_)
        if not self.engine.takes(form, question):
            return taken
        by_program: dict[_SharedProgram, list[int]] = {}
        for place, number in enumerate(numbers.tolist()):
            shared = self._program_of(number)
            if shared is not None:
                taken[place] = True
                by_program.setdefault(shared, []).append(number)
        if not by_program:
            return taken
        own = question
        if question.constants is not None and not taken.all():
            own = question._replace(constants=question.constants.take(np.flatnonzero(taken)))
        self.engine.add(form, own, numbers[taken].astype(np.int32))
        for shared, several in by_program.items():
            if shared.number < 0:
                shared.number = self.engine.add_program(shared.program)
            self.engine.assign_program(shared.number, several)
            shared.uses += len(several)
            self._of.update(dict.fromkeys(several, shared))
        return taken

    def remove(self, numbers: Iterable[int]) -> None:
        """Removes queries, those that are here."""
        own = [(number, self._of.pop(number)) for number in numbers if number in self._of]
        self.engine.remove([number for number, _ in own])
        for _, shared in own:
            shared.uses -= 1
            if not shared.uses:  # the engine has dropped it
                del self._shared[shared.program]
                for key in shared.keys:
                    del self._by_key[key]

    def _program_of(self, number: int) -> _SharedProgram | None:
        """The program of a query; None if the engine does not write its result."""
        read = self._queries.read(number)
        takes = self._takes.get(read.head)
        if takes is None:
            if len(self._takes) >= _MOST:
                self._takes.clear()
            takes = self._takes[read.head] = takes_bindings(read.head.query)
        if not takes:
            return None
        key = (read.result, read.result_constants)
        shared = self._by_key.get(key)
        if shared is None:
            program = self._compiled(number, *key)
            if program is None:
                return None
            shared = self._shared.get(program)
            if shared is None:
                shared = self._shared[program] = _SharedProgram(program)
            shared.keys.append(key)
            self._by_key[key] = shared
        return shared

    def _compiled(
        self, number: int, result: FlwrResult, constants: tuple[str, ...]
    ) -> OutputProgram | None:
        empty = tuple([not one for one in constants])  # conditions on nothing are other ones
        if (result, empty) not in self._results:
            if len(self._results) >= _MOST:
                self._results.clear()
            query = self._queries[number] if constants else result.query
            self._results[result, empty] = self.engine.program(query)
            self.compiled += 1
        program = self._results[result, empty]
        if program is None or not constants:
            return program
        return program.with_values(constants, result.sources)
