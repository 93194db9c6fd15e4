"""Axes and node tests on columns: finds all nodes that a step selects from many nodes at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from extract.filtertool.matchers.columnar.columns import (
    NOTHING,
    BeyondMemory,
    Bools,
    Columns,
    Ints,
    sorting,
)
from extract.markup.node_kinds import LEAF_KINDS, NodeKind
from extract.markup.values import instruction_value
from extract.schema.model import XML_NAMESPACE
from extract.xpath.ast import ANY_NAME, Axis, KindTest, NameTest, NodeTest

MAX_PAIRS = 30_000_000  # pairs of nodes in a step; beyond, the fallback answers

_LEAVES = {kind.node_test.removesuffix("()"): kind for kind in LEAF_KINDS}
REVERSE = frozenset({"ancestor", "ancestor-or-self", "preceding-sibling", "parent"})


class Pairs(NamedTuple):
    """Nodes, each with the number of its owner; sorted by owner and document order."""

    owner: Ints
    nodes: Ints


class Grouped(NamedTuple):
    """Nodes sorted by parent, and in document order below the same parent."""

    parents: Ints
    nodes: Ints


class Axes:
    """Finds nodes by axis and node test.

    Args:
        columns: The batch.
        namespaces: Prefix to namespace URI, for name tests.
    """

    def __init__(self, columns: Columns, namespaces: Mapping[str, str]) -> None:
        self.columns = columns
        self._namespaces = {**namespaces, "xml": XML_NAMESPACE}
        self._tested: dict[tuple[bool, NodeTest], Ints] = {}
        self._grouped: dict[tuple[bool, NodeTest], Grouped] = {}

    def walk(self, axis: Axis, test: NodeTest, nodes: Ints) -> Pairs:
        """Returns all nodes that a step without predicates selects from each node."""
        return _WALKS[axis](self, test, nodes)

    # -- tests

    def tested(self, attribute: bool, test: NodeTest) -> Ints:
        """Returns all attributes, or all other nodes, that pass a test, in document order.

        Document nodes are left out: only ``self`` and the axes that go up lead to them.
        """
        key = (attribute, test)
        nodes = self._tested.get(key)
        if nodes is None:
            nodes = self._tested[key] = self._all(attribute, test)
        return nodes

    def elements(self, number: int | None) -> Ints:
        """Returns all elements whose name has a number, or all elements."""
        return self.tested(False, ANY_NAME) if number is None else self._number(False, number)

    def _all(self, attribute: bool, test: NodeTest) -> Ints:
        columns = self.columns
        if isinstance(test, NameTest):
            return self._named(attribute, test)
        if attribute:
            return self._number(attribute, None) if test.kind == "node" else NOTHING
        if test.kind == "node":
            nodes = np.concatenate(
                [
                    np.flatnonzero(columns.name >= 0),
                    np.arange(columns.rows, columns.bounds[NodeKind.ATTRIBUTE]),
                ]
            )
            return nodes[np.argsort(columns.order_of(nodes), kind="stable")]
        kind = _LEAVES[test.kind]
        nodes = np.arange(columns.bounds[kind], columns.bounds[kind + 1])
        return nodes if test.target is None else nodes[self._has_target(nodes, test.target)]

    def _named(self, attribute: bool, test: NameTest) -> Ints:
        uri = self._namespaces[test.prefix] if test.prefix else ""
        if test.local != "*":
            return self._number(attribute, self.columns.names.number(uri, test.local))
        if not test.prefix:
            return self._number(attribute, None)
        names = self._name_column(attribute)
        passing = [n for n, (space, _) in enumerate(self.columns.names.expanded) if space == uri]
        return np.flatnonzero(np.isin(names, passing)) + self._offset(attribute)

    def _number(self, attribute: bool, number: int | None) -> Ints:
        offset = self._offset(attribute)
        if number is None:
            return np.flatnonzero(self._name_column(attribute) >= 0) + offset
        places, limits = self.by_name if not attribute else self._attributes_by_name
        if number + 1 >= len(limits):
            return NOTHING
        return places[limits[number] : limits[number + 1]] + offset

    @cached_property
    def by_name(self) -> tuple[Ints, Ints]:
        """The elements sorted by name, and the start of each name's elements."""
        return self._sorted(self.columns.name)

    @cached_property
    def _attributes_by_name(self) -> tuple[Ints, Ints]:
        return self._sorted(self.columns.attributes.name)

    def _sorted(self, names: Ints) -> tuple[Ints, Ints]:
        places = sorting(names)
        numbers = np.arange(len(self.columns.names.expanded) + 1)
        return places, np.searchsorted(names[places], numbers)

    def _name_column(self, attribute: bool) -> Ints:
        return self.columns.attributes.name if attribute else self.columns.name

    def _offset(self, attribute: bool) -> int:
        return int(self.columns.bounds[NodeKind.ATTRIBUTE]) if attribute else 0

    def _has_target(self, nodes: Ints, target: str) -> Bools:
        leaves = self.columns.leaves[NodeKind.PI]
        encoded = target.encode()
        pieces = leaves.first[nodes - self.columns.bounds[NodeKind.PI]].tolist()
        return np.array([self._target(piece) == encoded for piece in pieces], np.bool_)

    def _target(self, piece: int) -> bytes:
        leaves = self.columns.leaves[NodeKind.PI]
        data = self.columns.tables[leaves.unit[piece]].data
        return instruction_value(data[leaves.start[piece] : leaves.end[piece]]).target

    def passes(self, test: NodeTest, nodes: Ints) -> Bools:
        """Returns a mask of the nodes that pass a test on an axis of elements."""
        kinds = self.columns.kind_of(nodes)
        if isinstance(test, KindTest):
            if test.kind == "node":
                return np.ones(len(nodes), np.bool_)
            kind = _LEAVES[test.kind]
            mask: Bools = kinds == kind.value
            if test.target is not None and mask.any():
                mask[mask] = self._has_target(nodes[mask], test.target)
            return mask
        elements: Bools = kinds == NodeKind.ELEMENT.value
        passing = np.zeros(self.columns.rows, np.bool_)
        passing[self.tested(False, test)] = True
        elements[elements] = passing[nodes[elements]]
        return elements

    # -- axes

    def grouped(self, attribute: bool, test: NodeTest) -> Grouped:
        """Returns all nodes that pass a test, by parent."""
        key = (attribute, test)
        groups = self._grouped.get(key)
        if groups is None:
            groups = self._grouped[key] = self.group(self.tested(attribute, test))
        return groups

    def group(self, nodes: Ints) -> Grouped:
        """Groups nodes in document order by parent."""
        parents = self.columns.parent_of(nodes)
        if parents.size < 2 or (parents[1:] >= parents[:-1]).all():
            return Grouped(parents, nodes)
        by_parent = np.argsort(parents, kind="stable")
        return Grouped(parents[by_parent], nodes[by_parent])

    def below(self, grouped: Grouped, nodes: Ints) -> Pairs:
        """Returns, of the grouped nodes, the children of each node."""
        low = np.searchsorted(grouped.parents, nodes)
        return ranges(low, np.searchsorted(grouped.parents, nodes, "right"), grouped.nodes)

    def inside(self, chosen: Ints, nodes: Ints) -> Pairs:
        """Returns, of the chosen nodes, the descendants and attributes of each node."""
        order = self.columns.order_of(chosen)
        low = np.searchsorted(order, self.columns.order_of(nodes), "right")
        return ranges(low, np.searchsorted(order, self._ends(nodes)), chosen)

    def _ends(self, nodes: Ints) -> Ints:
        ends = self.columns.order_of(nodes) + 1
        rows = nodes < self.columns.rows
        ends[rows] = self.columns.ends[nodes[rows]]
        return ends

    def _self(self, test: NodeTest, nodes: Ints) -> Pairs:
        mask = self.passes(test, nodes)
        return Pairs(np.flatnonzero(mask), nodes[mask])

    def _parent(self, test: NodeTest, nodes: Ints) -> Pairs:
        parents = self.columns.parent_of(nodes)
        mask = parents >= 0
        mask[mask] = self.passes(test, parents[mask])
        return Pairs(np.flatnonzero(mask), parents[mask])

    def _child(self, test: NodeTest, nodes: Ints) -> Pairs:
        return self.below(self.grouped(False, test), nodes)

    def _attribute(self, test: NodeTest, nodes: Ints) -> Pairs:
        return self.below(self.grouped(True, test), nodes)

    def _descendant(self, test: NodeTest, nodes: Ints) -> Pairs:
        return self.inside(self.tested(False, test), nodes)

    def _descendant_or_self(self, test: NodeTest, nodes: Ints) -> Pairs:
        return self.united([self._self(test, nodes), self._descendant(test, nodes)])

    def _ancestor(self, test: NodeTest, nodes: Ints) -> Pairs:
        parts: list[Pairs] = []
        index, parents = np.arange(len(nodes)), self.columns.parent_of(nodes)
        while True:
            exist = parents >= 0
            index, parents = index[exist], parents[exist]
            if not index.size:
                return self.united(parts)
            mask = self.passes(test, parents)
            parts.append(Pairs(index[mask], parents[mask]))
            parents = self.columns.parent_of(parents)

    def _ancestor_or_self(self, test: NodeTest, nodes: Ints) -> Pairs:
        return self.united([self._ancestor(test, nodes), self._self(test, nodes)])

    def _following_sibling(self, test: NodeTest, nodes: Ints) -> Pairs:
        grouped, low, middle, high = self._siblings(test, nodes)
        return ranges(np.maximum(low, middle[1]), high, grouped.nodes)

    def _preceding_sibling(self, test: NodeTest, nodes: Ints) -> Pairs:
        grouped, low, middle, high = self._siblings(test, nodes)
        return ranges(low, np.minimum(high, middle[0]), grouped.nodes)

    def _siblings(
        self, test: NodeTest, nodes: Ints
    ) -> tuple[Grouped, Ints, tuple[Ints, Ints], Ints]:
        """Returns, for each node, the bounds of its parent's children, and its own place."""
        columns = self.columns
        grouped = self.grouped(False, test)
        parents = columns.parent_of(nodes).copy()
        parents[nodes >= columns.bounds[NodeKind.ATTRIBUTE]] = -1  # attributes have no siblings
        low = np.searchsorted(grouped.parents, parents)
        high = np.searchsorted(grouped.parents, parents, "right")
        span = int(columns.ends.max(initial=0)) + 1
        keys = grouped.parents * span + columns.order_of(grouped.nodes)
        own = parents * span + columns.order_of(nodes)
        return (
            grouped,
            low,
            (np.searchsorted(keys, own), np.searchsorted(keys, own, "right")),
            high,
        )

    # -- pairs

    def united(self, parts: list[Pairs]) -> Pairs:
        """Joins lists of pairs, without duplicates."""
        parts = [part for part in parts if part.owner.size]
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return Pairs(NOTHING, NOTHING)
        return self.distinct(
            np.concatenate([part.owner for part in parts]),
            np.concatenate([part.nodes for part in parts]),
        )

    def distinct(self, index: Ints, nodes: Ints) -> Pairs:
        """Sorts pairs and removes duplicates."""
        order = self.columns.order_of(nodes)
        if index.size < 2:
            return Pairs(index, nodes)
        rises = (index[1:] > index[:-1]) | ((index[1:] == index[:-1]) & (order[1:] > order[:-1]))
        if rises.all():
            return Pairs(index, nodes)
        by = np.lexsort((order, index))
        index, nodes = index[by], nodes[by]
        fresh = np.ones(len(index), np.bool_)
        fresh[1:] = (index[1:] != index[:-1]) | (nodes[1:] != nodes[:-1])
        return Pairs(index[fresh], nodes[fresh])


def ranges(low: Ints, high: Ints, nodes: Ints) -> Pairs:
    """Returns the nodes of each range, with the number of the range."""
    counts = np.maximum(high - low, 0)
    total = int(counts.sum())
    if total > MAX_PAIRS:
        raise BeyondMemory
    index = np.repeat(np.arange(len(low)), counts)
    begin = np.cumsum(counts) - counts
    return Pairs(index, nodes[np.arange(total) + np.repeat(low - begin, counts)])


# Not attributes of the object: bound methods would keep it, and all columns, alive until the
# garbage collector runs, which does not know how large they are.
_WALKS: dict[str, Callable[[Axes, NodeTest, Ints], Pairs]] = {
    "self": Axes._self,
    "parent": Axes._parent,
    "child": Axes._child,
    "attribute": Axes._attribute,
    "descendant": Axes._descendant,
    "descendant-or-self": Axes._descendant_or_self,
    "ancestor": Axes._ancestor,
    "ancestor-or-self": Axes._ancestor_or_self,
    "following-sibling": Axes._following_sibling,
    "preceding-sibling": Axes._preceding_sibling,
}
