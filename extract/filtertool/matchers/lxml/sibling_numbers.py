"""Numbers of nodes among their siblings, in an lxml tree."""

from __future__ import annotations

from typing import Any


class SiblingNumbers:
    """Numbers the children of a tree's nodes, from 1.

    All children of a node are numbered at once: one by one would take quadratic time.

    Args:
        tree: lxml's tree.
    """

    def __init__(self, tree: Any) -> None:
        self._tree = tree
        self._numbers: dict[Any, dict[tuple[Any, bool], int]] = {}

    def number(self, node: Any) -> int | None:
        """Returns the number of a node among its siblings of the same name or kind.

        Args:
            node: An element, comment or processing instruction.

        Returns:
            None for a node of the document type declaration.
        """
        return self._children(node.getparent()).get((node, False))

    def number_of_tail(self, node: Any) -> int | None:
        """Returns the number of the text after a node among the parent's texts."""
        return self._children(node.getparent()).get((node, True))

    def _children(self, parent: Any) -> dict[tuple[Any, bool], int]:
        """Numbers a node's children; keys with True are for the text after the child."""
        numbers = self._numbers.get(parent)
        if numbers is not None:
            return numbers
        numbers = self._numbers[parent] = {}
        if parent is None:
            root = self._tree.getroot()
            before = list(root.itersiblings(preceding=True))[::-1]
            children, texts = [*before, root, *root.itersiblings()], 0
        else:
            children, texts = list(parent), int(parent.text is not None)
        counts: dict[Any, int] = {}
        for child in children:
            number = counts[child.tag] = counts.get(child.tag, 0) + 1
            numbers[child, False] = number
            if child.tail is not None:
                texts += 1
                numbers[child, True] = texts
        return numbers
