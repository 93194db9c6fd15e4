"""Turns selected nodes into answers, and joins the answers of several matchers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.filtertool.matchers.columnar.columns import NOTHING, Bools, Columns, Ints, distinct
from extract.filtertool.matchers.node_refs import NodeRefs
from extract.filtertool.matchers.protocol import Answers, Failure, Nodes, Select, Value
from extract.markup.node_kinds import LEAF_KINDS, NodeKind


class Selection(NamedTuple):
    """Nodes that questions select, in any order, perhaps with duplicates."""

    question: Ints
    nodes: Ints


def answers_of(
    columns: Columns,
    selections: Sequence[Selection],
    select: Select,
    values: Sequence[Value],
    matching: Sequence[tuple[Ints, Ints]] = (),
) -> Answers:
    """Returns the answers on a batch.

    Args:
        columns: The batch.
        selections: The nodes that questions select.
        select: Whether nodes, counts, or only matching questions are requested.
        values: The values of questions that are no node sets.
        matching: Pairs of a unit and a question that matches there; only for ``doc``.
    """
    question = np.concatenate([NOTHING, *[part.question for part in selections]])
    nodes = np.concatenate([NOTHING, *[part.nodes for part in selections]])
    documents = nodes < columns.rows
    documents[documents] = columns.name[nodes[documents]] < 0
    if documents.any():  # a document node is no match
        question, nodes = question[~documents], nodes[~documents]
    unit = columns.unit_of(nodes)
    if select == "doc":
        unit = np.concatenate([unit, *[part[0] for part in matching]])
        question = np.concatenate([question, *[part[1] for part in matching]])
        span = int(question.max(initial=0)) + 1
        pairs = unit * span + question
        if (pairs[1:] <= pairs[:-1]).any():
            pairs = distinct(pairs)
        return _counted(pairs // span, pairs % span, np.ones(len(pairs), np.int64), None, values)
    return _sorted(columns, unit, question, nodes, select, values)


def _sorted(
    columns: Columns,
    unit: Ints,
    question: Ints,
    nodes: Ints,
    select: Select,
    values: Sequence[Value],
) -> Answers:
    """Returns the answers for nodes that come in runs: of one unit and question, in document order.

    Most questions have one run for a unit. Only the nodes of the other questions have to be sorted.
    """
    order = columns.order_of(nodes)
    begins = _changes(question) | _changes(unit)
    begins[1:] |= order[1:] <= order[:-1]
    first = np.flatnonzero(begins)
    sizes = np.diff(np.append(first, len(nodes)))
    span = int(question.max(initial=0)) + 1
    key = unit[first] * span + question[first]
    by = np.argsort(key, kind="stable")
    first, sizes, key = first[by], sizes[by], key[by]
    again = ~_changes(key)
    several = again.copy()
    several[:-1] |= again[1:]
    if select == "count" and not several.any():
        return _counted(key // span, key % span, sizes, None, values)
    starts = np.cumsum(sizes) - sizes
    nodes = nodes[np.arange(len(nodes)) + np.repeat(first - starts, sizes)]
    keys = np.repeat(key, sizes)
    if several.any():
        mixed = np.repeat(several, sizes)
        part = nodes[mixed]
        nodes[mixed] = part[np.lexsort((columns.order_of(part), keys[mixed]))]
        fresh = _changes(keys) | _changes(nodes)
        nodes, keys = nodes[fresh], keys[fresh]
    first = np.flatnonzero(_changes(keys))
    count = np.diff(np.append(first, len(nodes)))
    listed = _listed(columns, keys // span, keys % span, nodes) if select == "nodes" else None
    return _counted(keys[first] // span, keys[first] % span, count, listed, values)


def with_counts(answers: Answers, unit: Ints, question: Ints, count: Ints) -> Answers:
    """Adds questions that were only counted to the answers."""
    if not len(unit):
        return answers
    units = np.concatenate([unit, answers.unit])
    questions = np.concatenate([question, answers.question])
    counts = np.concatenate([count, answers.count])
    if len(answers.unit):
        by = np.lexsort((questions, units))
        units, questions, counts = units[by], questions[by], counts[by]
    return _counted(units, questions, counts, None, answers.values)


def _changes(column: Ints) -> Bools:
    out = np.ones(len(column), np.bool_)
    out[1:] = column[1:] != column[:-1]
    return out


def _counted(
    unit: Ints, question: Ints, count: Ints, nodes: Nodes | None, values: Sequence[Value]
) -> Answers:
    units, questions = unit.astype(np.int32), question.astype(np.int32)
    return Answers(units, questions, count.astype(np.int64), nodes, tuple(values))


def _listed(columns: Columns, unit: Ints, question: Ints, nodes: Ints) -> Nodes:
    """Returns the nodes with references to their unit's table."""
    kind = columns.kind_of(nodes)
    owner = np.where(kind == NodeKind.ELEMENT.value, nodes, columns.parent_of(nodes))
    number = np.zeros(len(nodes), np.int32)
    for leaf in LEAF_KINDS:
        mask = kind == leaf.value
        number[mask] = columns.leaves[leaf].number[nodes[mask] - columns.bounds[leaf]]
    mask = kind == NodeKind.ATTRIBUTE.value
    if mask.any():
        inside = nodes[mask] - columns.bounds[NodeKind.ATTRIBUTE]
        number[mask] = columns.attributes.number[inside]
    row = (owner - columns.documents[unit] - 1).astype(np.int32)
    refs = NodeRefs(kind.astype(np.int8), row, number)
    return Nodes(unit.astype(np.int32), question.astype(np.int32), refs)


class PartialAnswers(NamedTuple):
    """The answers of one matcher, with the units and questions that it had."""

    answers: Answers
    units: NDArray[np.int32]
    questions: NDArray[np.int32]


def united(
    shares: Sequence[PartialAnswers], select: Select, failures: Sequence[Failure]
) -> Answers:
    """Joins the answers of several matchers that had different units or questions."""
    none = np.empty(0, np.int32)
    unit = np.concatenate([none, *[s.units[s.answers.unit] for s in shares]])
    question = np.concatenate([none, *[s.questions[s.answers.question] for s in shares]])
    count = np.concatenate([np.empty(0, np.int64), *[s.answers.count for s in shares]])
    by = np.lexsort((question, unit))
    return Answers(
        unit[by],
        question[by],
        count[by],
        _united_nodes(shares) if select == "nodes" else None,
        tuple(_moved_value(s, value) for s in shares for value in s.answers.values),
        (
            *failures,
            *[_moved_failure(s, failure) for s in shares for failure in s.answers.failures],
        ),
    )


def _moved_value(share: PartialAnswers, value: Value) -> Value:
    unit, question = int(share.units[value.unit]), int(share.questions[value.question])
    return Value(unit, question, value.value)


def _moved_failure(share: PartialAnswers, failure: Failure) -> Failure:
    unit, question = int(share.units[failure.unit]), int(share.questions[failure.question])
    return Failure(unit, question, failure.reason)


def _united_nodes(shares: Sequence[PartialAnswers]) -> Nodes:
    parts = [(s, s.answers.nodes) for s in shares if s.answers.nodes is not None]
    if not parts:
        none = np.empty(0, np.int32)
        return Nodes(none, none, NodeRefs.of([]))
    unit = np.concatenate([s.units[nodes.unit] for s, nodes in parts])
    question = np.concatenate([s.questions[nodes.question] for s, nodes in parts])
    by = np.lexsort((question, unit))  # stable: nodes stay in document order
    refs = NodeRefs.concat([nodes.refs for _, nodes in parts])
    return Nodes(unit[by], question[by], refs.take(by))
