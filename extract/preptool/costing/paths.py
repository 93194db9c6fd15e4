"""Counts elements by their paths, in a tree of bounded size for any documents and schemas.

Recursion is folded: below ``/a/b``, another ``b`` of the same type counts at ``/a/b`` again. Beyond
`MOST_PATHS` further names below a path share one row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from extract.schema.places import Place, Places
from extract.scheme.statistics import PathCount, Source, Statistics

MOST_PATHS: Final = 4_000
_UNKNOWN: Final = PathCount("", -1, 0, 0, 0, 0, 0, 0, False)
REST: Final = "*"  # name of the row for elements that are not counted separately


@dataclass(slots=True, eq=False)
class PathNode:
    """One path during counting; the fields are those of `PathCount`.

    Attributes:
        place: The path's place in the schema; the unknown place, if it has none.
        children: The path of each child name: below, or further up where recursion is folded.
    """

    name: str
    parent: PathNode | None
    place: Place
    elements: float = 0
    owners: float = 0
    tag_bytes: float = 0
    text_bytes: float = 0
    subtree_elements: float = 0
    subtree_bytes: float = 0
    recursive: bool = False
    in_cycle: bool = False
    children: dict[str, PathNode] = field(default_factory=dict)

    def below(self) -> list[PathNode]:
        """Returns the paths one step below, by name, without folded ones."""
        if not self.children:
            return []
        return sorted({c for c in self.children.values() if c.parent is self}, key=_name)


def _name(node: PathNode) -> str:
    return node.name


class PathTree:
    """All paths that occur, below the document node.

    Args:
        places: The schema's places; they distinguish recursion from another use of the same name.
    """

    def __init__(self, places: Places, most: int = MOST_PATHS) -> None:
        self.document = PathNode("", None, places.document)
        self.size = 0
        self._unknown = places.unknown
        self._most = most

    def child(self, node: PathNode, name: str) -> PathNode:
        """Returns the path of a child element with this expanded name; makes it if it is new."""
        place = node.place.step(name) or self._unknown
        entry = self._folded(node, name, place) or self._new(node, name, place)
        node.children[name] = entry
        return entry

    def _folded(self, node: PathNode, name: str, place: Place) -> PathNode | None:
        """Returns the path above that has the same name and place, if there is one."""
        if node.name == REST:
            return node
        above: PathNode | None = node
        while above is not None and (above.name != name or above.place is not place):
            above = above.parent
        if above is None:
            return None
        above.recursive = True
        inner = node
        while inner is not above:
            inner.in_cycle = True
            assert inner.parent is not None
            inner = inner.parent
        return above

    def _new(self, node: PathNode, name: str, place: Place) -> PathNode:
        if self.size < self._most:
            self.size += 1
            return PathNode(name, node, place)
        rest = node.children.get(REST)
        if rest is None:
            rest = node.children[REST] = PathNode(REST, node, self._unknown, recursive=True)
        return rest

    def finish(self, source: Source, documents: int, document_bytes: int) -> Statistics:
        """Returns the counts as rows, with sums over subtrees, except where recursion passes."""
        rows: list[PathCount] = []

        def add(node: PathNode, parent: int) -> tuple[int, int]:
            number = len(rows)
            tags, text = round(node.tag_bytes), round(node.text_bytes)
            elements, size = round(node.elements), tags + text
            own = (node.name, parent, elements, round(node.owners), tags, text)
            rows.append(_UNKNOWN)  # until the rows below are known
            for child in node.below():
                more = add(child, number)
                elements, size = elements + more[0], size + more[1]
            shown = elements, size
            if node.in_cycle:
                # A subtree that is folded into a path above is below this one as well.
                shown = round(node.subtree_elements), round(node.subtree_bytes)
            rows[number] = PathCount(*own, *shown, node.recursive)
            return elements, size

        for root in self.document.below():
            add(root, -1)
        return Statistics(source, documents, document_bytes, tuple(rows))
