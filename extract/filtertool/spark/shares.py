"""One large document for many tasks: each evaluates a share of the queries on it.

A share has the queries that are answered by one chunk alone; one more share has all others. Every
query is in exactly one share, so that its rows come from one task: nothing is left to be merged,
sorted or counted again. A task scans the document for its share only, and keeps only what these
queries look at: scanning is cheap, and memory is bounded by the largest share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from extract.filtertool.account import Account
from extract.scheme.model import Chunk, Scheme

REST = "rest"
_WORST = ("rejected", "whole", "conforming")


class Share(NamedTuple):
    """Queries that are evaluated together on a large document.

    Attributes:
        name: The id of the chunk that answers them; ``rest`` for those of several chunks, or none.
        queries: Indices into `Scheme.queries`.
    """

    name: str
    queries: tuple[int, ...]


def shares(scheme: Scheme) -> tuple[Share, ...]:
    """The shares of a scheme; all have queries, but for the rest, which may have none."""
    home: dict[int, str] = {}
    for chunk in scheme.every_chunk:
        name = chunk.id if chunk.prefix else REST
        for branch in chunk.branches:
            home[branch] = name if home.setdefault(branch, name) == name else REST
    found: dict[str, list[int]] = {}
    for number, query in enumerate(scheme.queries):
        homes = {home[branch] for branch in query.branches}
        found.setdefault(homes.pop() if len(homes) == 1 else REST, []).append(number)
    if scheme.unsatisfiable or scheme.later:
        found.setdefault(REST, [])
    rest = found.pop(REST, None)
    made = [Share(name, tuple(queries)) for name, queries in found.items()]
    return tuple(made if rest is None else [*made, Share(REST, tuple(rest))])


def weights(all_shares: Sequence[Share]) -> tuple[float, ...]:
    """Which part of the queries each share has."""
    total = sum(len(share.queries) for share in all_shares)
    return tuple([len(share.queries) / max(1, total) for share in all_shares])


def scheme_of(scheme: Scheme, some: Sequence[Share]) -> Scheme:
    """The scheme with the queries of some shares only.

    The rest has the unsatisfiable queries, for documents that break the schema, and those in later
    versions of XPath.
    """
    rest = any(one.name == REST for one in some)
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
        unsatisfiable=scheme.unsatisfiable if rest else (),
        later=scheme.later if rest else (),
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
            total.deliver(account.delivered)
            if not chosen.documents["rejected"]:
                total.matches += account.matches
                total.rejected_evaluations += account.rejected_evaluations
                total.failing_queries |= account.failing_queries
                total.examples += account.examples
    if chosen.documents["rejected"]:
        total.matches = 0
    return total
