"""What joins publish, and that none of it comes back to them.

The journal keeps it, so that a join is checked against exactly those that were put before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from extract.broker.feed_filters import stored_body
from extract.broker.problems import Problem
from extract.errors import QuerySyntaxError
from extract.xscl.ast import XsclQuery
from extract.xscl.parser import parse_xscl
from extract.xscl.streams import StreamGraph


class PublishedStreams:
    """The streams of all joins that publish one, by the ids of their subscriptions.

    Attributes:
        is_loaded: Whether it is what the store has; not so after changes that may be undone.
    """

    def __init__(self) -> None:
        self._graph = StreamGraph()
        self._queries: dict[str, XsclQuery] = {}
        self.is_loaded = False

    @property
    def names(self) -> frozenset[str]:
        """The names of the streams."""
        return self._graph.published

    def load(self, bodies: Iterable[tuple[str, bytes]]) -> None:
        """Begins again with subscriptions as the store has them.

        A join that cannot be evaluated any more publishes nothing: the matcher rejects it.
        """
        self._put(dict.fromkeys(self._queries))
        for name, text in bodies:
            body = stored_body(text) if b"PUBLISH" in text else None
            if body is None or not isinstance(body.xscl, str):
                continue
            namespaces = body.namespaces if isinstance(body.namespaces, dict) else {}
            try:
                self.change({name: parse_xscl(body.xscl, namespaces)})
            except (QuerySyntaxError, Problem):
                continue
        self.is_loaded = True

    def change(self, changes: Mapping[str, XsclQuery | None]) -> None:
        """Lets joins publish, all or none of them.

        Args:
            changes: For subscriptions their new queries; None for one that ends, or is no join.

        Raises:
            Problem: What one publishes would come back to it; then nothing has changed.
        """
        before = {name: self._queries[name] for name in changes if name in self._queries}
        self._put(dict.fromkeys(before))
        done: dict[str, None] = {}
        try:
            for name, query in changes.items():
                if query is not None and query.publish:
                    self._graph.check(name, query)
                    done[name] = None
                    self._put({name: query})
        except QuerySyntaxError as error:
            self._put(done)
            self._put(before)
            reason = "what the join publishes comes back to it, perhaps through other joins"
            raise Problem(422, reason, error.hint, about="query", query=error.xpath) from None

    def _put(self, changes: Mapping[str, XsclQuery | None]) -> None:
        for name, query in changes.items():
            before = self._queries.pop(name, None)
            if before is not None:
                self._graph.remove(name, before)
            if query is not None:
                self._graph.add(name, query)
                self._queries[name] = query
            self.is_loaded = False
