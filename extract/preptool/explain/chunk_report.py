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
        id: The id of the chunk.
        prefix: Its prefix; empty for the potpourri and the whole document.
        queries: The number of subscriptions with a branch in it.
        share: The same as a part of all that can match; one may be in several chunks.
        branches: The number of branches that are evaluated on it.
        filters: The number of paths that it keeps outside of its subtrees.
        estimated_bytes: Its size for an average document.
        estimated_share: The same as a part of the document.
        splittable: Whether its subtrees can be evaluated separately.
        projected: Whether it has only those parts of its subtrees that its queries look at.
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
    """Returns the chunks in numbers; then the potpourri, and the whole document if it is needed."""
    matchable = scheme.counts()["satisfiable"]
    estimator = Estimator(scheme.statistics, scheme.namespaces)
    size = {chunk.id: estimator.of_chunk(chunk).size_bytes for chunk in scheme.every_chunk}
    document = estimator.document_bytes or 1.0
    queries = scheme.directory.count_in
    return [
        ChunkReport(
            chunk.id,
            chunk.prefix,
            queries(chunk),
            queries(chunk) / matchable if matchable else 0.0,
            len(chunk.branches),
            len(chunk.filters),
            round(size.get(chunk.id, 0.0)),
            size.get(chunk.id, 0.0) / document,
            chunk.splittable,
            chunk.projected,
            chunk.unsplittable if chunk.prefix else "; ".join(chunk.whole),
        )
        for chunk in (*scheme.chunks, scheme.potpourri, scheme.whole_document)
        if chunk.id != DOCUMENT or queries(chunk)
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
    """Returns the chunks in words, under `CHUNK_COLUMNS`."""
    rows: list[tuple[str, ...]] = []
    for report in chunk_reports(scheme):
        filters, prefix = f"{report.filters:,}", report.prefix or "-"
        if not report.prefix and report.reason:
            filters, prefix = "-", f"the whole document: {_reasons(scheme.whole_document.whole)}"
        rows.append(
            (
                report.id,
                f"{report.queries:,}",
                as_percent(report.share),
                f"{report.branches:,}",
                filters,
                _size(report, scheme.statistics),
                "yes" if report.splittable else "no" if report.prefix else "-",
                prefix,
            )
        )
    return rows


def _reasons(why: Sequence[str], most: int = 3) -> str:
    """Joins the shortest reasons in one line: with many queries there are hundreds.

    >>> _reasons(["id() may be anywhere", "a long one", "b", "c"])
    'b; c; a long one; and 1 more'
    """
    shown = sorted(why, key=len)[:most]
    return "; ".join([*shown, *([f"and {len(why) - most:,} more"] if len(why) > most else [])])


def _size(report: ChunkReport, statistics: Statistics) -> str:
    """Returns the size of a chunk; only as a part of the document without samples."""
    if not statistics.rows:
        return "-"
    share = as_percent(report.estimated_share)
    return (
        f"{report.estimated_bytes:,} ({share})" if statistics.source == "samples" else f"~{share}"
    )
