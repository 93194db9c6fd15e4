"""Queries that libxml2 evaluates on the tree of a document, each only where it is asked for.

Some of them columns answer instead (`extract.filtertool.open_columns`)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, NamedTuple

from lxml import etree

from extract.chunktool.scan.node_table import NodeTable
from extract.errors import MatcherError
from extract.filtertool.matchers.answer_collector import Collector
from extract.filtertool.matchers.cost_bound import limit_for
from extract.filtertool.matchers.lxml.compiled_question import CompiledQuestion
from extract.filtertool.matchers.lxml.parsed_unit import NO_VARIABLES, Variables
from extract.filtertool.matchers.lxml.tree_evaluation import DIVIDED_FROM, TreeEvaluation
from extract.filtertool.matchers.node_refs import TableRefs
from extract.filtertool.matchers.protocol import Question, Select
from extract.filtertool.open_columns import OpenColumns, OpenQuestion
from extract.filtertool.processes.memory import is_out_of_memory
from extract.filtertool.results.owners import Indices
from extract.limits import Limits
from extract.markup.lxml_parser import make_parser, parse_tree
from extract.subscriptions.constants import Constants
from extract.xpath.functions import Type

COMPILED_EACH: Final = 64  # queries of one question up to which each is compiled with its constants
_MEASURED: Final = 32  # documents of which each is measured; later on one of so many
_ELEMENT: Final = 4  # bytes of the shortest one: <a/>
_ALL: Final = -1  # instead of the place of one query
_QUICK_BYTES: Final = 1 << 14  # of a document on which the work around an evaluation counts


class _Asked(NamedTuple):
    """One query: its question, and the place of its constants there."""

    question: _Shared
    row: int


class _Quick(NamedTuple):
    """A query as one expression: how many nodes it selects, or whether it matches.

    Attributes:
        ask: The expression.
        allowed: The number of elements up to which it may be asked so.
    """

    ask: Any
    allowed: float


class _Shared(OpenQuestion):
    """The queries of a question, compiled when the first of them is asked."""

    __slots__ = ("_compiled",)

    def __init__(self, question: Question, numbers: Indices) -> None:
        super().__init__(question, numbers)
        self._compiled: dict[int, CompiledQuestion] = {}

    def query(
        self, row: int, namespaces: Mapping[str, str], limit: float
    ) -> tuple[CompiledQuestion, Variables]:
        """A query: what to evaluate, and the values of its variables.

        Literals are faster than variables, so few queries are each compiled with their constants.
        """
        compiled = self._compiled.get(row)
        if compiled is not None:
            return compiled, NO_VARIABLES
        constants = self.question.constants
        if constants is None or (
            len(constants) <= COMPILED_EACH and _can_be_written(constants, row)
        ):
            question = self.question.one(row)
            compiled = CompiledQuestion(question, namespaces, limit, written=True)
            self._compiled[row] = compiled
            return compiled, NO_VARIABLES
        compiled = self._compiled.get(_ALL)
        if compiled is None:
            compiled = CompiledQuestion(self.question, namespaces, limit, written=True)
            self._compiled[_ALL] = compiled
        return compiled, constants.variables(row)


def _can_be_written(constants: Constants, row: int) -> bool:
    """Whether constants are literals of XPath, which has none with both kinds of quotes."""
    return not any("'" in text and '"' in text for text in constants.row(row))


def most_elements(document: bytes) -> int:
    """The number of a document's elements, or more: counting tags takes no parser.

    >>> most_elements(b"<a><b/></a>"), most_elements(b"<a><!-- </a> --></a>")
    (2, 4)
    """
    tags = document.count(b"<")
    return tags if b"<!" in document else tags - document.count(b"</")


class TreeQueries:
    """Queries for trees, known by their numbers.

    Args:
        namespaces: Prefix to namespace URI, for all queries.
        select: What to select.
        limits: The time and memory of a query that may take very long.
        divided: Whether what has one value in a document is evaluated once where that may be worth
            while.

    Attributes:
        columns: Takes over questions that cost less in columns.
        pairs: How many times a query was evaluated on a document.
        guarded: How often that was in a process of its own.
    """

    def __init__(
        self, namespaces: Mapping[str, str], select: Select, limits: Limits, divided: bool = True
    ) -> None:
        self._divided = divided
        self.pairs = 0
        self.guarded = 0
        self._documents = 0
        self._namespaces = dict(namespaces)
        self._select = select
        self._limits = limits
        self._limit = limit_for(limits.query_seconds)
        self._queries: dict[int, _Asked] = {}
        self._quick: dict[int, _Quick] = {}
        self._parser = make_parser()  # of small documents
        self.columns = OpenColumns(self._namespaces, select, limits)

    def __len__(self) -> int:
        return len(self._queries)

    def __contains__(self, number: int) -> bool:
        return number in self._queries

    def bind(self, namespaces: Mapping[str, str]) -> None:
        """Binds further prefixes, for queries that come."""
        self._namespaces.update(namespaces)

    def add(self, question: Question, numbers: Indices) -> None:
        """Adds the queries of a question, with new numbers."""
        shared = _Shared(question, numbers)
        self.columns.forget()
        for row, number in enumerate(numbers.tolist()):
            self._queries[number] = _Asked(shared, row)

    def remove(self, numbers: Iterable[int]) -> None:
        """Removes queries; others are ignored."""
        gone = [number for number in numbers if self._queries.pop(number, None) is not None]
        for number in gone:
            self._quick.pop(number, None)
        if gone:
            self.columns.forget()

    @contextmanager
    def with_queries(self, queries: Sequence[tuple[Question, Indices]]) -> Iterator[list[int]]:
        """Has further queries for a while; yields their numbers."""
        numbers = [number for _, own in queries for number in own.tolist()]
        try:
            for question, own in queries:
                self.add(question, own)
            yield numbers
        finally:
            self.remove(numbers)

    def counts(self, document: bytes, numbers: Sequence[int]) -> list[tuple[int, int]] | None:
        """The queries that match a small document, each with the number of nodes that it selects.

        Args:
            document: A well-formed document.
            numbers: The queries that are asked.

        Returns:
            None if `match` must evaluate them: what it takes is to be measured, columns answer
            some of them, or one takes long or fails.
        """
        turn = self._documents + 1
        is_measured = turn <= _MEASURED or turn % _MEASURED == 0
        if is_measured or self.columns.are_used or len(document) > _QUICK_BYTES:
            return None
        found = self.quick_counts(document, numbers)
        if found is not None:
            self._documents = turn
        return found

    def quick_counts(self, document: bytes, numbers: Sequence[int]) -> list[tuple[int, int]] | None:
        """The same, without measuring; None if a query takes long or fails."""
        quick = self._quick
        asked = [quick.get(number) or self._as_quick(number) for number in numbers]
        allowed = min([one.allowed for one in asked], default=math.inf)
        if len(document) // _ELEMENT > allowed and most_elements(document) > allowed:
            return None
        found = []
        try:
            tree = parse_tree(document, self._parser)
            for number, one in zip(numbers, asked, strict=True):
                count = one.ask(tree)
                if count:
                    found.append((number, int(count)))
        except Exception as error:  # of one query, or of the document
            if is_out_of_memory(error):
                raise MemoryError from error
            return None
        self.pairs += len(numbers)
        return found

    def _as_quick(self, number: int) -> _Quick:
        shared, row = self._queries[number]
        question, values = shared.query(row, self._namespaces, self._limit)
        one = _Quick(None, -1.0)
        if len(question.branches) == 1 and question.countable:
            nodes = question.type is Type.NODES and self._select == "count"
            (ask,) = question.counting if nodes else question.existing
            whole = not self._divided or question.divided is None
            allowed = question.allowed if whole else DIVIDED_FROM
            one = _Quick(partial(ask, **values) if values else ask, allowed)
        self._quick[number] = one
        return one

    def match(
        self,
        collector: Collector,
        unit: int,
        document: bytes,
        table: Callable[[], NodeTable],
        numbers: Sequence[int],
    ) -> None:
        """Evaluates queries on a document, which is parsed at most once for all of them.

        Args:
            collector: Takes the answers, which have the numbers of the queries.
            unit: The number of the document in answers.
            document: A well-formed document.
            table: Returns the table with all its nodes; called if nodes are selected.
            numbers: The queries.

        Raises:
            MatcherError: libxml2 does not take the document.
        """
        queries, size = self._queries, len(document)
        asked = [(number, queries[number].question) for number in numbers]
        chosen, rest = self.columns.divide(asked, size)
        if chosen:
            self.columns.match(collector, unit, document, table, chosen)
        if rest:
            self._documents += 1
            # To look at the clock takes as long as a quick query on a small document.
            measured = self._documents <= _MEASURED or self._documents % _MEASURED == 0
            started = time.thread_time() if measured else 0.0
            tree = self._evaluation(document, table)
            # Each has its share in the tree, which columns do not need.
            share = 0.0
            if measured and all(queries[number].question.columnar for number in rest):
                share = (time.thread_time() - started) / len(rest)
            for number in rest:
                shared, row = queries[number]
                question, values = shared.query(row, self._namespaces, self._limit)
                if not measured:
                    tree.answer(collector, question, values, unit, number, self._select)
                    continue
                started = time.thread_time()
                tree.answer(collector, question, values, unit, number, self._select)
                shared.learn(share + time.thread_time() - started, size)
            self.pairs += len(rest)
            self.guarded += tree.guarded
        self.columns.review()

    def _evaluation(self, document: bytes, table: Callable[[], NodeTable]) -> TreeEvaluation:
        own: list[TableRefs] = []  # for all queries, made for the first that selects nodes

        def refs() -> TableRefs:
            if not own:
                own.append(TableRefs(table()))
            return own[0]

        # Every element has a "<": more than that they are not, and counting them takes no parser.
        most = document.count(b"<")
        try:
            return TreeEvaluation(document, most, refs, self._namespaces, self._limits)
        except etree.XMLSyntaxError as error:
            raise MatcherError(f"libxml2 rejects the document: {error}") from error
