"""Publishing: how many documents one document may lead to, in all chains together.

Published documents are numbered breadth first from the document that led to them, on every engine.
The first of them, up to a limit, are documents of their streams and are joined. Of the others there
are the rows, and for each of their queries one rejection, stage ``publish``. So a replay, and every
engine, publish the same ones.
"""

from __future__ import annotations

from typing import Final

from extract.filtertool.results.outcome import Rejection
from extract.limits import Limits

PUBLISH: Final = "publish"  # the stage of rejections of what cannot be published, or read then


class Publishing:
    """What one input document may still publish.

    Args:
        name: The name of the document.
        limits: How much that is.
    """

    def __init__(self, name: str, limits: Limits) -> None:
        self._name = name
        self._limits = limits
        self._left = limits.published
        self._refused: set[str] = set()

    def take(self, query: str) -> tuple[bool, list[Rejection]]:
        """Asks for one more document.

        Args:
            query: The query that makes it.

        Returns:
            Whether it is published, and what is to be told if it is not.
        """
        if self._left:
            self._left -= 1
            return True, []
        if query in self._refused:
            return False, []
        self._refused.add(query)
        return False, [Rejection(self._name, query, PUBLISH, self._limits.passed("published"))]
