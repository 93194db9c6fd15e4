"""From documents to rows: CHUNKTOOL and a matcher, one batch of documents after the other.

`DocumentFilter` is what every engine runs, here, in the processes of `extract run`, or on Spark. It
is made once for a scheme and then takes documents. Small documents come in batches, for a matcher
answers a question on many at once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from extract.chunktool.scanner import Outcome, Verdict
from extract.chunktool.source import Document
from extract.errors import DocumentError
from extract.filtertool.asking import Asker, Underway
from extract.filtertool.cutting import Cut, DocumentCutter
from extract.filtertool.matcher import MatcherFactory
from extract.filtertool.options import Options
from extract.filtertool.plan import Plan
from extract.filtertool.processed import Delivery, Processed, Rejection
from extract.filtertool.results import Findings, Merger, together
from extract.filtertool.whole import WholeMatcher
from extract.schema.conformance import first_violation
from extract.scheme.model import DOCUMENT, Scheme

__all__ = ["DocumentFilter", "Options", "Processed", "Rejection"]


class DocumentFilter:
    """Filters documents for one scheme.

    Args:
        scheme: What to look for.
        factory: How to look.
        options: How.

    Attributes:
        plan: What is asked of which part of a document.
    """

    def __init__(
        self, scheme: Scheme, factory: MatcherFactory, options: Options | None = None
    ) -> None:
        self.options = options = options or Options()
        self.plan = self._make_plan(scheme, factory)
        self._asker = Asker(self.plan, factory, options)
        self._whole = WholeMatcher(
            scheme.namespaces, options.select, options.limits, options.standalone
        )

    def process(self, documents: Iterable[tuple[str, Document]]) -> list[Processed]:
        """Filters a batch of documents, each with its name. What is wrong with one is in its
        result, and does not touch the others."""
        if self.options.priority:  # what comes first shall not wait for other documents
            return [self._finish(self._begin(*one), True) for one in documents]
        jobs = [self._begin(name, document) for name, document in documents]
        ready = [job for job in jobs if job.merger is not None]
        started = time.perf_counter()
        for number, part in enumerate(self.plan.parts):
            asked = [job for job in ready if not job.whole]
            self._asker.ask(number, asked)
            for job in asked:
                job.deliver(part.output.id)
        if ready:
            ready[0].seconds.since("match", started)
        return [self._finish(job, job is jobs[-1]) for job in jobs]

    def deliveries(self, name: str, document: Document) -> Iterator[Delivery]:
        """Filters one document, and gives what each chunk has answered as soon as it has.

        Chunks come in the order of the plan; with `Options.priority`, the one first whose
        subscribers weigh most. The rows of a query come all together, with the last of its chunks.

        Raises:
            DocumentError: The document is rejected.
        """
        job = self._begin(name, document)
        if job.error is not None:
            raise job.error
        return self._deliver(job)

    def figures(self) -> Mapping[str, float]:
        """What the matchers say of their work so far, all together."""
        total = dict(self._asker.figures())
        for name, many in self._whole.figures.items():
            total[name] = total.get(name, 0) + many
        if self.plan.scheme.later:
            total["elementpath_questions"] = len(self.plan.scheme.later)
        return total

    # -- CHUNKTOOL

    def _make_plan(self, scheme: Scheme, factory: MatcherFactory) -> Plan:
        options = self.options
        together = factory.consumes == "table" and not options.priority
        plan = Plan.of(scheme, together, options.priority)
        self._cutter = DocumentCutter(
            scheme,
            plan.outputs,
            options.assume_valid,
            options.limits,
            options.kernel,
            options.in_memory,
        )
        return plan

    def _cut(self, name: str, document: Any) -> Cut:
        """Reads and scans a document."""
        return self._cutter.cut(name, document)

    def _begin(self, name: str, document: Any) -> Underway:
        job = Underway(name)
        started = time.perf_counter()
        try:
            job.cut = cut = self._cut(name, document)
            job.name, outcome = cut.name, cut.outcome
            job.nonconforming = outcome.verdict is Verdict.NONCONFORMING
            if outcome.conforming:
                job.merger = Merger(self.options.select, self.options.limits)
            elif job.nonconforming and self.options.on_nonconforming == "reject":
                raise outcome.rejection(job.name)
            else:
                job.whole = cut.reason
        except DocumentError as error:
            job.error = error
        job.seconds.since("chunk", started)
        return job

    # -- results

    def _finish(self, job: Underway, last: bool) -> Processed:
        started = time.perf_counter()
        findings, fate = Findings.none(), "rejected"
        rejections: list[Rejection] = []
        try:
            if job.error is not None:
                raise job.error
            if self.options.priority:
                parts = list(self._deliver(job))
                findings = together([part.findings for part in parts])
                rejections = [one for part in parts for one in part.rejections]
            elif job.whole:
                findings, rejections = self._evaluate_whole(job)
            else:
                findings, rejections = self._rows(job)
            fate = "conforming"
            if job.whole:
                fate = "nonconforming" if job.nonconforming else "whole"
        except DocumentError as error:
            job.error = error
            rejections = [_rejection(job.name, error, "filter" if job.whole else "chunk")]
        stage = "match" if self.options.priority else "rows"  # in one go, for each chunk
        job.seconds.since("whole" if job.whole else stage, started)
        outcome = job.cut.outcome if job.cut is not None else Outcome(Verdict.WHOLE)
        return Processed(
            job.name,
            fate,
            findings,
            tuple(rejections),
            job.nonconforming,
            max(0, job.cut.size) if job.cut is not None else 0,
            outcome.scanner,
            (job.whole,) if job.whole else outcome.handed_over,
            job.seconds,
            job.error,
            os.getpid(),
            self.figures() if last else {},
            job.delivered,
        )

    def _rows(self, job: Underway) -> tuple[Findings, list[Rejection]]:
        """What was found on the chunks, and what is asked of the whole document besides."""
        findings, failed = self._merged(job.answers)
        more, broken = self._rest(job)
        return together([findings, more]), self._failures(job, failed | broken)

    def _merged(self, merger: Merger) -> tuple[Findings, dict[int, str]]:
        """Rows, and by subscriber why there are none."""
        owners = self.plan.owners
        findings = merger.findings(owners)
        failed = merger.failed.items()
        return findings, {who: why for query, why in failed for who in owners.list(query)}

    def _rest(self, job: Underway) -> tuple[Findings, dict[int, str]]:
        """The same of the queries that need all of a document that could be cut."""
        queries, cut = self.plan.whole_queries, job.parts
        if not queries.queries:
            return Findings.none(), {}
        reason = self._whole.too_large(cut.size)
        if reason:
            return Findings.none(), {int(who): reason for who in queries.owners.subscribers}
        document = self._whole.open(cut.read(), job.name)
        found, broken = self._whole.find(document, queries)
        return found, {who: why for n, why in broken.items() for who in queries.owners.list(n)}

    def _deliver(self, job: Underway) -> Iterator[Delivery]:
        plan, waiting = self.plan, np.ones(len(self.plan.subscribers), np.bool_)
        for number in plan.order if not job.whole else ():
            if number is None:
                chunk, weight = DOCUMENT, plan.whole_weight
                found, failed = self._rest(job)
                waiting[plan.whole_queries.owners.subscribers] = False
            else:
                part = plan.parts[number]
                chunk, weight = part.output.id, part.weight(plan.scheme)
                self._asker.ask(number, [job])
                if job.whole:
                    break
                complete = plan.last == number
                found, failed = self._merged(job.answers.taken(complete))
                waiting[plan.owners.all_of(np.flatnonzero(complete))] = False
            rejections = tuple(self._failures(job, failed))
            yield Delivery(job.name, chunk, weight, job.deliver(chunk), found, rejections)
        if job.whole:  # perhaps only now: what was given out before holds, and the rest follows
            found, rejected = self._evaluate_whole(job)
            ids = {one.id for one, late in zip(plan.subscribers, waiting, strict=True) if late}
            rejections = tuple([one for one in rejected if one.query in ids])
            spent = job.deliver(DOCUMENT)
            weight = sum([one.weight for one in plan.subscribers if one.id in ids])
            yield Delivery(job.name, DOCUMENT, weight, spent, found.only(waiting), rejections)

    def _evaluate_whole(self, job: Underway) -> tuple[Findings, list[Rejection]]:
        """Evaluates the queries as they were written on all of a document."""
        cut = job.parts
        self._whole.check_size(cut.size, job.name)
        document = self._whole.open(cut.read(), job.name)
        if self.options.on_nonconforming == "reject":
            violation = first_violation(self.plan.scheme.schema, document.tree)
            if violation is not None:
                job.nonconforming = True
                reason = f"the document breaks the schema: {violation}"
                raise DocumentError(reason, "", job.name, violation.line)
        originals = self.plan.originals
        findings, broken = self._whole.find(document, originals)
        failed = {who: why for n, why in broken.items() for who in originals.owners.list(n)}
        return findings, self._failures(job, failed)

    def _failures(self, job: Underway, failed: dict[int, str]) -> list[Rejection]:
        ids = self.plan.subscribers
        return [Rejection(job.name, ids[n].id, "filter", why) for n, why in sorted(failed.items())]


def _rejection(name: str, error: DocumentError, stage: str) -> Rejection:
    return Rejection(
        name,
        None,
        stage,
        error.reason,
        error.line or None,
        error.offset if error.offset >= 0 else None,
    )
