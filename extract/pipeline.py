"""The pipeline, as in figure 9 of the paper: two phases that meet in the scheme.

    prepare phase: once for a set of queries

        queries ─┐
                 ├─► TRANSTOOL ── normal forms ──► PREPTOOL ──► scheme          `prepare`
        schema ──┘                                                │
                                 ┌────────────────────────────────┤
    filtering phase: for         ▼                                ▼
        every document ──► CHUNKTOOL ── its chunks ──► FILTERTOOL, a matcher ──► rows

        one document, in this process       all rows                            `match`
                                            how many rows each query has        `count`
                                            chunk by chunk, heaviest first      `by_priority`
        many documents, into a directory    on the cores of this machine        `run`
                                            on Spark                            `run_on_spark`

Each function of the filtering phase makes a `Job` (scheme, matcher, options). One document goes to
the job's `DocumentFilter`; many go to an engine, whose workers make such filters. The engine's
outcomes are written by a `Writer` and added up in a `Report`.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypedDict, TypeVar, Unpack

from extract.chunktool.input.source import Document
from extract.errors import MatcherError
from extract.filtertool.document_filter import document_filter
from extract.filtertool.job import Job
from extract.filtertool.last_filter import LastFilter
from extract.filtertool.matchers.protocol import MatcherFactory, Select
from extract.filtertool.matchers.registry import AUTO, load_matcher
from extract.filtertool.options import Options
from extract.filtertool.output.directory import REPORT, result_directory
from extract.filtertool.output.joined import joined_columns
from extract.filtertool.output.writers import (
    Format,
    Writer,
    closed_at_end,
    open_writer,
    write_outcome,
)
from extract.filtertool.processes.signals import deferred_signals
from extract.filtertool.refuse_tables import refuse_tables
from extract.filtertool.results.batch_outcome import document_outcomes
from extract.filtertool.results.findings import Match
from extract.filtertool.results.outcome import DocumentOutcome
from extract.filtertool.results.progress import Progress, ProgressStep
from extract.filtertool.results.report import Report, rejected_files, rejected_queries
from extract.limits import DEFAULTS, Limits
from extract.preparation import PreparationOptions, prepare
from extract.scheme.model import Scheme

# What takes long to import, and is not needed for one small document, is imported where it is used:
# the preparation for a scheme that is loaded, processes, Arrow, Spark.
if TYPE_CHECKING:
    from extract.chunktool.input.find import InputFile, SkippedFile

__all__ = [
    "ChunkMatches",
    "MatchOptions",
    "PreparationOptions",
    "by_priority",
    "count",
    "match",
    "prepare",
    "run",
    "run_into",
    "run_on_spark",
]

_T = TypeVar("_T")


# -- the prepare phase

# `prepare` is in `extract.preparation`: who only prepares imports no matcher.


# -- the filtering phase, for one document


class MatchOptions(TypedDict, total=False):
    """How one document is filtered: the keyword arguments of `match`, `count` and `by_priority`.

    Attributes:
        matcher: The matcher that evaluates; ``"auto"``, the default, for the best.
        on_nonconforming: What to do with a document that breaks the schema: ``"fallback"``, the
            default, evaluates it whole; ``"reject"`` raises.
        assume_valid: Trust that the document keeps to the schema, and check less. If it does not,
            matches may be missed.
        limits: How large the document may be, how long values, and so on. The limits of time and
            memory for one document are not held here: that would end your process.
        name: The document's name in messages and matches; by default its path.
    """

    matcher: str
    on_nonconforming: Literal["fallback", "reject"]
    assume_valid: bool
    limits: Limits | None
    name: str


def match(scheme: Scheme, document: Document, **options: Unpack[MatchOptions]) -> Iterator[Match]:
    """Which nodes of a document the queries of a scheme select.

    Args:
        scheme: The queries, from `extract.prepare` or `Scheme.load`.
        document: Bytes; a path; ``"-"`` for standard input; or a file object opened for bytes.
            Each may be gzipped.
        **options: As `MatchOptions` says: ``matcher``, ``on_nonconforming``, ``assume_valid``,
            ``limits`` and ``name``.

    Returns:
        The matches of one query after the other, each query's in document order.

    Raises:
        DocumentError: The document is not well-formed, cannot be read, or is rejected.
        MatcherError: There is no such matcher. Also, after all matches of the others were given, if
            a query could not be evaluated.

    >>> from extract.subscriptions import Subscriptions
    >>> scheme = prepare(Subscriptions.of({"bs": "//b", "none": "//b[2]"}))
    >>> for found in match(scheme, b"<a> <b>x</b> </a>"):
    ...     found.query, found.path, found.start, found.value, found.text
    ('bs', '/a[1]/b[1]', 4, '<b>x</b>', 'x')
    """
    done, ids = _filtered(document, *_job(scheme, "nodes", False, **options))
    return _until_failure(done.findings.matches(done.document, ids), done)


def outputs(
    scheme: Scheme, document: Document, **options: Unpack[MatchOptions]
) -> Iterator[tuple[str, str, str]]:
    """What the FLWR queries of a scheme make of a document.

    Args:
        scheme, document, **options: As for `match`.

    Returns:
        Document, query and output, for each FLWR query that binds any node.

    Raises:
        DocumentError: The document is not well-formed, cannot be read, or is rejected.
        MatcherError: As for `match`; also if an output cannot be made.

    >>> flwr = 'for $b in //b where $b = "x" return <found>{ $b }</found>'
    >>> from extract.subscriptions import Subscriptions
    >>> scheme = prepare(Subscriptions.of({"bs": flwr}))
    >>> list(outputs(scheme, b"<a> <b>x</b> <b>y</b> </a>", name="a.xml"))
    [('a.xml', 'bs', '<found><b>x</b></found>')]
    """
    done, ids = _filtered(document, *_job(scheme, "output", False, **options))
    rows = ((done.document, ids[number], text) for number, text in done.findings.outputs())
    return _until_failure(rows, done)


def count(
    scheme: Scheme, document: Document, **options: Unpack[MatchOptions]
) -> Iterator[tuple[str, str, int]]:
    """How many nodes of a document the queries of a scheme select.

    Args:
        scheme, document, **options: As for `match`.

    Returns:
        Document, query and number of nodes, for each query that selects any. A query that is no
        node set counts once, if its value is true, not zero or not empty.

    Raises:
        DocumentError: The document is not well-formed, cannot be read, or is rejected.
        MatcherError: As for `match`.
    """
    done, ids = _filtered(document, *_job(scheme, "count", False, **options))
    pairs = zip(done.findings.subscriber.tolist(), done.findings.count.tolist(), strict=True)
    return _until_failure(((done.document, ids[who], number) for who, number in pairs), done)


@dataclass(frozen=True, slots=True)
class ChunkMatches:
    """The matches of one chunk, as `by_priority` yields them.

    Attributes:
        chunk: The chunk; ``document`` for what was evaluated on the whole document.
        weight: The weight of the subscribers who wait for it.
        ms: When the matches were ready: milliseconds from the moment that the document was opened.
        matches: The matches of all queries that no later chunk can add to.
        failed: By query, why it could not be evaluated.
    """

    chunk: str
    weight: float
    ms: float
    matches: tuple[Match, ...]
    failed: Mapping[str, str]


def by_priority(
    scheme: Scheme, document: Document, **options: Unpack[MatchOptions]
) -> Iterator[ChunkMatches]:
    """The same matches as `match`, chunk by chunk: what most subscribers wait for comes first.

    A chunk is evaluated when it is asked for, after the scan: whoever stops early saves the others.
    Chunks are ordered by the weights of their subscribers (`Subscription.weight`). A query that is
    answered by several chunks comes with the last of them; nothing comes twice.

    Args:
        scheme, document, **options: As for `match`.

    Raises:
        DocumentError: The document is not well-formed, cannot be read, or is rejected.
        MatcherError: There is no such matcher.

    >>> from extract.schema.model import Declaration, Schema
    >>> from extract.subscriptions import Subscription, Subscriptions
    >>> a, b, c = Declaration(0, "a", children=(1, 2)), Declaration(1, "b"), Declaration(2, "c")
    >>> schema = Schema("memory", "dtd", (a, b, c), roots=(0,))
    >>> queries = [Subscription("bs", "/a/b"), Subscription("cs", "/a/c", weight=5)]
    >>> scheme = prepare(schema, Subscriptions.of(queries), chunks=2)
    >>> for chunk in by_priority(scheme, b"<a><b/><c/></a>"):
    ...     chunk.weight, [found.path for found in chunk.matches]
    (5.0, ['/a[1]/c[1]'])
    (1.0, ['/a[1]/b[1]'])
    """
    job, name = _job(scheme, "nodes", True, **options)
    refuse_tables(scheme, job.factory.name)  # also where a database could: it matches no chunks
    ready = document_filter(job.scheme, job.factory, job.options)
    ids, chunks = ready.ids, ready.by_priority(name, document)
    return (
        ChunkMatches(
            one.chunk,
            one.weight,
            1000 * one.seconds,
            tuple(one.findings.matches(one.document, ids)),
            {failed.query: failed.reason for failed in one.rejections if failed.query is not None},
        )
        for one in chunks
    )


def _job(
    scheme: Scheme,
    select: Select,
    priority: bool,
    /,
    *,
    matcher: str = AUTO,
    on_nonconforming: Literal["fallback", "reject"] = "fallback",
    assume_valid: bool = False,
    limits: Limits | None = None,
    name: str = "",
) -> tuple[Job, str]:
    """Returns the job and the document's name that `MatchOptions` ask for, with their defaults."""
    global _last_job
    asked = (select, priority, matcher, on_nonconforming, assume_valid, limits)
    last = _last_job  # once: another thread may put another one there
    if last is not None and last[0] is scheme and last[1] == asked:
        return last[2], name
    limits = limits or DEFAULTS
    options = Options(select, on_nonconforming, assume_valid, limits=limits, priority=priority)
    job = Job(scheme, load_matcher(matcher), options)
    _last_job = (scheme, asked, job)
    return job, name


