"""The first stage of a filter: documents through the push engine, and what it leaves open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.scan.node_table import NodeTable
from extract.filtertool.document_cutter import DocumentCutter
from extract.filtertool.matchers.answer_collector import Collector
from extract.filtertool.matchers.node_refs import NodeRefs
from extract.filtertool.matchers.protocol import Nodes
from extract.filtertool.matchers.push.engine import EngineRows
from extract.filtertool.matchers.push.factory import node_refs
from extract.filtertool.open_pairs import OpenAnswers, answer_open_pairs
from extract.filtertool.options import Options
from extract.filtertool.push_queries import PushQueries
from extract.filtertool.results.describe_nodes import NodeDescriber
from extract.filtertool.results.direct_rows import direct_findings
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.merge import Answered, Merger
from extract.filtertool.results.owners import Indices, Owners

Failures = dict[int, str]
"""By query, why it could not be evaluated."""

_NOTHING: Final = Findings.none()
_NO_ANSWERS: Final = OpenAnswers(Collector("count").answers())


class StageMatches(NamedTuple):
    """What was found in a batch of documents.

    Attributes:
        done: For each document whether it was matched; any other must be matched in another way.
        strange: For each document whether the engine did not take it as it is.
        rows: What the engine found.
        open: The answers on what the engine left open.
        table: Returns the table with all nodes of a document.
    """

    done: NDArray[np.bool_]
    strange: NDArray[np.bool_]
    rows: EngineRows
    open: OpenAnswers
    table: Callable[[int], NodeTable]

    @property
    def is_simple(self) -> bool:
        """Whether the engine left nothing open, so that `rows` are all."""
        answers = self.open.answers
        return not (len(answers.unit) or answers.values or answers.failures)


class PushStage:
    """Matches documents with queries: the engine, and trees for what it leaves open.

    Args:
        queries: The queries.
        cutter: Returns what makes tables with all nodes of documents that this stage takes.
        options: How to filter.
        turn: Held while something else than the engine works, which only one thread may use at a
            time.
    """

    def __init__(
        self,
        queries: PushQueries,
        cutter: Callable[[], DocumentCutter],
        options: Options,
        turn: AbstractContextManager[object],
    ) -> None:
        self.queries = queries
        self._cutter = cutter
        self._options = options
        self._turn = turn
        self._pairs = dict.fromkeys(("push", "excluded"), 0)

    def match(self, documents: Sequence[bytes]) -> StageMatches:
        """Matches documents."""
        engine, trees = self.queries.engine, self.queries.trees
        done, rows, candidates = engine.match(documents)
        matched = done == 1
        tables: dict[int, NodeTable] = {}

        def table(unit: int) -> NodeTable:
            if unit not in tables:
                tables[unit] = self._cutter().table_of(documents[unit])
            return tables[unit]

        if len(candidates.unit):
            with self._turn:
                opened = answer_open_pairs(
                    trees, documents, candidates, self._options.select, table
                )
        else:
            opened = _NO_ANSWERS
        if opened.refused:
            matched[list(opened.refused)] = False
            rows = rows.where(matched[rows.unit])
        count = int(matched.sum())
        self._pairs["push"] += count * (len(engine) - len(trees))
        self._pairs["excluded"] += count * len(trees) - len(candidates.unit)
        return StageMatches(matched, done == 0, rows, opened, table)

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
        rows, failures, none = self.counted(found), self.failures(found), Findings.none()
        for unit in np.flatnonzero(found.done).tolist():
            own = slice(*np.searchsorted(rows.unit, [unit, unit + 1]).tolist())
            who = rows.query[own]
            count = rows.value[own] if len(rows.value) else np.ones(len(who), np.int64)
            findings = Findings(who, count, none.node, none.ordinal, none.described)
            yield unit, findings, failures.get(unit, {})

    def nodes(self, found: StageMatches) -> Iterator[tuple[int, Findings, Failures]]:
        """Yields the rows of each document that was matched, where nodes are asked for.

        Also queries that could not be evaluated on it, or select too much of it.
        """
        rows, answers, failures = found.rows, found.open.answers, self.failures(found)
        conditions = self.queries.conditions
        true: dict[int, list[int]] = {}
        if len(conditions):
            is_condition = self.queries.are_conditions(rows.query)
            held = rows.where(is_condition)
            for unit, query in zip(held.unit.tolist(), held.query.tolist(), strict=True):
                true.setdefault(unit, []).append(query)
            rows = rows.where(~is_condition)
        opened = answers.nodes
        values: dict[int, dict[int, float | str | bool]] = {}
        for unit, query, value in answers.values:
            values.setdefault(unit, {})[query] = value
        every = np.arange(len(found.done) + 1)
        own = np.searchsorted(rows.unit, every).tolist()
        more = own[:0] if opened is None else np.searchsorted(opened.unit, every).tolist()
        for unit in np.flatnonzero(found.done).tolist():
            known = self._values(conditions, true.get(unit, ()), values.get(unit, {}))
            failed = failures.get(unit, {})
            query, refs = rows.query[:0], None
            if own[unit] < own[unit + 1]:
                part = rows.part(own[unit], own[unit + 1])
                query, refs = part.query, node_refs(part)
            if opened is not None and more[unit] < more[unit + 1]:
                place = slice(more[unit], more[unit + 1])
                query, refs = _joined(query, refs, opened.question[place], opened.refs.take(place))
            findings = _NOTHING
            if refs is not None or known or failed:
                findings, failed = self._findings(found, unit, query, refs, known, failed)
            yield unit, findings, failed

    def _values(
        self, conditions: Indices, true: Iterable[int], values: dict[int, float | str | bool]
    ) -> dict[int, float | str | bool]:
        """The values of queries that are no node sets; conditions that were not met are false."""
        if not len(conditions):
            return values
        known: dict[int, float | str | bool] = dict.fromkeys(conditions.tolist(), False)
        known.update(dict.fromkeys(true, True))
        known.update(values)
        return known

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


def _joined(
    query: Indices, refs: NodeRefs | None, others: Indices, other_refs: NodeRefs
) -> tuple[Indices, NodeRefs]:
    """The nodes that the engine selected, and others, by query."""
    queries = np.concatenate([query, others])
    order = np.argsort(queries, kind="stable")
    every = other_refs if refs is None else NodeRefs.concat([refs, other_refs])
    return queries[order], every.take(order)
