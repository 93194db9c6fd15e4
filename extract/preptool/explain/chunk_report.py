"""Reports on the chunks of a scheme: how many queries and branches each has, and its size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from extract.preptool.costing.estimate import Estimator
from extract.preptool.explain.labels import as_percent
from extract.scheme.model import DOCUMENT, Scheme
from extract.scheme.statistics import Statistics


@dataclass(frozen=True, slots=True)
class ChunkReport:
    """One line in the table of chunks.

    Attributes:
        id: The chunk.
        prefix: Its prefix; empty for the potpourri and the whole document.
        queries: How many subscriptions have a branch in it.
        share: The same as a part of all that can match; one may be in several chunks.
        branches: How many branches are evaluated on it.
        filters: How many paths outside of its subtrees it keeps something of.
        estimated_bytes: How large it is for an average document.
        estimated_share: The same as a part of the document.
        splittable: Whether its subtrees can be evaluated apart from each other.
        projected: Whether it has of its subtrees only what its queries look at.
        reason: Why it cannot be split; for the whole document, why it is needed.
    """

    id: str
    prefix: str
    queries: int
    share: float
    branches: int
    filters: int
    estimated_bytes: int
    estimated_share: float
    splittable: bool
    projected: bool = False
    reason: str = ""


def chunk_reports(scheme: Scheme) -> list[ChunkReport]:
    """The chunks in numbers; then the potpourri, and the whole document if a query needs it."""
    matchable = scheme.counts()["satisfiable"]
    estimator = Estimator(scheme.statistics, scheme.namespaces)
    size = {one.id: estimator.of_chunk(one).size_bytes for one in scheme.every_chunk}
    document = estimator.document_bytes or 1.0
    return [
        ChunkReport(
            chunk.id,
            chunk.prefix,
            len(chunk.queries),
            len(chunk.queries) / matchable if matchable else 0.0,
            len(chunk.branches),
            len(chunk.filters),
            round(size.get(chunk.id, 0.0)),
            size.get(chunk.id, 0.0) / document,
            chunk.splittable,
            chunk.projected,
            chunk.unsplittable if chunk.prefix else "; ".join(chunk.whole),
        )
        for chunk in (*scheme.chunks, scheme.potpourri, scheme.whole_document)
        if chunk.id != DOCUMENT or chunk.queries
    ]


CHUNK_COLUMNS = (
    "chunk",
    "queries",
    "share",
    "branches",
    "filter nodes",
    "estimated bytes",
    "splittable",
    "prefix",
)


def chunk_rows(scheme: Scheme) -> list[tuple[str, ...]]:
    """The chunks in words, under `CHUNK_COLUMNS`."""
    rows: list[tuple[str, ...]] = []
    for one in chunk_reports(scheme):
        filters, prefix = f"{one.filters:,}", one.prefix or "-"
        if not one.prefix and one.reason:
            filters, prefix = "-", f"the whole document: {_reasons(scheme.whole_document.whole)}"
        rows.append(
            (
                one.id,
                f"{one.queries:,}",
                as_percent(one.share),
                f"{one.branches:,}",
                filters,
                _size(one, scheme.statistics),
                "yes" if one.splittable else "no" if one.prefix else "-",
                prefix,
            )
        )
    return rows


def _reasons(why: Sequence[str], most: int = 3) -> str:
    """Some reasons in one line, the plainest ones: with many queries there are hundreds.

    >>> _reasons(["id() may be anywhere", "a long one", "b", "c"])
    'b; c; a long one; and 1 more'
    """
    shown = sorted(why, key=len)[:most]
    return "; ".join([*shown, *([f"and {len(why) - most:,} more"] if len(why) > most else [])])


def _size(one: ChunkReport, statistics: Statistics) -> str:
    """How large a chunk is; only as a part of the document where no document was seen."""
    if not statistics.rows:
        return "-"
    share = as_percent(one.estimated_share)
    return f"{one.estimated_bytes:,} ({share})" if statistics.source == "samples" else f"~{share}"
