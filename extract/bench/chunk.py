"""``extract bench chunk``: what CHUNKTOOL costs, next to lxml's parse of the same bytes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from extract.bench.data import Corpus, corpora
from extract.bench.table import ResultTable
from extract.chunktool.chunks import chunk
from extract.chunktool.prefilter import Prefilter
from extract.chunktool.scan.driver import ENVIRONMENT, kernel_available
from extract.markup.lxml_parser import parse_tree
from extract.preptool.prepare import prepare
from extract.scheme import Scheme

_CHUNKS = 5
_TURNS = 5


def run(data: Path | None, scale: float = 1.0) -> ResultTable:
    """Projects to a tenth, cuts into five chunks that cover everything, with kernel and without."""
    rows = [_measure(corpus) for corpus in corpora(data, scale)]
    columns = (
        "documents",
        "MB",
        "lxml MB/s",
        "kept %",
        "project MB/s",
        "x lxml",
        "trusted",
        "with table",
        "5 chunks MB/s",
        "x lxml ",
        "with table ",
        "Python x lxml",
    )
    remarks = [
        "lxml: the parse alone. All others: edges checked, bytes of the result in hand.",
        "project: one document for queries that need about a tenth. 5 chunks: all bytes kept.",
        "trusted: x lxml with --assume-valid, which skips to end tags without looking.",
        "with table: x lxml with the node table: extents, parents, positions among siblings.",
        "Python: the same projection without the kernel.",
    ]
    if not kernel_available():
        remarks.append("The kernel is not built here: all figures are those of the Python scanner.")
    if data is None:
        remarks.append("Only generated documents: ../shared/data is not there.")
    return ResultTable("CHUNKTOOL, one core", columns, rows, tuple(remarks))


def _measure(corpus: Corpus) -> list[str | int | float]:
    prefilter = Prefilter(prepare(corpus.schema, corpus.tenth, 1))
    trusting = Prefilter(prefilter.scheme, assume_valid=True)
    scheme = prepare(corpus.schema, corpus.everything, _CHUNKS)
    kept = 0

    def parse() -> None:
        for document in corpus.documents:
            parse_tree(document)

    def project(prefilter: Prefilter = prefilter) -> None:
        nonlocal kept
        kept = sum([len(prefilter.project(document)) for document in corpus.documents])

    def cut(scheme: Scheme, nodes: bool) -> None:
        for document in corpus.documents:
            for part in chunk(scheme, document, nodes=nodes):
                part.xml()

    lxml, trusted, projected, tenth, chunked, tabled = _best(
        parse,
        lambda: project(trusting),
        project,
        lambda: cut(prefilter.scheme, True),
        lambda: cut(scheme, False),
        lambda: cut(scheme, True),
    )
    with _without_kernel():
        (python,) = _best(project, turns=2)
    megabytes = corpus.size / 1e6
    return [
        corpus.name,
        megabytes,
        megabytes / lxml,
        100 * kept / corpus.size,
        megabytes / projected,
        lxml / projected,
        lxml / trusted,
        lxml / tenth,
        megabytes / chunked,
        lxml / chunked,
        lxml / tabled,
        lxml / python,
    ]


def _best(*works: Callable[[], None], turns: int = _TURNS) -> list[float]:
    """The shortest CPU time of each, in two rounds so that a busy moment does not hit one alone.

    Within a round each is repeated right away: what it finds is the memory that it left behind
    itself. After lxml has freed a tree, the next allocation of more than a kilobyte puts the free
    pieces together, whoever asks for it (34 ms for 3 MB of NITF): that is lxml's bill, not ours.
    """
    best = [float("inf")] * len(works)
    for _ in range(2):
        for number, work in enumerate(works):
            for _ in range(turns):
                started = time.process_time()
                work()
                best[number] = min(best[number], time.process_time() - started)
    return best


@contextmanager
def _without_kernel() -> Iterator[None]:
    before = os.environ.get(ENVIRONMENT)
    os.environ[ENVIRONMENT] = "off"
    try:
        yield
    finally:
        if before is None:
            del os.environ[ENVIRONMENT]
        else:
            os.environ[ENVIRONMENT] = before
