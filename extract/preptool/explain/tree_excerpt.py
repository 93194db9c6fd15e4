"""Chooses the part of a query tree that its picture shows: about sixty rows, whatever its size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import ldexp

from extract.preptool.explain.labels import (
    COLORS,
    GREY,
    Colors,
    as_count,
    as_number,
    as_path,
    as_percent,
    in_numbers,
    shortened,
)
from extract.preptool.query_tree import MILLION, NamePath, QueryTree, TreeNode

ROWS = 60  # as many as fit a screen or a page
_COLUMNS = 12  # deeper nodes are folded, unless they are chosen prefixes


@dataclass(frozen=True, slots=True)
class TreeRow:
    """One row of the picture: a node of the tree, or the folded children of a node.

    Attributes:
        node: The node; for folded children their parent.
        parent: Index of the item to the left; -1 for the document.
        owner: The longest chosen prefix of the path; None if there is none.
        folded: The folded children, heaviest first; empty if this is a node.
    """

    node: TreeNode
    parent: int
    owner: NamePath | None
    folded: tuple[TreeNode, ...] = ()

    @property
    def path(self) -> NamePath:
        """The path of its node."""
        return self.node.path

    @property
    def column(self) -> int:
        """Its column, from the left."""
        return self.node.depth + bool(self.folded)

    @property
    def is_prefix(self) -> bool:
        """Whether it is a chosen prefix."""
        return self.path == self.owner and not self.folded

    @property
    def millionths(self) -> int:
        """Its weight in millionths; of a folded row, all weights together."""
        return sum(node.millionths for node in self.folded) or self.node.millionths

    @property
    def label(self) -> str:
        """The text beside it."""
        if self.folded:
            return f"+ {len(self.folded):,} more (weight {as_number(self.millionths / MILLION)})"
        return shortened(self.node.name, 28) or "/"

    @property
    def weight(self) -> str:
        """Its weight as text; a folded row has it in the label."""
        return "" if self.folded else as_number(self.node.weight)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The part of a tree that is drawn.

    Attributes:
        tree: The tree.
        chunks: Chosen prefixes and chunk ids, in the order of the ids.
        items: The rows, parents first, from top to bottom.
        palette: The colours of each chunk.
    """

    tree: QueryTree
    chunks: dict[NamePath, str]
    items: list[TreeRow]
    palette: dict[str, Colors]

    @classmethod
    def of(cls, tree: QueryTree, chunks: Mapping[NamePath, str], rows: int) -> Excerpt:
        """Chooses the rows."""
        items = list(_items(tree.document, chunks, _shown(tree.document, chunks, rows)))
        ordered = dict(sorted(chunks.items(), key=lambda pair: (in_numbers(pair[1]), pair)))
        ids = dict.fromkeys(ordered.values())
        palette = {chunk: COLORS[turn % len(COLORS)] for turn, chunk in enumerate(ids)}
        return cls(tree, ordered, items, palette)

    def colors(self, item: TreeRow) -> Colors:
        """Returns the colours of the row's chunk."""
        return GREY if item.owner is None else self.palette[self.chunks[item.owner]]

    def line_width(self, item: TreeRow) -> float:
        """Returns the width of the line to an item: 1 to 9, by its share of all weight."""
        weight = min(item.millionths, item.node.millionths)
        return 1 + 8 * weight / max(1, self.tree.document.millionths)

    def weight(self, prefix: NamePath) -> float:
        """Returns the weight of a prefix; 0 if no query has it."""
        node = self.tree.node(prefix)
        return node.weight if node is not None else 0.0

    def share(self, weight: float) -> float:
        """Returns a weight as a part of all."""
        return weight / (self.tree.document.weight or 1.0)

    def inside(self, prefix: NamePath) -> list[str]:
        """Returns the ids of the chunks that are cut out of a chunk."""
        end = len(prefix)
        return [c for p, c in self.chunks.items() if len(p) > end and p[:end] == prefix]

    def tooltip(self, item: TreeRow) -> str:
        """Returns all facts about a row, for the tooltip."""
        chunk = "no chunk" if item.owner is None else f"chunk {self.chunks[item.owner]}"
        if item.folded:
            most = f"the heaviest {item.folded[0].name} {as_number(item.folded[0].weight)}"
            return f"{item.label} below {as_path(item.path)}; {most}; {chunk}"
        share = as_percent(self.share(item.node.weight))
        return f"{as_path(item.path)}; weight {item.weight} ({share}); {chunk}"

    def summary(self) -> str:
        """Returns how much of the tree is shown, in words."""
        paths = sum(1 for _ in self.tree)
        drawn = sum(1 for item in self.items if item.path and not item.folded)
        part = f" ({drawn:,} drawn)" if drawn < paths else ""
        chunks = as_count(len(self.palette), "chunk")
        weight = as_number(self.tree.document.weight)
        return f"weight {weight} · {as_count(paths, 'path')}{part} · {chunks}"

    def words(self) -> Iterator[str]:
        """Yields the picture in words, for those who do not see it."""
        yield self.summary()
        for prefix, chunk in self.chunks.items():
            weight = self.weight(prefix)
            share = as_percent(self.share(weight))
            yield f"{chunk}: {as_path(prefix)}, {as_number(weight)} ({share})"


def _shown(document: TreeNode, chunks: Iterable[NamePath], rows: int) -> set[NamePath]:
    """Returns the paths to draw: the chosen prefixes and their ancestors, then the heaviest.

    A node takes a row if nothing is drawn to its right; folded nodes beside drawn ones take one
    more. So a path costs a row, or nothing if it is the last one folded in its place: a single one
    is folded only where the picture would become too wide. A step down counts half, because the
    outline of the tree tells more than the details of its heaviest corner.
    """
    must = {prefix[:end] for prefix in chunks for end in range(len(prefix) + 1)}
    shown: set[NamePath] = set()
    folded: dict[NamePath, int] = {}
    heap: list[tuple[float, NamePath, TreeNode]] = []
    used = 0
    todo = [document]
    while todo:
        node = todo.pop()
        shown.add(node.path)
        kept = [child for child in node.children if child.path in must]
        folded[node.path] = len(node.children) - len(kept)
        used += not kept or bool(folded[node.path])
        todo.extend(kept)
        heap.extend((_rank(c), c.path, c) for c in node.children if c.path not in must)
    heapify(heap)
    while heap:
        _, path, node = heappop(heap)
        cost = folded[path[:-1]] > 1
        if node.depth <= _COLUMNS and (used + cost <= rows or not cost):
            used += cost
            shown.add(path)
            folded[path[:-1]] -= 1
            folded[path] = len(node.children)
            for child in node.children:
                heappush(heap, (_rank(child), child.path, child))
    return shown


def _rank(node: TreeNode) -> float:
    return ldexp(-node.weight, -node.depth)


def _items(
    document: TreeNode, chunks: Mapping[NamePath, str], shown: set[NamePath]
) -> Iterator[TreeRow]:
    todo = [TreeRow(document, -1, () if () in chunks else None)]
    number = 0
    while todo:
        item = todo.pop()
        yield item
        if not item.folded:
            children = sorted(item.node.children, key=lambda child: (-child.millionths, child.name))
            if folded := tuple(child for child in children if child.path not in shown):
                todo.append(TreeRow(item.node, number, item.owner, folded))
            for child in reversed(children):
                if child.path in shown:
                    owner = child.path if child.path in chunks else item.owner
                    todo.append(TreeRow(child, number, owner))
        number += 1
