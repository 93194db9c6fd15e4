"""Collects the answers to single questions into the columns of `Answers`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from extract.filtertool.matchers.node_refs import NodeRefs
from extract.filtertool.matchers.protocol import Answers, Failure, Nodes, Select, Value

_NONE = np.empty(0, np.int32)
_NO_COUNTS = np.empty(0, np.int64)


class Collector:
    """Builds `Answers` for matchers that evaluate unit by unit and question by question.

    Args:
        select: Whether nodes, counts, or only matching questions are collected.

    >>> collector = Collector("count")
    >>> collector.count(0, 0, 0); collector.count(0, 1, 5)
    >>> answers = collector.answers()
    >>> answers.question.tolist(), answers.count.tolist()
    ([1], [5])
    """

    def __init__(self, select: Select) -> None:
        self._select = select
        self._counts: list[tuple[int, int, int]] = []
        self._nodes: list[NodeRefs] = []
        self._listed: list[tuple[int, int, int]] = []  # those after them
        self._values: list[Value] = []
        self._failures: list[Failure] = []

    def count(self, unit: int, question: int, count: int) -> None:
        """Adds the number of nodes that a question selects; 0 is left out."""
        if count:
            self._counts.append((unit, question, 1 if self._select == "doc" else count))

    def counts(self, unit: int, counts: Sequence[tuple[int, int]]) -> None:
        """Adds numbers of nodes, each with its question; none is 0."""
        doc = self._select == "doc"
        self._counts += [(unit, question, 1 if doc else count) for question, count in counts]

    def nodes(self, unit: int, question: int, refs: NodeRefs) -> None:
        """Adds the nodes that a question selects, each once and in document order."""
        if len(refs):
            self._counts.append((unit, question, len(refs)))
            self._put_listed()
            self._nodes.append(refs)

    def listed(self, unit: int, question: int, refs: Sequence[tuple[int, int, int]]) -> None:
        """The same with kind, row and number of each node; there is at least one."""
        self._counts.append((unit, question, len(refs)))
        self._listed += refs

    def _put_listed(self) -> None:
        if self._listed:
            self._nodes.append(NodeRefs.of(self._listed))
            self._listed = []

    def value(self, unit: int, question: int, value: float | str | bool) -> None:
        """Adds the value of a question that is no node set."""
        self._values.append(Value(unit, question, value))

    def fail(self, unit: int, question: int, reason: str) -> None:
        """Adds a question that could not be answered."""
        self._failures.append(Failure(unit, question, reason))

    def answers(self) -> Answers:
        """Returns everything added."""
        if not self._counts and self._select != "nodes":
            values, failures = tuple(self._values), tuple(self._failures)
            return Answers(_NONE, _NONE, _NO_COUNTS, None, values, failures)
        columns = np.array(self._counts, np.int64).reshape(-1, 3)
        unit, question = columns[:, 0].astype(np.int32), columns[:, 1].astype(np.int32)
        count = columns[:, 2]
        nodes = None
        if self._select == "nodes":
            self._put_listed()
            refs = self._nodes[0] if len(self._nodes) == 1 else NodeRefs.concat(self._nodes)
            nodes = Nodes(np.repeat(unit, count), np.repeat(question, count), refs)
        return Answers(unit, question, count, nodes, tuple(self._values), tuple(self._failures))
