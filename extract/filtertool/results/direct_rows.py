"""Rows of nodes that come sorted from one table of a document: nothing has to be merged.

For a small document, to sort and to unite its answers takes longer than to find them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from extract.filtertool.matchers.node_refs import NodeRefs
from extract.filtertool.matchers.push.engine_answers import EngineNodes
from extract.filtertool.results.describe_nodes import NodeDescriber
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.native_nodes import native_nodes
from extract.filtertool.results.node_columns import Described, NodeRange
from extract.filtertool.results.owners import Indices, Longs

_NOTHING = Findings.none()
_NO_COUNTS = np.empty(0, np.int64)
MANY = 500  # rows from which on arrays are faster than a dictionary


def described_findings(found: EngineNodes, unit: int) -> Findings:
    """Returns the rows of a document that the push engine has described.

    Args:
        found: The rows of all documents of a batch.
        unit: The document.
    """
    first, node = (found.row_ends[unit - 1], found.node_ends[unit - 1]) if unit else (0, 0)
    end = found.row_ends[unit]
    if first == end:
        return _NOTHING
    described = Described([NodeRange(found.nodes, node, found.node_ends[unit])])
    rows = slice(first, end)
    return Findings(found.query[rows], _NO_COUNTS, found.node[rows], found.ordinal[rows], described)


def direct_findings(
    query: Indices,
    refs: NodeRefs,
    values: Mapping[int, float | str | bool],
    describer: NodeDescriber | None,
    most: int | None,
) -> Findings:
    """Returns rows of nodes and of values.

    Args:
        query: The subscriber of each node, ascending.
        refs: The nodes; those of one subscriber are different, and in document order.
        values: By subscriber, the values of queries that are no node sets.
        describer: Describes the nodes; None if there are none.
        most: How many bytes a value may have.
    """
    described = Described()
    node, ordinal = np.empty(0, np.int32), np.empty(0, np.int64)
    if len(query):
        assert describer is not None
        node, ordinal, once = _distinct(query, refs)
        describer.describe(once, described)
    if values:
        first = len(described)
        for value in values.values():
            described.add_value(value, most)
        query = np.concatenate((query, np.fromiter(values, np.int32, len(values))))
        node = np.concatenate((node, np.arange(first, len(described), dtype=np.int32)))
        order = np.argsort(query, kind="stable")
        query, node = query[order], node[order]
        ordinal = np.concatenate((ordinal, np.zeros(len(values), np.int64)))[order]
    return Findings(query, np.empty(0, np.int64), node, ordinal, described)


def _distinct(query: Indices, refs: NodeRefs) -> tuple[Indices, Longs, NodeRefs]:
    """For each row its node and its number among those of its query; and the nodes, each once."""
    native = native_nodes() if len(query) < MANY else None
    if native is None:
        once, which = refs.distinct()
        first = np.flatnonzero(np.diff(query, prepend=-1))
        ordinal = np.arange(len(query)) - np.repeat(first, np.diff(first, append=len(query)))
        return which, ordinal, once
    nodes, ordinals, firsts = native.distinct_rows(query, refs.kind, refs.row, refs.number)
    if len(firsts) < len(query):
        refs = refs.take(np.array(firsts))
    return np.array(nodes, np.int32), np.array(ordinals, np.int64), refs
