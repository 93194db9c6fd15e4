"""Components of a graph, without a library that takes a tenth of a second to import."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

_Node = TypeVar("_Node", bound=Hashable)


def strong_components(successors: Mapping[_Node, Iterable[_Node]]) -> list[list[_Node]]:
    """The strongly connected components: groups of nodes that all lead to one another.

    A component comes after all components that it leads to. By Tarjan's algorithm.

    Args:
        successors: For each node those that edges lead to; all of them must be keys, too.

    >>> strong_components({"a": "b", "b": "ac", "c": "", "d": "c"})
    [['c'], ['b', 'a'], ['d']]
    """
    numbers: dict[_Node, int] = {}
    lowest: dict[_Node, int] = {}  # the lowest number of an open node that each leads back to
    opened: list[_Node] = []
    is_open: set[_Node] = set()
    components: list[list[_Node]] = []
    for start in successors:
        if start in numbers:
            continue
        path: list[tuple[_Node, Iterator[_Node]]] = []
        node: _Node | None = start
        while node is not None or path:
            if node is not None:
                numbers[node] = lowest[node] = len(numbers)
                opened.append(node)
                is_open.add(node)
                path.append((node, iter(successors[node])))
            here, rest = path[-1]
            node = None
            for after in rest:
                if after not in numbers:
                    node = after
                    break
                if after in is_open:
                    lowest[here] = min(lowest[here], numbers[after])
            if node is not None:
                continue
            path.pop()
            if path:
                above = path[-1][0]
                lowest[above] = min(lowest[above], lowest[here])
            if lowest[here] == numbers[here]:
                component: list[_Node] = []
                while not component or component[-1] != here:
                    component.append(opened.pop())
                is_open.difference_update(component)
                components.append(component)
    return components