_LAST: Final = LastFilter()
# The last job, with what was asked for: to make one takes longer than to filter a small document.
_last_job: tuple[Scheme, tuple[object, ...], Job] | None = None


def _filtered(document: Document, job: Job, name: str) -> tuple[DocumentOutcome, Sequence[str]]:
    """Filters one document; returns its outcome, and the ids of all subscribers."""
    from extract.filtertool.batch_filter import BatchFilter

    with _LAST.lend(job) as ready:
        process = ready.process_quietly if isinstance(ready, BatchFilter) else ready.process
        (done,) = document_outcomes(process([(name, document)]))
    if done.error is not None:
        raise done.error
    return done, ready.ids


def _until_failure(rows: Iterator[_T], done: DocumentOutcome) -> Iterator[_T]:
    """Yields the rows, and then raises the error if some query could not be evaluated."""
    yield from rows
    for one in done.rejections:
        others = len(done.rejections) - 1
        more = f" (and {others:,} more)" if others else ""
        reason = f"query {one.query!r}{more} could not be evaluated: {one.reason}"
        raise MatcherError(reason, "", done.document)


# -- the filtering phase, for many documents


def run_into(
    writer: Writer,
    scheme: Scheme,
    paths: Sequence[str | InputFile],
    factory: MatcherFactory,
    options: Options,
    jobs: int = 0,
    progress: Progress | None = None,
    skipped: Sequence[SkippedFile] = (),
) -> Report:
    """Filters documents on the local engine, and writes their rows.

    Args:
        writer: Takes the rows.
        scheme: The queries.
        paths: The documents: paths, or what `search_inputs` found, such as files of many messages.
        factory: The matcher.
        options: How to filter.
        jobs: How many processes; 0 for one on each core.
        progress: Called with each step of the work.
        skipped: Files that are not read; they are reported as rejected.
    """
    from extract.filtertool.local import run_local

    report = Report(scheme, "local", factory.name, options.select)
    started = time.perf_counter()
    unread = rejected_files(skipped)
    writer.reject([*rejected_queries(scheme), *unread])
    report.add_unread(unread)
    with closing(run_local(Job(scheme, factory, options), paths, jobs)) as outcomes:
        for done in outcomes:
            before = time.perf_counter()
            write_outcome(writer, done)
            report.add(done)
            report.seconds.since("write", before)
            if progress is not None:
                progress(ProgressStep.of(done))
    report.seconds["elapsed"] = time.perf_counter() - started
    return report


