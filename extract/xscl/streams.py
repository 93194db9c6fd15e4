"""Which streams lead to which others by ``PUBLISH``, and that none leads back to itself."""

from __future__ import annotations

from collections import defaultdict

from extract.errors import QuerySyntaxError
from extract.xscl.ast import XsclQuery


class StreamGraph:
    """The streams that queries read and publish.

    >>> from extract.xscl import parse_xscl
    >>> graph = StreamGraph()
    >>> graph.add("q", parse_xscl("a//x->x JOIN{x=y, 1} b//y->y PUBLISH c", {}))
    >>> sorted(graph.published)
    ['c']
    """

    def __init__(self) -> None:
        self._ways: dict[str, dict[str, list[str]]] = defaultdict(dict)  # read, published, by whom
        self._publishers: dict[str, int] = {}

    @property
    def published(self) -> frozenset[str]:
        """The streams that some query publishes."""
        return frozenset(self._publishers)

    def check(self, name: str, query: XsclQuery) -> None:
        """Checks that what a query would publish does not lead back to it.

        Raises:
            QuerySyntaxError: It does; the reason names the queries on the way.
        """
        if not query.publish:
            return
        reached: dict[str, tuple[str, ...]] = {query.publish: (name,)}
        waiting = [query.publish]
        while waiting:
            stream = waiting.pop()
            if stream in query.streams:
                names = " → ".join([*reached[stream], name])
                reason = f"the query reads what it publishes: {names}"
                hint = "publish to a stream that no query on this way reads"
                offset = query.text.rfind(query.publish)
                raise QuerySyntaxError(reason, hint, xpath=query.text, offset=offset)
            for published, readers in self._ways[stream].items():
                if published not in reached:
                    reached[published] = (*reached[stream], readers[0])
                    waiting.append(published)

    def add(self, name: str, query: XsclQuery) -> None:
        """Takes a query, which was checked."""
        if query.publish:
            self._publishers[query.publish] = self._publishers.get(query.publish, 0) + 1
            for stream in set(query.streams):
                self._ways[stream].setdefault(query.publish, []).append(name)

    def remove(self, name: str, query: XsclQuery) -> None:
        """Forgets a query."""
        if query.publish:
            self._publishers[query.publish] -= 1
            if not self._publishers[query.publish]:
                del self._publishers[query.publish]
            for stream in set(query.streams):
                readers = self._ways[stream][query.publish]
                readers.remove(name)
                if not readers:
                    del self._ways[stream][query.publish]
