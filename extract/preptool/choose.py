"""GenerateChunkingScheme: which paths of the query tree documents are cut at.

Section 4 of the paper, figure 6, with its one ambiguity settled by its own examples: the weight of
a pick is taken from its *proper* ancestors, not from the pick itself. Else the pick would weigh
nothing at once, and lose its place to whatever is picked next.

To the loop of the figure this adds only speed. As long as no pick was made below a node, it weighs
at least as much as everything below it, so the tree is opened from the top, and only as far down as
the lightest pick: what it costs depends on the number of chunks, hardly on the size of the tree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any

from extract.errors import SchemeError
from extract.preptool.query_tree import MILLION, NamePath, QueryTree, TreeNode


@dataclass(frozen=True, slots=True)
class PickStep:
    """One turn of the algorithm: a path was picked, and what that did to the others.

    Attributes:
        prefix: The path that was picked.
        weight: What it weighed then.
        weights: The ancestors that became lighter, from the document element down, each with its
            weight after this pick.
        dropped: Earlier picks that are now lighter than this one, and so no longer picked.
    """

    prefix: NamePath
    weight: float
    weights: tuple[tuple[NamePath, float], ...] = ()
    dropped: tuple[NamePath, ...] = ()


@dataclass(frozen=True, slots=True)
class PrefixChoice:
    """The paths that documents are cut at, and how they were found.

    Attributes:
        prefixes: The paths, sorted: in an order that does not change when weights shift a little.
        steps: What was picked and dropped, turn by turn.
        note: What the user should know, such as fewer chunks than asked for; empty if nothing.
    """

    prefixes: tuple[NamePath, ...]
    steps: tuple[PickStep, ...] = ()
    note: str = ""


def check_chunks(chunks: int) -> None:
    """Makes sure that documents can be cut into so many chunks.

    Raises:
        SchemeError: They cannot.
    """
    if chunks < 1:
        hint = "ask for at least 1 chunk; queries that fit no chunk are answered all the same"
        raise SchemeError(f"documents cannot be cut into {chunks} chunks", hint)


def choose(tree: QueryTree, chunks: int) -> PrefixChoice:
    """Picks the paths to cut documents at, so that the queries spread evenly over the chunks.

    The heaviest path is picked, of equally heavy ones the deepest, of equally deep ones the first
    by name; never the document element, whose chunk would be the document. Its weight is taken from
    the paths above it, not below zero; those that were picked before and are now lighter than it
    are dropped. And so on until there are enough, or nothing of weight is left.

    Args:
        tree: The query tree.
        chunks: How many paths are wanted.

    Raises:
        SchemeError: ``chunks`` is not at least 1.

    >>> from extract.preptool.query_tree import WeightedQuery
    >>> paths = [("a", "b", "c"), ("a", "b", "d"), ("a", "b", "c")]
    >>> tree = QueryTree.of([WeightedQuery((path,)) for path in paths])
    >>> choose(tree, 2).prefixes
    (('a', 'b', 'c'), ('a', 'b', 'd'))
    """
    check_chunks(chunks)
    candidates = _Candidates(tree)
    steps: list[PickStep] = []
    picks: set[NamePath] = set()
    while len(picks) < chunks and (node := candidates.heaviest()) is not None:
        weight = candidates.weigh(node.path)
        lighter = candidates.lighten_above(node.path, weight)
        # Only these can have become lighter than the new pick: no pick is heavier than the one
        # before it, so every earlier pick that kept its weight is at least as heavy as this one.
        dropped = tuple(p for p in lighter if p in picks and candidates.weigh(p) < weight)
        picks.add(node.path)
        picks.difference_update(dropped)
        for path in lighter:
            if path not in picks:
                candidates.offer(path)
        after = tuple((path, candidates.weigh(path) / MILLION) for path in lighter)
        steps.append(PickStep(node.path, weight / MILLION, after, dropped))
    return PrefixChoice(tuple(sorted(picks)), tuple(steps), _note(chunks, len(picks)))


def _note(asked: int, given: int) -> str:
    if given == asked:
        return ""
    if not given:
        return "no query goes below the document element by a plain path: there is no chunk to cut"
    chunks = "1 chunk" if given == 1 else f"{given} chunks"
    return f"{asked} chunks were asked for, but the paths of the queries give only {chunks}"


class _Candidates:
    """The nodes that may be picked, heaviest first, with weights that sink as picks are made.

    A heap whose entries are not changed but superseded: an entry counts only as long as its weight
    is the node's.
    """

    def __init__(self, tree: QueryTree) -> None:
        roots = tree.document.children
        self._nodes: dict[NamePath, TreeNode] = {root.path: root for root in roots}
        self._weights: dict[NamePath, int] = {root.path: root.millionths for root in roots}
        self._heap: list[tuple[int, bool, int, NamePath]] = []
        for root in roots:
            self._add_children(root)
        heapify(self._heap)

    def _add_children(self, node: TreeNode) -> None:
        for child in node.children:
            self._nodes[child.path] = child
            self._weights[child.path] = child.millionths
            # An unopened node goes before opened ones of its weight: there may be a deeper one of
            # the same weight below it.
            heappush(self._heap, (-child.millionths, not child.children, -child.depth, child.path))

    def heaviest(self) -> TreeNode | None:
        """Takes out the heaviest node, of equally heavy ones the deepest; None if all are light."""
        while self._heap:
            negative, is_open, _, path = heappop(self._heap)
            node = self._nodes[path]
            if not is_open:
                self._add_children(node)
                self.offer(path)
            elif -negative == self._weights[path]:
                return node
        return None

    def offer(self, path: NamePath) -> None:
        """Puts an opened node among the candidates, at what it weighs now."""
        if self._weights[path] and len(path) > 1:
            heappush(self._heap, (-self._weights[path], True, -len(path), path))

    def weigh(self, path: NamePath) -> int:
        """What a node that was reached weighs now, in millionths."""
        return self._weights[path]

    def lighten_above(self, path: NamePath, millionths: int) -> list[NamePath]:
        """Takes weight from all proper ancestors; gives those that changed, from the top down."""
        changed: list[NamePath] = []
        for end in range(1, len(path)):
            above = path[:end]
            if before := self._weights[above]:
                self._weights[above] = max(0, before - millionths)
                changed.append(above)
        return changed


class PrefixIndex:
    """Finds for any path the longest of some prefixes that it starts with.

    Build it once and ask it often: an answer costs a look-up for each name of the path.
    """

    __slots__ = ("_top",)

    def __init__(self, prefixes: Iterable[NamePath]) -> None:
        self._top: dict[str, Any] = {}
        for prefix in prefixes:
            level = self._top
            for name in prefix:
                level = level.setdefault(name, {})
            level[_HERE] = prefix

    def assign(self, spine: NamePath) -> NamePath | None:
        """The longest prefix that the spine starts with; None if there is none: potpourri."""
        level = self._top
        longest: NamePath | None = level.get(_HERE)
        for name in spine:
            if (below := level.get(name)) is None:
                break
            level = below
            longest = level.get(_HERE, longest)
        return longest


_HERE = ""  # no element has an empty name


def assign(spine: NamePath, prefixes: Iterable[NamePath]) -> NamePath | None:
    """The chunk that a branch belongs to: the longest prefix of its spine, or None for potpourri.

    For many spines use a `PrefixIndex`.

    >>> assign(("a", "b", "c", "d"), [("a", "b"), ("a", "b", "c")])
    ('a', 'b', 'c')
    >>> assign(("a", "x"), [("a", "b")])
    """
    return PrefixIndex(prefixes).assign(spine)