def run(
    scheme: Scheme,
    paths: Sequence[str | InputFile],
    directory: str | Path,
    *,
    matcher: str = AUTO,
    options: Options | None = None,
    form: Format = "parquet",
    jobs: int = 0,
    progress: Progress | None = None,
    seconds: Mapping[str, float] | None = None,
    skipped: Sequence[SkippedFile] = (),
) -> Report:
    """Filters documents into a directory of results, which is complete afterwards, or not there.

    Args:
        scheme: The queries.
        paths: The documents: paths, or what `search_inputs` found, such as files of many messages.
        directory: Where the results go; results that are there are replaced.
        matcher: Which matcher evaluates.
        options: How to filter.
        form: In which format to write.
        jobs: How many processes; 0 for one on each core.
        progress: Called with each step of the work.
        seconds: Time of earlier stages, for the report.
        skipped: Files that are not read; they are reported as rejected.

    Raises:
        MatcherError: There is no such matcher.
        SubscriptionsError: Metadata that ``options`` joins to rows is not there, or cannot have a
            column of its name.
        OSError: The results cannot be written.
    """
    options = options or Options()
    factory = load_matcher(matcher)
    ids = scheme.directory.ids
    joined = joined_columns(scheme, options.joined)
    if form == "parquet":
        import pyarrow as pa

        with deferred_signals():
            pa.array([""])  # imports pandas if it is there, and ignores whatever is raised then
    with result_directory(directory) as partial:
        with closed_at_end(open_writer(partial, form, ids, options.select, joined)) as writer:
            report = run_into(writer, scheme, paths, factory, options, jobs, progress, skipped)
        _write_report(report, partial, seconds)
    return report


