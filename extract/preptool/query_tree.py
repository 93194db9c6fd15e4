"""The query tree: the weight of the queries through each path of plain child steps.

Section 4 of the paper. One node for each spine step; a node's weight is the sum of the weights of
the canonical queries with a branch through it, each counted once (TRAPS 15). Filters add no nodes.

Trees are immutable: `QueryTree.added` and `QueryTree.removed` return new ones that share all nodes
that the query does not touch.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import fsum, inf
from operator import attrgetter
from typing import TypeAlias

NamePath: TypeAlias = tuple[str, ...]

# Weights are whole millionths. Sums of floats depend on their order, and subtracting a weight
# leaves a remainder like 1e-17: a tree revised often would differ from one built afresh.
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class WeightedQuery:
    """The properties of one canonical query that the tree needs.

    Attributes:
        spines: The names along each of its branches; an empty spine ends at the document node.
            Order and duplicates do not matter.
        weights: The weights of its subscribers.
        times: The number of canonical queries that have all this in common.
    """

    spines: tuple[NamePath, ...]
    weights: tuple[float, ...] = (1.0,)
    times: int = 1


Weigh: TypeAlias = Callable[[WeightedQuery], float]


def one_each(query: WeightedQuery) -> float:
    """Weighs every canonical query as 1, as the paper does: it is evaluated once."""
    return 1.0


def by_subscribers(query: WeightedQuery) -> float:
    """Weighs a canonical query by the sum of the weights of its subscribers.

    >>> by_subscribers(WeightedQuery((("a", "b"),), weights=(1.0, 2.5)))
    3.5
    """
    return fsum(query.weights)


@dataclass(frozen=True, slots=True)
class TreeNode:
    """One path of the query tree, with the nodes below it.

    Attributes:
        path: The names from the document element down to here; empty for the document itself.
        millionths: The weight as a whole number of millionths; above zero, except in the document
            of an empty tree.
        children: The nodes one step below, by name.
    """

    path: NamePath
    millionths: int
    children: tuple[TreeNode, ...] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        """The last name of the path; empty for the document itself."""
        return self.path[-1] if self.path else ""

    @property
    def depth(self) -> int:
        """The number of steps from the document: 1 for the document element."""
        return len(self.path)

    @property
    def weight(self) -> float:
        """The weight of the queries that pass through the node."""
        return self.millionths / MILLION

    def child(self, name: str) -> TreeNode | None:
        """Returns the node one step below with this name."""
        at = bisect_left(self.children, name, key=_name)
        is_there = at < len(self.children) and self.children[at].name == name
        return self.children[at] if is_there else None


_name = attrgetter("name")


@dataclass(frozen=True, slots=True)
class QueryTree:
    """The paths of a set of queries, with their weights. Make one with `of`.

    A path is in the tree if and only if its weight is above zero, and it never weighs less than a
    path below it: every query that passes through the lower one passes through it.

    Attributes:
        document: The node of the document itself, above the document elements; its weight is that
            of all queries together, including those that have no other node.
        weigh: The weight function.
    """

    document: TreeNode
    weigh: Weigh = one_each

    @classmethod
    def of(cls, queries: Iterable[WeightedQuery], weigh: Weigh = one_each) -> QueryTree:
        """Builds the tree of many queries at once; their order does not matter.

        >>> paths = [("a", "b", "c"), ("a", "b", "d"), ("a", "b", "c")]
        >>> tree = QueryTree.of([WeightedQuery((path,)) for path in paths])
        >>> [("/".join(node.path), node.weight) for node in tree]
        [('a', 3.0), ('a/b', 3.0), ('a/b/c', 2.0), ('a/b/d', 1.0)]

        Raises:
            ValueError: A query weighs less than zero, or is not a finite number.
        """
        return cls(_grow(queries, weigh), weigh)

    def __iter__(self) -> Iterator[TreeNode]:
        """Yields the nodes below the document, parents first, siblings by name."""
        todo = list(reversed(self.document.children))
        while todo:
            node = todo.pop()
            yield node
            todo.extend(reversed(node.children))

    def node(self, path: NamePath) -> TreeNode | None:
        """Returns the node of a path; None if no query passes through it."""
        node: TreeNode | None = self.document
        for name in path:
            node = node.child(name) if node is not None else None
        return node

    def added(self, query: WeightedQuery) -> QueryTree:
        """Returns the tree with one more query, for the cost of that query's spines.

        Raises:
            ValueError: The query weighs less than zero, or is not a finite number.
        """
        return self._revised(query, query.times * _millionths(self.weigh(query)))

    def removed(self, query: WeightedQuery) -> QueryTree:
        """Returns the tree without a query that was added with the same weight.

        Raises:
            ValueError: The query cannot be in the tree: a path is missing or weighs less than it.
        """
        return self._revised(query, -query.times * _millionths(self.weigh(query)))

    def _revised(self, query: WeightedQuery, millionths: int) -> QueryTree:
        """Returns the tree with the weight added to all nodes of the query."""
        touched = {spine[:end] for spine in query.spines for end in range(len(spine) + 1)}
        if not touched or not millionths:
            return self
        downwards = sorted(touched, key=len)
        old: dict[NamePath, TreeNode | None] = {(): self.document}
        for path in downwards[1:]:
            parent = old[path[:-1]]
            old[path] = parent.child(path[-1]) if parent is not None else None
        # From the leaves up, because a node needs its new children. None marks a removed node.
        new: defaultdict[NamePath, dict[str, TreeNode | None]] = defaultdict(dict)
        for path in reversed(downwards[1:]):
            node = _reweighed(path, old[path], millionths, new[path])
            new[path[:-1]][path[-1]] = node
        document = _reweighed((), self.document, millionths, new[()])
        return QueryTree(document or TreeNode((), 0), self.weigh)


def _reweighed(
    path: NamePath, old: TreeNode | None, millionths: int, changes: dict[str, TreeNode | None]
) -> TreeNode | None:
    """Returns a node with another weight and other children; None if no weight is left."""
    total = (old.millionths if old is not None else 0) + millionths
    children = list(old.children) if old is not None else []
    for name, child in changes.items():
        at = bisect_left(children, name, key=_name)
        is_there = at < len(children) and children[at].name == name
        children[at : at + is_there] = [child] if child is not None else []
    if total < 0 or (children and not total):
        raise ValueError(f"the query is not in the tree: too little weight at /{'/'.join(path)}")
    return TreeNode(path, total, tuple(children)) if total else None


def _grow(queries: Iterable[WeightedQuery], weigh: Weigh) -> TreeNode:
    """Builds the document node of a new tree.

    Spines are numbered once, because queries share them; then a query costs one look-up for each
    spine and one addition for each node, however its spines overlap.
    """
    paths: list[NamePath] = [()]
    parents = [0]
    weights = [0]
    counted = [-1]  # the last query that counted a node
    numbers: dict[NamePath, int] = {(): 0}
    for turn, query in enumerate(queries):
        millionths = query.times * _millionths(weigh(query))
        for spine in query.spines if millionths else ():
            number = numbers.get(spine)
            if number is None:
                for end in range(1, len(spine) + 1):
                    if (path := spine[:end]) not in numbers:
                        numbers[path] = len(paths)
                        parents.append(numbers[path[:-1]])
                        paths.append(path)
                        weights.append(0)
                        counted.append(-1)
                number = numbers[spine]
            # If this query has counted a node, it has counted all its ancestors.
            while counted[number] != turn:
                counted[number] = turn
                weights[number] += millionths
                number = parents[number]
    return _assemble(paths, parents, weights)


def _assemble(
    paths: Sequence[NamePath], parents: Sequence[int], weights: Sequence[int]
) -> TreeNode:
    """Returns node 0, from numbered nodes of which every parent comes before its children."""
    children: list[list[TreeNode]] = [[] for _ in paths]
    for number in range(len(paths) - 1, 0, -1):
        below = tuple(sorted(children[number], key=_name))
        children[parents[number]].append(TreeNode(paths[number], weights[number], below))
    return TreeNode(paths[0], weights[0], tuple(sorted(children[0], key=_name)))


def _millionths(weight: float) -> int:
    """Returns a weight in whole millionths; a weight above zero becomes at least one."""
    if not 0 <= weight < inf:
        raise ValueError(f"a query cannot weigh {weight}")
    whole = int(weight)  # separately: a weight near the largest float times a million is infinite
    return max(1, whole * MILLION + round((weight - whole) * MILLION)) if weight else 0
