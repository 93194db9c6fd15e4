"""Answers questions with constants: compiled once, evaluated for all queries together.

On a batch, the anchors of a branch are found without parameters (`anchors`); then the queries that
may select something from them (`candidates`); then what is left of the conditions is evaluated on
these pairs of a node and a query (`pair_evaluator`), and the result from those that remain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from extract.filtertool.matchers.columnar.accept import reason_against
from extract.filtertool.matchers.columnar.access import SELF, AccessLeaf
from extract.filtertool.matchers.columnar.anchors import (
    AnchoredPath,
    ConstantValue,
    anchored,
    constant_value,
)
from extract.filtertool.matchers.columnar.answering import Selection
from extract.filtertool.matchers.columnar.candidates import MOST_CHECKS, Candidates, blocks
from extract.filtertool.matchers.columnar.columns import BeyondMemory, Ints
from extract.filtertool.matchers.columnar.constant_columns import ConstantColumns
from extract.filtertool.matchers.columnar.evaluator import ContextNodes, Evaluator
from extract.filtertool.matchers.columnar.node_values import ConstantCheck, ValueCache
from extract.filtertool.matchers.columnar.operands import comparison_of, search_of
from extract.filtertool.matchers.columnar.pair_evaluator import (
    PairEvaluator,
    distinct_nodes,
    narrowed,
)
from extract.filtertool.matchers.columnar.spines import Declined
from extract.filtertool.matchers.protocol import Question, Value
from extract.xpath.ast import Expr, LocationPath
from extract.xpath.functions import Type
from extract.xpath.parameters import has_parameters, parse_shape

BLOCK: Final = 1 << 17  # the most pairs that are evaluated at once
_NODES: Final = 1 << 20  # nodes that they may lead to, as far as can be told
_FEW: Final = 4  # a block with so many times fewer pairs than there are anchors has its own


class ParametricQuestion:
    """A question with constants, compiled.

    Args:
        question: The question.
        first: The number of its first query.

    Attributes:
        first: The number of its first query.
        type: The type of its result.
        constants: Its constants.
        paths: Its branches, if they select nodes.
        value: What it evaluates, if it is no node set.

    Raises:
        Declined: Columns cannot answer a part of it.
    """

    def __init__(self, question: Question, first: int) -> None:
        assert question.constants is not None
        self.first = first
        self.type = question.type
        self.paths: list[AnchoredPath] = []
        self.value: ConstantValue | None = None
        for xpath in question.branches:
            expr = parse_shape(xpath)
            reason = reason_against(expr)
            if reason:
                raise Declined(reason)
            if question.type is Type.NODES:
                self.paths += anchored(expr)
            else:
                self.value = constant_value(expr, question.type)
        self.constants = ConstantColumns(question.constants)


class ParametricRun:
    """Questions with constants on one batch.

    Args:
        run: The batch.
    """

    def __init__(self, run: Evaluator) -> None:
        self._run = run
        self._values = ValueCache(run)
        self._anchors: dict[tuple[LocationPath, LocationPath | None], Ints] = {}

    # -- node sets

    def selections(self, question: ParametricQuestion, paths: Sequence[int]) -> list[Selection]:
        """Returns the nodes that some of a question's branches select, perhaps with duplicates.

        Raises:
            BeyondMemory: One query on one node takes too much memory.
        """
        evaluator = PairEvaluator(self._run, self._values, question.constants)
        parts: list[Selection] = []
        for number in paths:
            path = question.paths[number]
            for part in self._selected(evaluator, question, path):
                parts.append(part._replace(question=part.question + question.first))
        return parts

    def _selected(
        self, evaluator: PairEvaluator, question: ParametricQuestion, path: AnchoredPath
    ) -> Iterator[Selection]:
        nodes = self._anchors_of(path)
        if not nodes.size:
            return
        found = Candidates(self._run, self._values, question.constants).find(path.access, nodes)
        checks, rest = self._checks(path, question.constants, nodes, found.leaf)
        general = bool(rest) or (path.result is not None and has_parameters(path.result))
        size = self._block_size(len(nodes)) if general else BLOCK
        for place, query in blocks(found.ranges(), checks, question.constants, size):
            if (rest or path.result is not None) and _FEW * len(place) < len(nodes):
                few, back = distinct_nodes(nodes[place])
                at = evaluator.contexts(few, back, query)
            else:
                at = evaluator.contexts(nodes, place, query)
            yield from _selected_from(evaluator, path, rest, at)

    def _anchors_of(self, path: AnchoredPath) -> Ints:
        key = (path.anchors, path.exists)
        nodes = self._anchors.get(key)
        if nodes is None:
            nodes = self._run.nodes(path.anchors, ContextNodes(self._run.columns.documents)).nodes
            if path.exists is not None and nodes.size:
                nodes = nodes[self._run.truth(path.exists, ContextNodes(nodes))]
            self._anchors[key] = nodes
            self._values.keep(nodes)
        return nodes

    def _checks(
        self,
        path: AnchoredPath,
        constants: ConstantColumns,
        nodes: Ints,
        leaf: AccessLeaf | None,
    ) -> tuple[list[ConstantCheck], list[Expr]]:
        """Returns the conditions that compare numbers, and the others; without the candidates'."""
        known = leaf.test if leaf is not None and leaf.prefix == SELF else None
        checks: list[ConstantCheck] = []
        rest: list[Expr] = []
        for condition in path.conditions:
            comparison = comparison_of(condition)
            if known is not None and known in (comparison, search_of(condition)):
                continue
            check = None
            if comparison is not None and len(checks) < MOST_CHECKS:
                check = self._values.of(comparison.value, nodes).check(comparison, constants)
            if check is None:
                rest.append(condition)
            else:
                checks.append(check)
        return checks, rest

    def _block_size(self, nodes: int) -> int:
        """Returns how many pairs are evaluated at once if they lead to other nodes."""
        each = 1 + self._run.columns.rows // max(1, nodes)
        return max(1, min(BLOCK, _NODES // each))

    # -- values

    def values(self, question: ParametricQuestion) -> list[Value]:
        """Returns the value for each unit and query.

        Raises:
            BeyondMemory: One query on one unit takes too much memory.
        """
        assert question.value is not None
        expr, default, access = question.value
        documents = self._run.columns.documents
        self._values.keep(documents)
        evaluator = PairEvaluator(self._run, self._values, question.constants)
        found = Candidates(self._run, self._values, question.constants).find(access, documents)
        out = np.full((len(documents), question.constants.queries), default, np.object_)
        size = self._block_size(len(documents))
        for place, query in blocks(found.ranges(), (), question.constants, size):
            at = evaluator.contexts(documents, place, query)
            out[place, query] = _values_at(evaluator, expr, question.type, at)
        return [
            Value(unit, question.first + query, value)
            for unit, row in enumerate(out.tolist())
            for query, value in enumerate(row)
        ]


def _selected_from(
    evaluator: PairEvaluator, path: AnchoredPath, rest: Sequence[Expr], at: ContextNodes
) -> Iterator[Selection]:
    """Yields what is selected from pairs that meet all conditions but the given ones."""
    try:
        for condition in rest:
            at = narrowed(at, evaluator.truth(condition, at))
            if not at.nodes.size:
                return
        assert at.queries is not None
        if path.result is None:
            selection = Selection(at.queries.query, at.nodes)
        else:
            owner, nodes = evaluator.nodes(path.result, at)
            selection = Selection(at.queries.query[owner], nodes)
    except BeyondMemory:
        if len(at.nodes) == 1:
            raise
    else:
        yield selection
        return
    for half in _halves(evaluator, at):
        yield from _selected_from(evaluator, path, rest, half)


def _values_at(evaluator: PairEvaluator, expr: Expr, kind: Type, at: ContextNodes) -> list[Any]:
    values: list[Any]
    try:
        if kind is Type.BOOLEAN:
            values = evaluator.truth(expr, at).tolist()
        elif kind is Type.NUMBER:
            values = evaluator.number(expr, at).tolist()
        else:
            values = [text.decode() for text in evaluator.string(expr, at).tolist()]
        return values
    except BeyondMemory:
        if len(at.nodes) == 1:
            raise
    first, second = _halves(evaluator, at)
    return [*_values_at(evaluator, expr, kind, first), *_values_at(evaluator, expr, kind, second)]


def _halves(evaluator: PairEvaluator, at: ContextNodes) -> list[ContextNodes]:
    assert at.queries is not None
    halves = np.array_split(np.arange(len(at.nodes)), 2)
    return [
        evaluator.contexts(*distinct_nodes(at.nodes[half]), at.queries.query[half])
        for half in halves
    ]
