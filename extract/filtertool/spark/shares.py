"""One large document for many tasks: each evaluates a share of the queries on it, or on a part.

A share has the queries that are answered by one chunk alone; those of several chunks are in one of
their own. Of each there are two: one of queries that can be evaluated on pieces of a document, and
one of those that cannot. Every query is in exactly one share. A task keeps of the document only
what its queries look at: memory is bounded by the largest share, or piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from extract.filtertool.account import Account
from extract.filtertool.records import Division
from extract.scheme.model import Chunk, Scheme

REST = "rest"
_WORST = ("rejected", "whole", "conforming")


class Share(NamedTuple):
    """Queries that are evaluated together on a large document.

    Attributes:
        name: The id of the chunk that answers them; ``rest`` for those of several chunks, or none.
        queries: Indices into `Scheme.queries`.
        records: If they can be evaluated on pieces: the names of their records, as indices into
            `Division.names`. Else empty.
        last: Whether it also has the queries that match no conforming document, and those in later
            versions of XPath.
        idle: Whether there is nothing to do for it on a document that keeps to the schema.
    """

    name: str
    queries: tuple[int, ...]
    records: frozenset[int] = frozenset()
    last: bool = False
    idle: bool = False


def shares(scheme: Scheme, division: Division | None = None) -> tuple[Share, ...]:
    """The shares of a scheme; all have queries, but for the last one, which may have none.

    Args:
        scheme: The scheme.
        division: Which queries can be evaluated on pieces; None for no query.
    """
    apart = {} if division is None else division.queries
    home: dict[int, str] = {}
    for chunk in scheme.every_chunk:
        name = chunk.id if chunk.prefix else REST
        for branch in chunk.branches:
            home[branch] = name if home.setdefault(branch, name) == name else REST
    found: dict[tuple[str, bool], list[int]] = {}
    for number, query in enumerate(scheme.queries):
        homes = {home[branch] for branch in query.branches}
        name = homes.pop() if len(homes) == 1 else REST
        found.setdefault((name, number in apart), []).append(number)
    made = []
    for (name, pieces), queries in sorted(found.items(), key=lambda one: (one[0][0] == REST,)):
        records = frozenset().union(*[apart[n] for n in queries]) if pieces else frozenset()
        made.append(Share(name, tuple(queries), records))
    at = next((n for n, one in enumerate(made) if one.name == REST and not one.records), len(made))
    if scheme.unsatisfiable or scheme.later:
        left = made[at].queries if made[at:] else ()
        idle = not left and not scheme.later
        made[at : at + 1] = [Share(REST, left, last=True, idle=idle)]
    return tuple(made)


def weights(all_shares: Sequence[Share]) -> tuple[float, ...]:
    """Which part of the queries each share has."""
    total = sum(len(share.queries) for share in all_shares)
    return tuple([len(share.queries) / max(1, total) for share in all_shares])


def scheme_of(scheme: Scheme, some: Sequence[Share]) -> Scheme:
    """The scheme with the queries of some shares only."""
    last = any(one.last for one in some)
    queries = tuple([scheme.queries[n] for share in some for n in share.queries])
    needed = {branch for query in queries for branch in query.branches}

    def reduced(chunk: Chunk) -> Chunk:
        ours = tuple([branch for branch in chunk.branches if branch in needed])
        return replace(chunk, branches=ours)

    chunks = [reduced(chunk) for chunk in scheme.chunks]
    return replace(
        scheme,
        queries=queries,
        chunks=tuple([chunk for chunk in chunks if chunk.branches]),
        potpourri=reduced(scheme.potpourri),
        document=reduced(scheme.document),
        unsatisfiable=scheme.unsatisfiable if last else (),
        later=scheme.later if last else (),
        rejected=(),
    )


def worst(accounts: Sequence[Account]) -> int:
    """Which of the accounts of one document's shares tells what became of the document."""
    ranks = [
        next(rank for rank, fate in enumerate(_WORST) if account.documents[fate])
        for account in accounts
    ]
    return ranks.index(min(ranks))


def one_account(accounts: Sequence[Account]) -> Account:
    """What the shares of one document say, as of one document.

    If it was rejected for one share, it was rejected, and gave no rows.
    """
    which = worst(accounts)
    chosen = accounts[which]
    total = Account()
    total.merge(chosen)
    for number, account in enumerate(accounts):
        if number != which:
            total.seconds.update_by(account.seconds)
            total.add_answer_seconds(account.answer_seconds)
            if not chosen.documents["rejected"]:
                total.matches += account.matches
                total.rejected_evaluations += account.rejected_evaluations
                total.failing_queries |= account.failing_queries
                total.examples += account.examples
    if chosen.documents["rejected"]:
        total.matches = 0
    return total
