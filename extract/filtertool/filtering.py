"""From documents to rows: CHUNKTOOL and a matcher, one batch of documents after the other.

`DocumentFilter` is what every engine runs, here, in the processes of `extract run`, or on Spark. It
is made once for a scheme and then takes documents. Small documents come in batches, for a matcher
answers a question on many at once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from extract.chunktool.scanner import Outcome, Verdict
from extract.chunktool.source import Document
from extract.errors import DocumentError, MatcherError
from extract.filtertool.cutting import Cut, DocumentCutter
from extract.filtertool.describer import Describer
from extract.filtertool.matcher import Answers, Matcher, MatcherFactory, Nodes, Select, Unit
from extract.filtertool.options import Options
from extract.filtertool.plan import Indices, Part, Plan
from extract.filtertool.processed import Processed, Rejection
from extract.filtertool.results import Answered, Findings, Merger, together
from extract.filtertool.seconds import Seconds
from extract.filtertool.whole import WholeMatcher
from extract.schema.conformance import first_violation
from extract.scheme.model import Scheme

__all__ = ["DocumentFilter", "Options", "Processed", "Rejection"]


class _Asked(NamedTuple):
    """Questions of a part that are answered in one go."""

    matcher: Matcher
    select: Select
    queries: Indices


@dataclass(slots=True)
class _Job:
    """A document on its way.

    Attributes:
        name: Its name.
        cut: It, cut; None if that failed.
        merger: Takes the answers.
        whole: Why it is to be evaluated whole; empty if it is not.
        error: Why it is rejected.
    """

    name: str
    cut: Cut | None = None
    merger: Merger | None = None
    whole: str = ""
    error: DocumentError | None = None
    nonconforming: bool = False
    seconds: Seconds = field(default_factory=Seconds)
    began: float = field(default_factory=time.perf_counter)
    delivered: dict[str, float] = field(default_factory=dict)


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
        self._factory = factory
        self._asked: dict[int, list[_Asked]] = {}
        self._whole = WholeMatcher(
            scheme.namespaces, options.select, options.limits, options.standalone
        )

    def process(self, documents: Iterable[tuple[str, Document]]) -> list[Processed]:
        """Filters a batch of documents, each with its name. What is wrong with one is in its
        result, and does not touch the others."""
        jobs = [self._begin(name, document) for name, document in documents]
        ready = [job for job in jobs if job.merger is not None]
        started = time.perf_counter()
        for number, part in enumerate(self.plan.parts):
            asked = [job for job in ready if not job.whole]
            self._ask(number, part, asked)
            for job in asked:
                job.delivered[part.output.id] = time.perf_counter() - job.began
        if ready:
            ready[0].seconds.since("match", started)
        return [self._finish(job, job is jobs[-1]) for job in jobs]

    def figures(self) -> Mapping[str, float]:
        """What the matchers say of their work so far, all together."""
        total: dict[str, float] = {}
        for asked in self._asked.values():
            for one in asked:
                for name, number in one.matcher.report().figures.items():
                    total[name] = total.get(name, 0) + number
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

    def _begin(self, name: str, document: Any) -> _Job:
        job = _Job(name)
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

    # -- FILTERTOOL

    def _asked_of(self, number: int, part: Part) -> list[_Asked]:
        """The matchers for a part, built when they are first needed."""
        known = self._asked.get(number)
        if known is None:
            select = self.options.select
            groups = [(np.arange(len(part.questions)), select)]
            if select == "count" and part.shared.any():
                # Nodes that several chunks have found must be told apart to be counted.
                groups = [(np.flatnonzero(part.shared), "nodes")]
                groups.append((np.flatnonzero(~part.shared), "count"))
            known = self._asked[number] = [
                _Asked(self._build([part.questions[n] for n in ours]), how, part.queries[ours])
                for ours, how in groups
                if len(ours)
            ]
        return known

    def _build(self, questions: Sequence[Any]) -> Matcher:
        return self._factory.build(questions, self.plan.namespaces)

    def _ask(self, number: int, part: Part, jobs: list[_Job]) -> None:
        """Asks all questions of a part on all documents."""
        units = [_cut_of(job).units[number] for job in jobs]
        for asked in self._asked_of(number, part):
            try:
                self._take(jobs, number, asked, asked.matcher.match(units, asked.select))
            except MatcherError:
                for job, unit in zip(jobs, units, strict=True):
                    self._ask_alone(job, number, unit, asked)

    def _ask_alone(self, job: _Job, number: int, unit: Unit, asked: _Asked) -> None:
        try:
            self._take([job], number, asked, asked.matcher.match([unit], asked.select))
        except MatcherError as error:
            # libxml2 has the last word on documents; it will say it on the whole one.
            job.whole = f"a chunk could not be evaluated: {error.reason}"

    def _take(self, jobs: Sequence[_Job], number: int, asked: _Asked, answers: Answers) -> None:
        """Distributes the answers of a part over the documents."""
        for value in answers.values:
            _merger(jobs[value.unit]).value(int(asked.queries[value.question]), value.value)
        for failure in answers.failures:
            _merger(jobs[failure.unit]).fail(int(asked.queries[failure.question]), failure.reason)
        if asked.select != "nodes":
            bounds = np.searchsorted(answers.unit, np.arange(len(jobs) + 1)).tolist()
            for n, job in enumerate(jobs):
                ours = slice(bounds[n], bounds[n + 1])
                queries = asked.queries[answers.question[ours]]
                _merger(job).counts(queries, answers.count[ours].astype(np.int64))
            return
        nodes = answers.nodes
        assert nodes is not None, f"{self._factory.name} gives no nodes"
        bounds = np.searchsorted(nodes.unit, np.arange(len(jobs) + 1)).tolist()
        for n, job in enumerate(jobs):
            table, origin = _cut_of(job).units[number].table, _cut_of(job).origins[number]
            ours = slice(bounds[n], bounds[n + 1])
            mine = Nodes(
                nodes.unit[ours],
                asked.queries[nodes.question[ours]],
                nodes.kind[ours],
                nodes.row[ours],
                nodes.number[ours],
            )
            describer = Describer(
                table, self.options.limits.value_bytes, self.options.standalone, origin
            )
            _merger(job).nodes(Answered(table, mine, describer, origin))

    # -- results

    def _finish(self, job: _Job, last: bool) -> Processed:
        started = time.perf_counter()
        findings, fate = Findings.none(), "rejected"
        rejections: list[Rejection] = []
        try:
            if job.error is not None:
                raise job.error
            if job.whole:
                findings, rejections = self._evaluate_whole(job)
                fate = "nonconforming" if job.nonconforming else "whole"
            else:
                findings, rejections = self._rows(job)
                fate = "conforming"
        except DocumentError as error:
            job.error = error
            rejections = [_rejection(job.name, error, "filter" if job.whole else "chunk")]
        job.seconds.since("whole" if job.whole else "rows", started)
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

    def _rows(self, job: _Job) -> tuple[Findings, list[Rejection]]:
        merger, plan, cut = _merger(job), self.plan, _cut_of(job)
        findings = merger.findings(plan.owners)
        failed = {
            who: reason
            for query, reason in merger.failed.items()
            for who in plan.owners.list(query)
        }
        queries = plan.whole_queries
        if queries.queries:
            reason = self._whole.too_large(cut.size)
            if reason:
                failed |= {int(who): reason for who in queries.owners.subscribers}
            else:
                document = self._whole.open(cut.read(), job.name)
                more, broken = self._whole.find(document, queries)
                findings = together([findings, more])
                failed |= {who: why for n, why in broken.items() for who in queries.owners.list(n)}
        return findings, self._failures(job, failed)

    def _evaluate_whole(self, job: _Job) -> tuple[Findings, list[Rejection]]:
        """Evaluates the queries as they were written on all of a document."""
        cut = _cut_of(job)
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

    def _failures(self, job: _Job, failed: dict[int, str]) -> list[Rejection]:
        ids = self.plan.subscribers
        return [Rejection(job.name, ids[n].id, "filter", why) for n, why in sorted(failed.items())]


def _cut_of(job: _Job) -> Cut:
    assert job.cut is not None
    return job.cut


def _merger(job: _Job) -> Merger:
    assert job.merger is not None
    return job.merger


def _rejection(name: str, error: DocumentError, stage: str) -> Rejection:
    return Rejection(
        name,
        None,
        stage,
        error.reason,
        error.line or None,
        error.offset if error.offset >= 0 else None,
    )
