"""The first stage of a filter: documents through the push engine, and what it leaves open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.scan.node_table import NodeTable
from extract.filtertool.document_cutter import DocumentCutter
from extract.filtertool.matchers.answer_collector import Collector
from extract.filtertool.matchers.node_refs import NodeRefs
from extract.filtertool.matchers.protocol import Nodes, Question
from extract.filtertool.matchers.push.engine_answers import (
    EngineFound,
    EngineNodes,
    EngineRows,
    EngineValues,
    node_refs,
)
from extract.filtertool.open_pairs import OpenAnswers, answer_open_pairs
from extract.filtertool.options import Options
from extract.filtertool.push_queries import PushQueries, written_question
from extract.filtertool.results.describe_nodes import NodeDescriber
from extract.filtertool.results.direct_rows import described_findings, direct_findings
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.merge import Answered, Merger
from extract.filtertool.results.owners import Indices, Owners
from extract.filtertool.scheme_view import SchemeView

Failures = dict[int, str]
"""By query, why it could not be evaluated."""

_NOTHING: Final = Findings.none()
_NO_ANSWERS: Final = OpenAnswers(Collector("count").answers())


class StageMatches(NamedTuple):
    """What was found in a batch of documents.

    Attributes:
        done: For each document whether it was matched; any other must be matched in another way.
        rows: What the engine found.
        nodes: The nodes of these rows, where they are asked for.
        values: Then also the values of queries that are numbers or strings.
        open: The answers on what the engine left open.
        table: Returns the table with all nodes of a document.
    """

    done: NDArray[np.bool_]
    rows: EngineRows
    nodes: EngineNodes | None
    values: EngineValues | None
    open: OpenAnswers
    table: Callable[[int], NodeTable]

    @property
    def is_without_failures(self) -> bool:
        """Whether all queries could be evaluated."""
        return not self.open.answers.failures


class PushStage:
    """Matches documents with queries: the engine, and trees for what it leaves open.

    Args:
        queries: The queries.
        view: Returns the scheme of the queries, as it is now.
        cutter: Returns what makes tables with all nodes of documents that this stage takes.
        options: How to filter.
        turn: Held while something else than the engine works, which only one thread may use at a
            time.
    """

    def __init__(
        self,
        queries: PushQueries,
        view: Callable[[], SchemeView],
        cutter: Callable[[], DocumentCutter],
        options: Options,
        turn: AbstractContextManager[object],
    ) -> None:
        self.queries = queries
        self._view = view
        self._cutter = cutter
        self._options = options
        self._turn = turn
        self._pairs = dict.fromkeys(("push", "excluded"), 0)

    def complete(
        self, documents: Sequence[bytes], done: NDArray[np.bool_], found: EngineFound
    ) -> StageMatches:
        """Answers what the engine left open.

        Args:
            documents: All documents.
            done: For each of them whether the engine of this stage has matched it.
            found: What it found.
        """
        trees, rows, candidates = self.queries.trees, found.matches, found.candidates
        tables: dict[int, NodeTable] = {}

        def table(unit: int) -> NodeTable:
            if unit not in tables:
                tables[unit] = self._cutter().table_of(documents[unit])
            return tables[unit]

        opened, overrun = _NO_ANSWERS, 0
        if len(candidates.unit):
            with self._turn, trees.with_queries(self._overrun(candidates)) as lent:
                overrun = int(np.isin(candidates.query, lent).sum())
                opened = answer_open_pairs(
                    trees, documents, candidates, self._options.select, table
                )
        if opened.refused:
            done = done.copy()
            done[list(opened.refused)] = False
            rows = rows.where(done[rows.unit])
        self.count_pairs(int(np.count_nonzero(done)), len(candidates.unit) - overrun)
        self._pairs["push"] -= overrun
        return StageMatches(done, rows, found.nodes, found.values, opened, table)

    def _overrun(self, candidates: EngineRows) -> list[tuple[Question, Indices]]:
        """The queries of which the engine took too many steps on a document, though it decides
        them on others."""
        trees = self.queries.trees
        numbers = [n for n in np.unique(candidates.query).tolist() if n not in trees]
        if not numbers:
            return []
        scheme, present = self._view()
        members = np.searchsorted(present, numbers)
        return [
            (
                written_question(scheme, int(scheme.directory.templates[member]), member[None]),
                number,
            )
            for member, number in zip(members, np.array(numbers, np.int32)[:, None], strict=True)
        ]

    def count_pairs(self, documents: int, open_pairs: int) -> None:
        """Takes note of documents that the engine has matched."""
        trees = len(self.queries.trees)
        self._pairs["push"] += documents * (len(self.queries.engine) - trees)
        self._pairs["excluded"] += documents * trees - open_pairs

    def figures(self) -> dict[str, float]:
        """What was done so far."""
        trees = self.queries.trees
        figures: dict[str, float] = {f"pairs_{name}": n for name, n in self._pairs.items()}
        figures["pairs_lxml"] = trees.pairs
        figures["pairs_columns"] = trees.columns.pairs
        if trees.guarded:
            figures["guarded_evaluations"] = trees.guarded
        return figures

    # -- rows

    def counted(self, found: StageMatches) -> EngineRows:
        """All rows of a batch, where nodes are not asked for."""
        rows = found.rows
        if found.open is _NO_ANSWERS:
            return rows
        unit, query, count = found.open.counted()
        if not len(unit):
            return rows
        keep = found.done[unit]
        unit = np.concatenate([rows.unit, unit[keep]])
        query = np.concatenate([rows.query, query[keep]])
        order = np.lexsort((query, unit))
        value = rows.value
        if self._options.select == "count":
            value = np.concatenate([value, count[keep]])[order]
        return EngineRows(unit[order], query[order], value, rows.number)

    def failures(self, found: StageMatches) -> dict[int, Failures]:
        """By document, queries that could not be evaluated."""
        failures: dict[int, Failures] = {}
        for unit, query, reason in found.open.answers.failures:
            if found.done[unit]:
                failures.setdefault(unit, {})[query] = reason
        return failures

    def findings(self, found: StageMatches) -> Iterator[tuple[int, Findings, Failures]]:
        """Yields the rows of each document that was matched, as `nodes` does, whatever they are."""
        if self._options.select == "nodes":
            yield from self.nodes(found)
            return
        rows, failures, none = self.counted(found), self.failures(found), _NOTHING
        ends = [len(rows.unit)]
        if len(found.done) > 1:
            ends = np.searchsorted(rows.unit, np.arange(1, len(found.done) + 1)).tolist()
        for unit in np.flatnonzero(found.done).tolist():
            own = slice(ends[unit - 1] if unit else 0, ends[unit])
            who = rows.query[own]
            count = rows.value[own] if len(rows.value) else np.ones(len(who), np.int64)
            findings = Findings(who, count, none.node, none.ordinal, none.described)
            yield unit, findings, failures.get(unit, {})

    def nodes(self, found: StageMatches) -> Iterator[tuple[int, Findings, Failures]]:
        """Yields the rows of each document that was matched, where nodes are asked for.

        Also queries that could not be evaluated on it, or select too much of it.
        """
        described, failures = found.nodes, self.failures(found)
        assert described is not None
        values: dict[int, dict[int, float | str | bool]] = {}
        for unit, number, value in found.open.answers.values:
            values.setdefault(unit, {})[number] = value
        opened = found.open.answers.nodes
        is_described = described.described
        if self._options.standalone:  # the engine writes elements as they are in the document
            is_described = [False] * len(is_described)
        rest = None if all(is_described) else _RowsOfUnits(found.rows, self.queries)
        for unit in np.flatnonzero(found.done).tolist():
            known, failed = values.get(unit, {}), failures.get(unit, {})
            query, refs, findings = found.rows.query[:0], None, _NOTHING
            if is_described[unit]:
                findings = described_findings(described, unit)
            else:
                assert rest is not None
                query, refs = rest.nodes(unit)
                own = {} if found.values is None else found.values.of_unit(unit)
                known = rest.values(unit) | own | known
            if opened is not None:
                query, refs = _with_opened(query, refs, opened, unit)
            if refs is not None or known or failed:
                more, failed = self._findings(found, unit, query, refs, known, failed)
                findings = Findings.together([findings, more])
            yield unit, findings, failed

    def _findings(
        self,
        found: StageMatches,
        unit: int,
        query: Indices,
        refs: NodeRefs | None,
        values: dict[int, float | str | bool],
        failed: Failures,
    ) -> tuple[Findings, Failures]:
        options = self._options
        limits = options.limits
        if refs is None:
            refs, describer, size = NodeRefs.of([]), None, 0
        else:
            table = found.table(unit)
            describer = NodeDescriber(table, limits.value_bytes, options.standalone, None)
            size = len(query) * len(table.data)
        if not failed and len(query) <= limits.query_rows and size <= limits.query_bytes:
            return direct_findings(query, refs, values, describer, limits.value_bytes), failed
        merger = Merger("nodes", limits)
        if describer is not None:
            nodes = Nodes(np.zeros(len(query), np.int32), query, refs)
            merger.nodes(Answered(table, nodes, describer))
        for number, value in values.items():
            merger.value(number, value)
        for number, reason in failed.items():
            merger.fail(number, reason)
        most = max([int(query.max(initial=-1)), *values])
        return merger.findings(Owners.themselves(most + 1)), merger.failed


class _RowsOfUnits:
    """The rows of the engine by document, for those that it has not described.

    Args:
        rows: The rows.
        queries: The queries.
    """

    def __init__(self, rows: EngineRows, queries: PushQueries) -> None:
        are_conditions = queries.are_conditions(rows.query)
        self._held = rows.where(are_conditions)
        self._nodes = rows.where(~are_conditions)
        self._false: dict[int, bool] = dict.fromkeys(queries.conditions.tolist(), False)

    def nodes(self, unit: int) -> tuple[Indices, NodeRefs | None]:
        """The nodes in a document, and the query of each."""
        own = self._nodes.of_unit(unit)
        return own.query, node_refs(own) if len(own.query) else None

    def values(self, unit: int) -> dict[int, float | str | bool]:
        """Which queries that are no node sets hold; the others do not, unless they are open."""
        first, end = np.searchsorted(self._held.unit, [unit, unit + 1]).tolist()
        return {**self._false, **dict.fromkeys(self._held.query[first:end].tolist(), True)}


def _with_opened(
    query: Indices, refs: NodeRefs | None, opened: Nodes, unit: int
) -> tuple[Indices, NodeRefs | None]:
    """The nodes that the engine selected in a document, and those of open queries, by query."""
    first, end = np.searchsorted(opened.unit, [unit, unit + 1]).tolist()
    if first == end:
        return query, refs
    more = opened.refs.take(slice(first, end))
    queries = np.concatenate([query, opened.question[first:end]])
    order = np.argsort(queries, kind="stable")
    every = more if refs is None else NodeRefs.concat([refs, more])
    return queries[order], every.take(order)
