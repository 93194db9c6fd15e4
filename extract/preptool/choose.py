"""GenerateChunkingScheme: chooses the paths of the query tree at which documents are cut.

Section 4 of the paper, figure 6, with its one ambiguity resolved by its own examples: the weight of
    a
pick is subtracted from its *proper* ancestors, not from the pick itself. Otherwise the pick would
weigh nothing at once, and lose its place to the next pick.

The code differs from the loop of the figure only in speed. As long as no pick was made below a
node, it weighs at least as much as everything below it, so the tree is opened from the top, and
only down to the lightest pick: the cost depends on the number of chunks, hardly on the size of the
    tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from typing import Any

from extract.errors import SchemeError
from extract.preptool.query_tree import MILLION, NamePath, QueryTree, TreeNode


@dataclass(frozen=True, slots=True)
class PickStep:
    """One round of the algorithm: the picked path, and its effect on the others.

    Attributes:
        prefix: The picked path.
        weight: Its weight at that time.
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
    """The paths at which documents are cut, and how they were found.

    Attributes:
        prefixes: The paths, sorted, so that the order is stable when weights change a little.
        steps: The picks and drops, round by round.
        note: A note for the user, such as fewer chunks than requested; empty if there is none.
    """

    prefixes: tuple[NamePath, ...]
    steps: tuple[PickStep, ...] = ()
    note: str = ""


def check_chunks(chunks: int) -> None:
    """Checks that a number of chunks is possible.

    Raises:
        SchemeError: It is below 1.
    """
    if chunks < 1:
        hint = "ask for at least 1 chunk; queries that fit no chunk are answered all the same"
        raise SchemeError(f"documents cannot be cut into {chunks} chunks", hint)


def choose(tree: QueryTree, chunks: int) -> PrefixChoice:
    """Picks the paths at which documents are cut, so that queries spread evenly over the chunks.

    Each round picks the heaviest path, of equally heavy ones the deepest, of equally deep ones the
    first by name; never the document element, whose chunk would be the document. The pick's weight
    is subtracted from the paths above it, not below zero; earlier picks that are now lighter than
    it are dropped. The rounds end when there are enough paths, or none of weight is left.

    Args:
        tree: The query tree.
        chunks: The number of paths.

    Raises:
        SchemeError: ``chunks`` is not at least 1.

    >>> from extract.preptool.query_tree import WeightedQuery
    >>> paths = [("a", "b", "c"), ("a", "b", "d"), ("a", "b", "c")]
    >>> tree = QueryTree.of([WeightedQuery((path,)) for path in paths])
    >>> choose(tree, 2).prefixes
    (('a', 'b', 'c'), ('a', 'b', 'd'))
    """
    check_chunks(chunks)
    *_, last = choices(tree, chunks)
    return replace(last, note=_note(chunks, len(last.prefixes)))


def choices(tree: QueryTree, most: int) -> Iterator[PrefixChoice]:
    """Yields what `choose` returns for 1 path, 2 paths and so on.

    The rounds for more paths begin with those for fewer, so this costs no more than the last of
    them. Where the queries do not give so many paths, the last one has fewer, and says so.
    """
    candidates = _Candidates(tree)
    steps: list[PickStep] = []
    picks: set[NamePath] = set()
    chunks = 1
    while chunks <= most and (node := candidates.heaviest()) is not None:
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
        if len(picks) == chunks:
            yield PrefixChoice(tuple(sorted(picks)), tuple(steps))
            chunks += 1
    if chunks <= most:
        note = _note(chunks, len(picks))
        yield PrefixChoice(tuple(sorted(picks)), tuple(steps), note)


def _note(requested: int, actual: int) -> str:
    if actual == requested:
        return ""
    if not actual:
        return "no query goes below the document element by a plain path: there is no chunk to cut"
    chunks = "1 chunk" if actual == 1 else f"{actual} chunks"
    return f"{requested} chunks were asked for, but the paths of the queries give only {chunks}"


class _Candidates:
    """The nodes that may be picked, heaviest first, with weights that sink as picks are made.

    A heap whose entries are not changed but superseded: an entry is valid only while its weight is
        the
    node's.
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
            # An unopened node goes before opened ones of its weight: a deeper node of the same
            # weight may be below it.
            heappush(self._heap, (-child.millionths, not child.children, -child.depth, child.path))

    def heaviest(self) -> TreeNode | None:
        """Removes the heaviest node, of equal ones the deepest; None if none has weight."""
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
        """Adds an opened node to the candidates, at its present weight."""
        if self._weights[path] and len(path) > 1:
            heappush(self._heap, (-self._weights[path], True, -len(path), path))

    def weigh(self, path: NamePath) -> int:
        """Returns the present weight of an opened node, in millionths."""
        return self._weights[path]

    def lighten_above(self, path: NamePath, millionths: int) -> list[NamePath]:
        """Subtracts weight from all proper ancestors; returns the changed ones, top down."""
        changed: list[NamePath] = []
        for end in range(1, len(path)):
            above = path[:end]
            if before := self._weights[above]:
                self._weights[above] = max(0, before - millionths)
                changed.append(above)
        return changed


class PrefixIndex:
    """Finds the longest prefix of any path, from a fixed set of prefixes.

    Build it once and use it often: a search costs one look-up for each name of the path.
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
        """Returns the longest prefix of the spine; None if there is none: potpourri."""
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
    """Returns the chunk of a branch: the longest prefix of its spine, or None for potpourri.

    For many spines use a `PrefixIndex`.

    >>> assign(("a", "b", "c", "d"), [("a", "b"), ("a", "b", "c")])
    ('a', 'b', 'c')
    >>> assign(("a", "x"), [("a", "b")])
    """
    return PrefixIndex(prefixes).assign(spine)
