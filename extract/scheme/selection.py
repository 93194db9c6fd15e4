"""A scheme with some of its subscriptions only."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from dataclasses import replace

import numpy as np

from extract.errors import SubscriptionsError
from extract.scheme.model import Chunk, Scheme
from extract.scheme.registered import Later, Rejected
from extract.subscriptions.columns import Offsets

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
    check_ids(wanted, [*scheme.directory.ids, *[one.id for one in scheme.rejected]], source)
    rows = [scheme.directory.find(one) for one in dict.fromkeys(wanted)]
    members = np.array(sorted(row for row in rows if row >= 0), np.int64)
    return scheme_of_members(
        scheme,
        members,
        later=tuple([one for one in scheme.later if one.subscriber.id in chosen]),
        rejected=tuple([one for one in scheme.rejected if one.id in chosen]),
    )


def scheme_of_members(
    scheme: Scheme,
    rows: Offsets,
    later: tuple[Later, ...] = (),
    rejected: tuple[Rejected, ...] = (),
) -> Scheme:
    """Returns the scheme with some members only; their answers stay the same.

    Args:
        scheme: The scheme.
        rows: The members.
        later: The queries in later versions of XPath that it keeps.
        rejected: The rejected queries that it keeps.
    """
    forms = np.unique(scheme.directory.forms[rows])
    needed = {n for form in forms[forms >= 0].tolist() for n in scheme.forms[form].branches}

    def reduced(chunk: Chunk) -> Chunk:
        branches = tuple([branch for branch in chunk.branches if branch in needed])
        return replace(chunk, branches=branches)

    chunks = [reduced(chunk) for chunk in scheme.chunks]
    return replace(
        scheme,
        members=scheme.members.take(rows),
        chunks=tuple([chunk for chunk in chunks if chunk.branches]),
        potpourri=reduced(scheme.potpourri),
        document=reduced(scheme.document),
        later=later,
        rejected=rejected,
    )
