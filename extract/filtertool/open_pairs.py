"""Pairs of query and document that the push engine leaves open, and their answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from extract.chunktool.scan.node_table import NodeTable
from extract.errors import MatcherError
from extract.filtertool.matchers.answer_collector import Collector
from extract.filtertool.matchers.protocol import Answers, Select
from extract.filtertool.matchers.push.engine_answers import EngineRows
from extract.filtertool.results.findings import is_true
from extract.filtertool.results.owners import Indices, Longs
from extract.filtertool.tree_queries import TreeQueries

MakeTable = Callable[[int], NodeTable]
"""Returns the table with all nodes of a loaded document."""


class OpenAnswers(NamedTuple):
    """The answers on pairs that the engine left open.

    Attributes:
        answers: The answers; questions are numbers of queries.
        refused: Documents that cannot be evaluated so, and must be evaluated whole.
    """

    answers: Answers
    refused: tuple[int, ...] = ()

    def counted(self) -> tuple[Indices, Indices, Longs]:
        """Document, query and number of nodes; a value counts as 1 if it is true."""
        answers = self.answers
        true = [(one.unit, one.question) for one in answers.values if is_true(one.value)]
        if not true:
            return answers.unit, answers.question, answers.count
        units, queries = np.array(true, np.int32).T
        return (
            np.concatenate([answers.unit, units]),
            np.concatenate([answers.question, queries]),
            np.concatenate([answers.count, np.ones(len(true), np.int64)]),
        )


def answer_open_pairs(
    trees: TreeQueries,
    documents: Sequence[bytes],
    candidates: EngineRows,
    select: Select,
    table: MakeTable,
) -> OpenAnswers:
    """Answers the pairs that the engine left open.

    Args:
        trees: The queries.
        documents: The documents of a batch.
        candidates: The pairs, sorted by document.
        select: What to select.
        table: Makes tables of documents.
    """
    collector = Collector(select)
    refused = []
    for unit, numbers in _by_unit(candidates.unit, candidates.query):
        counts = None if select == "nodes" else trees.counts(documents[unit], numbers)
        if counts is not None:
            collector.counts(unit, counts)
            continue
        try:
            trees.match(collector, unit, documents[unit], lambda: table(unit), numbers)  # noqa: B023
        except MatcherError:  # libxml2 has the last word on documents: it judges the whole one
            refused.append(unit)
    return OpenAnswers(collector.answers(), tuple(refused))


def _by_unit(unit: Indices, query: Indices) -> list[tuple[int, list[int]]]:
    """The queries of each document.

    >>> _by_unit(np.array([1, 1, 4]), np.array([5, 6, 5]))
    [(1, [5, 6]), (4, [5])]
    """
    pairs: dict[int, list[int]] = {}
    for document, number in zip(unit.tolist(), query.tolist(), strict=True):
        pairs.setdefault(document, []).append(number)
    return list(pairs.items())
