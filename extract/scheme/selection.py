"""A scheme with some of its subscriptions only."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from dataclasses import replace

from extract.errors import SubscriptionsError
from extract.scheme.model import Chunk, Query, Scheme

_NEAR = 3  # ids that a message names


def check_ids(wanted: Iterable[str], ids: Collection[str], source: str = "") -> None:
    """Makes sure that there is a subscription with each id.

    Args:
        wanted: The ids.
        ids: Those that there are.
        source: Where they are.

    Raises:
        SubscriptionsError: One is not there; the hint names those that are much like it.
    """
    there = set(ids)
    for one in wanted:
        if one not in there:
            near = difflib.get_close_matches(one, ids, _NEAR)
            hint = f"did you mean {' or '.join(map(repr, near))}?" if near else ""
            if not near and ids:
                first = ", ".join(map(repr, list(ids)[:_NEAR]))
                hint = f"there are: {first}{', …' if len(ids) > _NEAR else ''}"
            raise SubscriptionsError(f"there is no query with the id {one!r}", hint, source)


def scheme_of_queries(scheme: Scheme, wanted: Collection[str], source: str = "") -> Scheme:
    """Returns the scheme with some subscriptions only; their answers stay the same.

    Args:
        scheme: The scheme.
        wanted: The ids of the subscriptions; none for all.
        source: Where the scheme is from, for messages.

    Raises:
        SubscriptionsError: There is no subscription with such an id.
    """
    if not wanted:
        return scheme
    chosen = frozenset(wanted)
    ids = [one.id for one in scheme.subscribers]
    check_ids(wanted, [*ids, *[one.id for one in scheme.rejected]], source)
    queries = tuple([_reduced(query, chosen) for query in scheme.queries])
    queries = tuple([query for query in queries if query.subscribers])
    needed = {branch for query in queries for branch in query.branches}

    def reduced(chunk: Chunk) -> Chunk:
        return replace(
            chunk,
            branches=tuple([branch for branch in chunk.branches if branch in needed]),
            queries=tuple([one for one in chunk.queries if one in chosen]),
        )

    chunks = [reduced(chunk) for chunk in scheme.chunks]
    return replace(
        scheme,
        queries=queries,
        chunks=tuple([chunk for chunk in chunks if chunk.branches]),
        potpourri=reduced(scheme.potpourri),
        document=reduced(scheme.document),
        unsatisfiable=tuple([one for one in scheme.unsatisfiable if one.subscriber.id in chosen]),
        later=tuple([one for one in scheme.later if one.subscriber.id in chosen]),
        rejected=tuple([one for one in scheme.rejected if one.id in chosen]),
    )


def _reduced(query: Query, chosen: Collection[str]) -> Query:
    ours = tuple([one for one in query.subscribers if one.id in chosen])
    return query if len(ours) == len(query.subscribers) else replace(query, subscribers=ours)