def run_on_spark(
    scheme: Scheme,
    documents: Sequence[InputFile],
    directory: str | Path,
    *,
    master: str | None = None,
    matcher: str = AUTO,
    options: Options | None = None,
    form: Format = "parquet",
    resume: bool = False,
    conf: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    seconds: Mapping[str, float] | None = None,
    skipped: Sequence[SkippedFile] = (),
) -> Report:
    """The same as `run`, and the same rows, on Spark.

    Args:
        documents: The documents, from `extract.chunktool.input.find.find_inputs`; Spark's workers
            open them.
        directory: Where the results go; Spark's workers must see it, too.
        master: Where to run: by default on this machine, or where ``spark-submit`` says.
        resume: Keep what is finished if this is interrupted, and go on from there the next time.
        conf: Settings of Spark, such as ``spark.executor.memory``.
        scheme, matcher, options, form, progress, seconds, skipped: As for `run`.

    Raises:
        ExtractError: Spark is not installed, does not start, or gave up.
        MatcherError, SubscriptionsError, OSError: As for `run`.
    """
    from extract.filtertool.spark.java import require_spark

    require_spark()
    from extract.filtertool.spark.engine import run_into_directory, with_stdin_as_file
    from extract.filtertool.spark.session import open_context

    options = options or Options()
    joined_columns(scheme, options.joined)  # an error in it is reported before Spark starts
    job = Job(scheme, load_matcher(matcher), options)
    started = time.perf_counter()
    with result_directory(directory) as partial, open_context(master, conf=conf) as context:
        ready = time.perf_counter()
        kept = _kept_results(directory) if resume else None
        matching = job
        if job.in_database:
            from extract.filtertool.spark.driver.sql_join import matching_job

            documents = with_stdin_as_file(documents, partial)  # which is read twice
            matching = matching_job(context, job, documents, partial / "_values")
        report = run_into_directory(
            context, matching, documents, partial, form, progress, kept, skipped
        )
        (partial / "stdin").unlink(missing_ok=True)
        report.ran(scheme, job.factory.name)
        _write_report(report, partial, {"start_spark": ready - started, **(seconds or {})})
    return report


def _kept_results(directory: str | Path) -> Path:
    """Returns the hidden directory beside the results that keeps what is finished."""
    target = Path(os.path.abspath(directory))
    return target.with_name(f".{target.name}.unfinished")


def _write_report(report: Report, directory: Path, seconds: Mapping[str, float] | None) -> None:
    report.seconds.update_by(seconds or {})
    text = json.dumps(report.to_json(), indent=1, ensure_ascii=False)
    (directory / REPORT).write_text(f"{text}\n", encoding="utf-8", errors="replace")
