"""`DocumentFilter`: from documents to rows, with CHUNKTOOL and a matcher, batch by batch.

Every engine runs a `DocumentFilter`: in this process, in the workers of `extract run`, or on Spark.
It is made once for a scheme and then filters documents. Small documents come in batches, because a
matcher answers a question on many documents at once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Generic, TypeVar

import numpy as np

from extract.chunktool.input.source import Document
from extract.chunktool.scan.driver import Verdict
from extract.errors import DocumentError
from extract.filtertool.document_cutter import DocumentCutter
from extract.filtertool.evaluation import DocumentEvaluation, PlanEvaluator
from extract.filtertool.matchers.protocol import MatcherFactory
from extract.filtertool.options import Options
from extract.filtertool.query_plan import QueryPlan
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.merge import Merger
from extract.filtertool.results.outcome import ChunkOutcome, DocumentOutcome, Rejection
from extract.filtertool.units import DocumentUnits, UnitCutter
from extract.filtertool.whole.evaluator import WholeMatcher
from extract.schema.conformance import first_violation
from extract.scheme.model import DOCUMENT, Scheme
from extract.subscriptions.columns import TextColumn

__all__ = ["DocumentFilter", "Options", "document_filter"]

DocumentT = TypeVar("DocumentT")


def document_filter(
    scheme: Scheme, factory: MatcherFactory, options: Options | None = None
) -> DocumentFilter[Document]:
    """Makes the usual filter, for complete documents.

    Args:
        scheme: The queries.
        factory: Makes the matchers.
        options: How to filter.
    """
    options = options or Options()
    together = factory.consumes == "table" and not options.priority
    plan = QueryPlan.of(scheme, together, options.priority)
    return DocumentFilter(plan, DocumentCutter.of(plan, options), factory, options)


class DocumentFilter(Generic[DocumentT]):
    """Filters documents for one query plan.

    Args:
        plan: The questions for each part of a document.
        cutter: Makes the units of a document, one for each part of the plan.
        factory: Makes the matchers.
        options: How to filter.

    Attributes:
        plan: The questions for each part of a document.
        options: How to filter.
    """

    def __init__(
        self,
        plan: QueryPlan,
        cutter: UnitCutter[DocumentT],
        factory: MatcherFactory,
        options: Options,
    ) -> None:
        self.plan = plan
        self.options = options
        self._cutter = cutter
        self._evaluator = PlanEvaluator(plan, factory, options)
        self._whole = WholeMatcher(
            plan.namespaces, options.select, options.limits, options.standalone
        )

    @property
    def ids(self) -> TextColumn:
        """The ids of all subscribers, as rows refer to them."""
        return self.plan.ids

    def process(self, documents: Iterable[tuple[str, DocumentT]]) -> list[DocumentOutcome]:
        """Filters a batch of documents, each with its name.

        An error in one document is in its outcome, and does not affect the others.
        """
        if self.options.priority:  # the first chunk of a document does not wait for other documents
            return [self._finish(self._begin(*document), last=True) for document in documents]
        batch = [self._begin(name, document) for name, document in documents]
        self._evaluator.evaluate(batch)
        return [self._finish(evaluation, last=evaluation is batch[-1]) for evaluation in batch]

    def by_priority(self, name: str, document: DocumentT) -> Iterator[ChunkOutcome]:
        """Filters one document, and yields the outcome of each chunk as soon as it is ready.

        Chunks come in the order of the plan; with `Options.priority`, chunks with the heaviest
        subscribers come first. All rows of a query come together, with the last of its chunks.

        Raises:
            DocumentError: The document is rejected.
        """
        evaluation = self._begin(name, document)
        if evaluation.error is not None:
            raise evaluation.error
        return self._chunk_outcomes(evaluation)

    def figures(self) -> Mapping[str, float]:
        """Returns the sums of the matchers' figures so far."""
        total = self._evaluator.figures()
        for name, number in self._whole.figures.items():
            total[name] = total.get(name, 0) + number
        if self.plan.scheme.later:
            total["elementpath_questions"] = len(self.plan.scheme.later)
        return total

    # -- a document begins, is evaluated (`PlanEvaluator.evaluate`) and is finished

    def _begin(self, name: str, document: DocumentT) -> DocumentEvaluation:
        """Scans a document, and decides how it is evaluated."""
        started = time.perf_counter()
        merger = Merger(self.options.select, self.options.limits)
        try:
            units = self._cutter.cut(name, document)
            evaluation = DocumentEvaluation(units, merger, started)
            evaluation.nonconforming = units.outcome.verdict is Verdict.NONCONFORMING
            if evaluation.nonconforming and self.options.on_nonconforming == "reject":
                evaluation.error = units.outcome.rejection(units.name)
            else:
                evaluation.whole = units.reason
        except DocumentError as error:
            evaluation = DocumentEvaluation(DocumentUnits.unread(name), merger, started)
            evaluation.error = error
        evaluation.seconds["chunk"] = time.perf_counter() - started
        return evaluation

    def _finish(self, evaluation: DocumentEvaluation, last: bool) -> DocumentOutcome:
        """Turns the answers into the outcome of the document."""
        started = time.perf_counter()
        try:
            if evaluation.error is not None:
                raise evaluation.error
            findings, rejections = self._results(evaluation)
            fate = "conforming"
            if evaluation.whole:
                fate = "nonconforming" if evaluation.nonconforming else "whole"
        except DocumentError as error:
            evaluation.error = error
            findings, fate = Findings.none(), "rejected"
            rejections = [_rejection(evaluation, error)]
        stage = "match" if self.options.priority else "rows"
        seconds = time.perf_counter() - started
        evaluation.seconds["whole" if evaluation.whole else stage] = seconds
        units = evaluation.units
        return DocumentOutcome(
            units.name,
            fate,
            findings,
            tuple(rejections),
            evaluation.nonconforming,
            max(0, units.size),
            units.outcome.scanner,
            (evaluation.whole,) if evaluation.whole else units.outcome.handed_over,
            evaluation.seconds,
            evaluation.error,
            os.getpid(),
            self.figures() if last else {},
            evaluation.answer_seconds,
        )

    # -- from answers to rows

    def _results(self, evaluation: DocumentEvaluation) -> tuple[Findings, list[Rejection]]:
        """Returns the rows of a document, and the queries that could not be evaluated on it."""
        if self.options.priority:
            chunks = list(self._chunk_outcomes(evaluation))
            findings = Findings.together([chunk.findings for chunk in chunks])
            return findings, [rejection for chunk in chunks for rejection in chunk.rejections]
        if evaluation.whole:
            return self._whole_document(evaluation)
        findings, failed = self._merged(evaluation.merger)
        if self.plan.whole_queries.queries:
            more, broken = self._whole_queries(evaluation)
            findings, failed = Findings.together([findings, more]), failed | broken
        return findings, self._rejections(evaluation, failed)

    def _chunk_outcomes(self, evaluation: DocumentEvaluation) -> Iterator[ChunkOutcome]:
        """Evaluates one chunk after the other, in the order of the plan."""
        plan, name = self.plan, evaluation.units.name
        waiting = np.ones(len(plan.ids), np.bool_)
        for number in plan.order if not evaluation.whole else ():
            if number is None:
                chunk, weight = DOCUMENT, plan.whole_weight
                findings, failed = self._whole_queries(evaluation)
                waiting[plan.whole_queries.owners.subscribers] = False
            else:
                part = plan.parts[number]
                chunk, weight = part.output.id, part.weight
                self._evaluator.evaluate_part(number, [evaluation])
                if evaluation.whole:
                    break
                complete = plan.last == number
                findings, failed = self._merged(evaluation.merger.taken(complete))
                done = np.flatnonzero(complete).astype(np.int32)
                waiting[plan.queries.owners.all_of(done)] = False
            rejections = tuple(self._rejections(evaluation, failed))
            seconds = evaluation.ready(chunk)
            yield ChunkOutcome(name, chunk, weight, seconds, findings, rejections)
        if evaluation.whole:  # perhaps since a later chunk; earlier outcomes stand
            findings, rejected = self._whole_document(evaluation)
            ids = {plan.ids[number] for number in np.flatnonzero(waiting).tolist()}
            rejections = tuple([rejection for rejection in rejected if rejection.query in ids])
            seconds = evaluation.ready(DOCUMENT)
            weight = float(plan.weights[waiting].sum())
            findings = findings.only(waiting)
            yield ChunkOutcome(name, DOCUMENT, weight, seconds, findings, rejections)

    def _merged(self, merger: Merger) -> tuple[Findings, dict[int, str]]:
        """Returns the rows of the units, and the reasons of failed queries by subscriber."""
        owners = self.plan.queries.owners
        findings = merger.findings(owners)
        failed = merger.failed.items()
        return findings, {who: why for query, why in failed for who in owners.list(query)}

    def _whole_queries(self, evaluation: DocumentEvaluation) -> tuple[Findings, dict[int, str]]:
        """Evaluates the queries that need the whole document even if it conforms.

        Returns:
            Their rows, and the reasons of failed queries by subscriber.
        """
        queries, units = self.plan.whole_queries, evaluation.units
        if not queries.queries:
            return Findings.none(), {}
        reason = self._whole.too_large(units.size)
        if reason:
            return Findings.none(), {int(who): reason for who in queries.owners.subscribers}
        document = self._whole.open(units.read(), evaluation.units.name)
        findings, failed = self._whole.find(document, queries)
        return findings, queries.owners_of(failed)

    def _whole_document(self, evaluation: DocumentEvaluation) -> tuple[Findings, list[Rejection]]:
        """Evaluates all queries, as they were written, on the whole document."""
        units, name = evaluation.units, evaluation.units.name
        self._whole.check_size(units.size, name)
        document = self._whole.open(units.read(), name)
        if self.options.on_nonconforming == "reject":
            violation = first_violation(self.plan.scheme.schema, document.tree)
            if violation is not None:
                evaluation.nonconforming = True
                reason = f"the document breaks the schema: {violation}"
                raise DocumentError(reason, "", name, violation.line)
        findings, failed = self._whole.find(document, self.plan.originals)
        return findings, self._rejections(evaluation, self.plan.originals.owners_of(failed))

    def _rejections(
        self, evaluation: DocumentEvaluation, failed: Mapping[int, str]
    ) -> list[Rejection]:
        if not failed:
            return []
        name, ids = evaluation.units.name, self.plan.ids
        return [Rejection.of_query(name, ids[n], why) for n, why in sorted(failed.items())]


def _rejection(evaluation: DocumentEvaluation, error: DocumentError) -> Rejection:
    return Rejection(
        evaluation.units.name,
        None,
        "filter" if evaluation.whole else "chunk",
        error.reason,
        error.line or None,
        error.offset if error.offset >= 0 else None,
    )
