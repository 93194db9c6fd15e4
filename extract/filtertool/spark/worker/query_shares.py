"""Shares of the queries, for large documents: each task evaluates some shares.

A share has the queries of one chunk; the queries of several chunks form a share of their own. Each
is split in two: queries that can be evaluated on pieces of a document, and the others. Every query
    is
in exactly one share. A task reads only the part of the document that its queries need: memory is
bounded by the largest share, or piece.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from extract.chunktool.split.divide import Division
from extract.chunktool.split.survey import Survey
from extract.scheme.model import Scheme
from extract.scheme.selection import scheme_of_members

REST = "rest"


class QueryShare(NamedTuple):
    """Queries that are evaluated together on a large document.

    Attributes:
        name: The id of the chunk of these queries; ``rest`` for queries of several chunks, or none.
        forms: The normal forms of the queries: indices into `Scheme.forms`.
        size: The number of queries.
        records: For queries that can be evaluated on pieces: the names of their records, as indices
            into `Division.names`. Otherwise empty.
        last: Whether it also has the queries that match no conforming document, and those in later
            versions of XPath.
        idle: Whether it has nothing to evaluate on a document that keeps to the schema.
    """

    name: str
    forms: tuple[int, ...]
    size: int
    records: frozenset[int] = frozenset()
    last: bool = False
    idle: bool = False


def query_shares(scheme: Scheme, division: Division | None = None) -> tuple[QueryShare, ...]:
    """Returns the shares of a scheme; only the last one may be without queries.

    Args:
        scheme: The scheme.
        division: The queries that can be evaluated on pieces; None for no query.
    """
    apart = {} if division is None else division.forms
    home: dict[int, str] = {}
    for chunk in scheme.every_chunk:
        name = chunk.id if chunk.prefix else REST
        for branch in chunk.branches:
            home[branch] = name if home.setdefault(branch, name) == name else REST
    numbers: dict[tuple[str, bool], list[int]] = {}
    members = scheme.directory.forms
    sizes = np.bincount(members[members >= 0], minlength=len(scheme.forms))
    for number in np.flatnonzero(sizes).tolist():
        homes = {home[branch] for branch in scheme.forms[number].branches}
        name = homes.pop() if len(homes) == 1 else REST
        numbers.setdefault((name, number in apart), []).append(number)
    made = []
    for (name, pieces), forms in sorted(numbers.items(), key=lambda item: (item[0][0] == REST,)):
        records = frozenset().union(*[apart[n] for n in forms]) if pieces else frozenset()
        made.append(QueryShare(name, tuple(forms), int(sizes[forms].sum()), records))
    rest = (n for n, share in enumerate(made) if share.name == REST and not share.records)
    at = next(rest, len(made))
    if scheme.unsatisfiable or scheme.later:
        left, size = (made[at].forms, made[at].size) if made[at:] else ((), 0)
        idle = not left and not scheme.later
        made[at : at + 1] = [QueryShare(REST, left, size, last=True, idle=idle)]
    return tuple(made)


class SharesByInput(NamedTuple):
    """Shares by their input, as indices.

    Attributes:
        on_pieces: Shares that are evaluated on pieces of the document.
        on_document: Shares that are evaluated on the whole document.
    """

    on_pieces: tuple[int, ...]
    on_document: tuple[int, ...]


def shares_by_input(
    shares: Sequence[QueryShare], which: Iterable[int], survey: Survey
) -> SharesByInput:
    """Decides on which input shares are evaluated, after a survey of the document.

    Shares with nothing to evaluate on a conforming document are left out if the survey has cut the
    document.

    Args:
        shares: All shares.
        which: Indices of the shares to decide on.
        survey: The survey; without pieces if the document cannot be cut.
    """
    pieces, document = [], []
    for number in which:
        if survey.pieces and shares[number].records:
            pieces.append(number)
        elif not (survey.pieces and shares[number].idle):
            document.append(number)
    return SharesByInput(tuple(pieces), tuple(document))


def share_weights(shares: Sequence[QueryShare]) -> tuple[float, ...]:
    """Returns the part of the queries in each share."""
    total = sum(share.size for share in shares)
    return tuple([share.size / max(1, total) for share in shares])


def scheme_of_shares(scheme: Scheme, shares: Sequence[QueryShare]) -> Scheme:
    """Returns the scheme with the queries of some shares only."""
    last = any(share.last for share in shares)
    chosen = np.zeros(len(scheme.forms) + 1, np.bool_)  # the last one for those without a form
    chosen[[number for share in shares for number in share.forms]] = True
    chosen[-1] = last
    rows = np.flatnonzero(chosen[scheme.directory.forms])
    return scheme_of_members(scheme, rows, scheme.later if last else ())
