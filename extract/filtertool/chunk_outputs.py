"""Results of FLWR queries from the files that ``extract chunk`` writes.

A chunk has all that is below the nodes that its queries select. So a query is answered on its chunk
if it binds nodes of one chunk only, and makes its result of what is below them; others need the
whole document, which is there where a document was to be evaluated whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from extract.chunktool.manifest import Manifest
from extract.filtertool.canonical_queries import form_constants_of
from extract.filtertool.chunk_files import chunk_file_filter
from extract.filtertool.flwr.parsed_queries import ParsedQueries
from extract.filtertool.flwr.slow_outputs import SlowOutputs
from extract.filtertool.matchers.protocol import MatcherFactory
from extract.filtertool.options import Options
from extract.filtertool.results.batch_outcome import document_outcomes
from extract.filtertool.results.outcome import DocumentOutcome, Rejection
from extract.filtertool.results.output_rows import output_findings
from extract.flwr.below import looks_below
from extract.scheme.model import DOCUMENT, Scheme
from extract.subscriptions.columns import TextColumn
from extract.xpath.parameters import filled

_SEVERAL: Final = "it binds nodes of several chunks; filter the document itself, or use --chunks 1"
_ELSEWHERE: Final = "its result looks beyond what it binds; filter the document itself"


class ChunkOutputFilter:
    """Filters chunks in files for FLWR subscriptions; its documents are directories.

    Args:
        scheme, factory, digest: As for `chunk_file_filter`.
        options: How to filter.

    Attributes:
        ids: The ids of all subscribers of the scheme.
    """

    def __init__(
        self, scheme: Scheme, factory: MatcherFactory, options: Options, digest: str = ""
    ) -> None:
        own = replace(options, select="doc")
        self._matching = chunk_file_filter(scheme, factory, own, digest)
        self._scheme = scheme
        self.ids: TextColumn = self._matching.plan.ids
        self._queries = ParsedQueries(self.ids, scheme.outputs)
        self._slow = SlowOutputs(self._queries, options.limits)
        self._chunk_of = {
            branch: chunk.id for chunk in scheme.every_chunk for branch in chunk.branches
        }
        self._limits = options.limits

    def process(self, documents: Iterable[tuple[str, Path]]) -> Iterator[DocumentOutcome]:
        """Filters documents, each a directory with its name."""
        for name, directory in documents:
            for done in document_outcomes(self._matching.process([(name, directory)])):
                yield self._made(done, directory)

    def _made(self, done: DocumentOutcome, directory: Path) -> DocumentOutcome:
        if done.fate == "rejected":
            return done
        found = done.findings.subscriber.tolist()
        chosen = [n for n in found if self.ids.text(n) in self._scheme.outputs]
        files = {file.id: directory / file.file for file in Manifest.load(directory).chunks}
        made: list[tuple[int, str]] = []
        failed: list[Rejection] = []
        for number, text, reason in self._results(files, chosen):
            if reason:
                failed.append(Rejection.of_query(done.document, self.ids[number], reason))
            elif text is not None:
                made.append((number, text))
        rejections = (*done.rejections, *failed)
        return replace(done, findings=output_findings(sorted(made)), rejections=rejections)

    def _results(
        self, files: Mapping[str, Path], numbers: list[int]
    ) -> Iterator[tuple[int, str | None, str]]:
        """Yields for each query its number, its result, and why there is none."""
        if DOCUMENT in files:
            if numbers:
                yield from self._slow.make(files[DOCUMENT].read_bytes(), numbers)
            return
        by_chunk: dict[str, list[int]] = {}
        for number in numbers:
            chunk, reason = self._place(number)
            if reason:
                yield number, None, reason
            else:
                by_chunk.setdefault(chunk, []).append(number)
        for chunk, several in by_chunk.items():
            slow = SlowOutputs(
                self._queries, self._limits, self._bindings(several), self._scheme.namespaces
            )
            yield from slow.make(files[chunk].read_bytes(), several)

    def _place(self, number: int) -> tuple[str, str]:
        """The chunk of a query, or why there is none."""
        if number >= len(self._scheme.directory.forms):  # no XPath selects what it binds
            return "", _ELSEWHERE
        form = self._scheme.forms[int(self._scheme.directory.forms[number])]
        chunks = {self._chunk_of[branch] for branch in form.branches}
        if len(chunks) != 1:
            return "", _SEVERAL
        return (chunks.pop(), "") if looks_below(self._queries[number]) else ("", _ELSEWHERE)

    def _bindings(self, numbers: Iterable[int]) -> dict[int, str]:
        """What queries bind, as the scheme evaluates it on chunks."""
        bindings = {}
        for number in numbers:
            form = int(self._scheme.directory.forms[number])
            constants = form_constants_of(self._scheme, form, np.array([number]))
            row = () if constants is None else constants.row(0)
            branches = [self._scheme.branches.xpaths[n] for n in self._scheme.forms[form].branches]
            bindings[number] = " | ".join([filled(branch, row) for branch in branches])
        return bindings
