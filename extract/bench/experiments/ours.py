"""extract as it is used: from the bytes of documents to the answers, with the default matcher."""

from __future__ import annotations

from collections.abc import Sequence

from extract.bench.experiments.clock import best
from extract.bench.experiments.subject import named
from extract.filtertool.document_filter import Options, document_filter
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.registry import AUTO, load_matcher
from extract.scheme import Scheme


def seconds_of(scheme: Scheme, documents: Sequence[bytes], select: Select = "count") -> float:
    """What all queries of a scheme take on all documents, on one core; the scheme is prepared."""
    filter_ = document_filter(scheme, load_matcher(AUTO), Options(select))
    filter_.process(named(documents[:1]))  # builds what is kept for all documents
    return best(lambda: filter_.process(named(documents)))[0]


def numbers_of(scheme: Scheme, documents: Sequence[bytes]) -> list[dict[str, int]]:
    """For each document how many nodes queries select, where they select any."""
    filter_ = document_filter(scheme, load_matcher(AUTO), Options("count"))
    ids = filter_.plan.ids
    counts = []
    for done in filter_.process(named(documents)):
        who, numbers = done.findings.subscriber.tolist(), done.findings.count.tolist()
        counts.append({ids[w]: n for w, n in zip(who, numbers, strict=True)})
    return counts
