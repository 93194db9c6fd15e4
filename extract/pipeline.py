"""The pipeline, as in figure 9 of the paper: two phases that meet in the scheme.

prepare phase     queries, schema  ─► TRANSTOOL ─► PREPTOOL ─► scheme      `prepare`
filtering phase   document ─► CHUNKTOOL ─► chunks ─► FILTERTOOL ─► matches  `match`, `count`
                  many of them, into a directory of results                 `run`, `run_on_spark`
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from extract.chunktool.source import Document
from extract.errors import MatcherError
from extract.filtertool.filtering import DocumentFilter, Options, Processed
from extract.filtertool.job import Job
from extract.filtertool.local import run_local
from extract.filtertool.matcher import MatcherFactory
from extract.filtertool.progress import Progress, Step
from extract.filtertool.registry import AUTO, load_matcher
from extract.filtertool.report import Report, rejected_queries
from extract.filtertool.result_directory import REPORT, result_directory
from extract.filtertool.results import Match
from extract.filtertool.signals import deferred_signals
from extract.filtertool.writers import Format, Writer, open_writer
from extract.limits import DEFAULTS, Limits
from extract.preptool.prepare import prepare
from extract.scheme.model import Scheme

if TYPE_CHECKING:
    from extract.chunktool.find import InputFile

__all__ = ["Delivered", "count", "deliver", "match", "prepare", "run", "run_into", "run_on_spark"]


def match(
    scheme: Scheme,
    document: Document,
    *,
    matcher: str = AUTO,
    on_nonconforming: Literal["fallback", "reject"] = "fallback",
    assume_valid: bool = False,
    limits: Limits | None = None,
    name: str = "",
) -> Iterator[Match]:
    """Which nodes of a document the queries of a scheme select.

    Args:
        scheme: The queries, from `extract.prepare` or `Scheme.load`.
        document: Bytes; a path; ``"-"`` for standard input; or a file object opened for bytes.
            Each may be gzipped.
        matcher: Which matcher evaluates; ``"auto"`` for the best.
        on_nonconforming: What to do with a document that breaks the schema: ``"fallback"``
            evaluates it whole, ``"reject"`` raises.
        assume_valid: Trust that the document keeps to the schema, and look less closely. If it
            does not, matches may be missed.
        limits: How large the document may be, how long values, and so on. Those of time and memory
            for one document are not held here: that would end your process.
        name: What the document is called; by default its path.

    Returns:
        The matches of one query after the other, each query's in document order.

    Raises:
        DocumentError: The document is not well-formed, cannot be read, or is rejected.
        MatcherError: There is no such matcher. Also, after all matches of the others were given, if
            a query could not be evaluated.

    >>> from extract.schema.model import Declaration, Schema
    >>> from extract.subscriptions import Subscriptions
    >>> a, b = Declaration(0, "a", children=(1,)), Declaration(1, "b")
    >>> schema = Schema("memory", "dtd", (a, b), roots=(0,))
    >>> scheme = prepare(schema, Subscriptions.of({"bs": "//b", "none": "//b[2]"}), chunks=1)
    >>> for found in match(scheme, b"<a> <b>x</b> </a>"):
    ...     found.query, found.path, found.start, found.value
    ('bs', '/a[1]/b[1]', 4, '<b>x</b>')
    """
    options = Options("nodes", on_nonconforming, assume_valid, limits=limits or DEFAULTS)
    done, ids = _one(scheme, document, matcher, options, name)
    return _until_failure(done.findings.matches(done.document, ids), done)


def count(
    scheme: Scheme,
    document: Document,
    *,
    matcher: str = AUTO,
    on_nonconforming: Literal["fallback", "reject"] = "fallback",
    assume_valid: bool = False,
    limits: Limits | None = None,
    name: str = "",
) -> Iterator[tuple[str, str, int]]:
    """How many nodes of a document the queries of a scheme select.

    Args:
        scheme, document, matcher, on_nonconforming, assume_valid, limits, name: As for `match`.

    Returns:
        Document, query and number of nodes, for each query that selects any. A query that is no
        node set counts once, if its value is true, not zero or not empty.

    Raises:
        DocumentError: The document is not well-formed, cannot be read, or is rejected.
        MatcherError: As for `match`.
    """
    options = Options("count", on_nonconforming, assume_valid, limits=limits or DEFAULTS)
    done, ids = _one(scheme, document, matcher, options, name)
    pairs = zip(done.findings.subscriber.tolist(), done.findings.count.tolist(), strict=True)
    return _until_failure(((done.document, ids[who], number) for who, number in pairs), done)


@dataclass(frozen=True, slots=True)
class Delivered:
    """The matches of one chunk, as `deliver` gives them.

    Attributes:
        chunk: The chunk; ``document`` for what was evaluated on the whole document.
        weight: How much the subscribers weigh who wait for it.
        ms: After how many milliseconds it was there, from the moment that the document was opened.
        matches: Those of all queries that no later chunk can add to.
        failed: By query, why it could not be evaluated.
    """

    chunk: str
    weight: float
    ms: float
    matches: tuple[Match, ...]
    failed: Mapping[str, str]


def deliver(
    scheme: Scheme,
    document: Document,
    *,
    matcher: str = AUTO,
    on_nonconforming: Literal["fallback", "reject"] = "fallback",
    assume_valid: bool = False,
    limits: Limits | None = None,
    name: str = "",
) -> Iterator[Delivered]:
    """The same matches as `match`, chunk by chunk: what most subscribers wait for comes first.

    A chunk is evaluated when it is asked for, after the scan: whoever stops early saves the others.
    Chunks are ordered by the weights of their subscribers (`Subscription.weight`). A query that is
    answered by several chunks comes with the last of them; nothing comes twice.

    Args:
        scheme, document, matcher, on_nonconforming, assume_valid, limits, name: As for `match`.

    Raises:
        DocumentError: The document is not well-formed, cannot be read, or is rejected.
        MatcherError: There is no such matcher.

    >>> from extract.schema.model import Declaration, Schema
    >>> from extract.subscriptions import Subscription, Subscriptions
    >>> a, b, c = Declaration(0, "a", children=(1, 2)), Declaration(1, "b"), Declaration(2, "c")
    >>> schema = Schema("memory", "dtd", (a, b, c), roots=(0,))
    >>> queries = [Subscription("bs", "/a/b"), Subscription("cs", "/a/c", weight=5)]
    >>> scheme = prepare(schema, Subscriptions.of(queries), chunks=2)
    >>> for chunk in deliver(scheme, b"<a><b/><c/></a>"):
    ...     chunk.weight, [found.path for found in chunk.matches]
    (5, ['/a[1]/c[1]'])
    (1.0, ['/a[1]/b[1]'])
    """
    limits = limits or DEFAULTS
    options = Options("nodes", on_nonconforming, assume_valid, priority=True, limits=limits)
    filter_ = DocumentFilter(scheme, load_matcher(matcher), options)
    ids = [one.id for one in filter_.plan.subscribers]
    found = filter_.deliveries(name, document)
    return (
        Delivered(
            one.chunk,
            one.weight,
            1000 * one.seconds,
            tuple(one.findings.matches(one.document, ids)),
            {failed.query: failed.reason for failed in one.rejections if failed.query is not None},
        )
        for one in found
    )


def _one(
    scheme: Scheme, document: Document, matcher: str, options: Options, name: str
) -> tuple[Processed, list[str]]:
    """Filters one document."""
    global _recent
    factory = load_matcher(matcher)
    key = (factory, options)
    recent, _recent = _recent, None  # whoever comes while we work makes a filter of his own
    if recent is not None and recent[0] is scheme and recent[1] == key:
        filter_ = recent[2]
    else:
        filter_ = DocumentFilter(scheme, factory, options)
    (done,) = filter_.process([(name, document)])
    _recent = (scheme, key, filter_)
    if done.error is not None:
        raise done.error
    return done, [one.id for one in filter_.plan.subscribers]


# Filters take longer to make than a small document to filter, and most programs have one scheme.
_recent: tuple[Scheme, Any, DocumentFilter] | None = None


def _until_failure(rows: Iterator[Any], done: Processed) -> Iterator[Any]:
    """The rows; and then the error, if some query could not be evaluated."""
    yield from rows
    for one in done.rejections:
        others = len(done.rejections) - 1
        more = f" (and {others:,} more)" if others else ""
        reason = f"query {one.query!r}{more} could not be evaluated: {one.reason}"
        raise MatcherError(reason, "", done.document)


def run_into(
    writer: Writer,
    scheme: Scheme,
    paths: Sequence[str],
    factory: MatcherFactory,
    options: Options,
    jobs: int = 0,
    progress: Progress | None = None,
) -> Report:
    """Filters documents on the local engine, and writes what is found.

    Args:
        writer: Takes it.
        scheme: The queries.
        paths: The documents.
        factory: The matcher.
        options: How to filter.
        jobs: How many processes; 0 for one on each core.
        progress: Told what was done since the last call.
    """
    report = Report(scheme, "local", factory.name, options.select)
    started = time.perf_counter()
    writer.reject(rejected_queries(scheme))
    for done in run_local(Job(scheme, factory, options), paths, jobs):
        before = time.perf_counter()
        writer.write(done.document, done.findings)
        writer.reject(done.rejections)
        report.add(done)
        report.seconds.since("write", before)
        if progress is not None:
            progress(Step.of(done))
    report.seconds["elapsed"] = time.perf_counter() - started
    return report


def run(
    scheme: Scheme,
    paths: Sequence[str],
    directory: str | Path,
    *,
    matcher: str = AUTO,
    options: Options | None = None,
    form: Format = "parquet",
    jobs: int = 0,
    progress: Progress | None = None,
    seconds: Mapping[str, float] | None = None,
) -> Report:
    """Filters documents into a directory of results, which is whole then, or not there.

    Args:
        scheme: The queries.
        paths: The documents.
        directory: Where the results go; results that are there are replaced.
        matcher: Which matcher evaluates.
        options: How to filter.
        form: In which format to write.
        jobs: How many processes; 0 for one on each core.
        progress: Told what was done since the last call.
        seconds: How long what came before has taken, for the report.

    Raises:
        MatcherError: There is no such matcher.
        OSError: The results cannot be written.
    """
    options = options or Options()
    factory = load_matcher(matcher)
    ids = [one.id for one in scheme.subscribers]
    with deferred_signals():
        pa.array(ids)  # imports pandas if it is there, and ignores whatever is raised meanwhile
    with result_directory(directory) as partial:
        writer = open_writer(partial, form, ids, options.select)
        try:
            report = run_into(writer, scheme, paths, factory, options, jobs, progress)
        finally:
            writer.close()
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
) -> Report:
    """The same as `run`, and the same rows, on Spark.

    Args:
        documents: The documents, from `extract.chunktool.find.find_inputs`; Spark's workers
            open them.
        directory: Where the results go; Spark's workers must see it, too.
        master: Where to run: by default on this machine, or where ``spark-submit`` says.
        resume: Keep what is finished if this is interrupted, and go on from there the next time.
        conf: Settings of Spark, such as ``spark.executor.memory``.
        scheme, matcher, options, form, progress, seconds: As for `run`.

    Raises:
        ExtractError: Spark is not installed, does not start, or gave up.
        MatcherError: There is no such matcher.
        OSError: The results cannot be written.
    """
    from extract.filtertool.spark.java import require_spark

    require_spark()
    from extract.filtertool.spark.engine import run_into_directory
    from extract.filtertool.spark.session import open_context

    options = options or Options()
    job = Job(scheme, load_matcher(matcher), options)
    started = time.perf_counter()
    with result_directory(directory) as partial, open_context(master, conf=conf) as context:
        ready = time.perf_counter()
        kept = _kept_results(directory) if resume else None
        report = run_into_directory(context, job, documents, partial, form, progress, kept)
        _write_report(report, partial, {"start_spark": ready - started, **(seconds or {})})
    return report


def _kept_results(directory: str | Path) -> Path:
    """Where what is finished waits for the rest: beside the results, hidden."""
    target = Path(os.path.abspath(directory))
    return target.with_name(f".{target.name}.unfinished")


def _write_report(report: Report, directory: Path, seconds: Mapping[str, float] | None) -> None:
    report.seconds.update_by(seconds or {})
    text = json.dumps(report.to_json(), indent=1, ensure_ascii=False)
    (directory / REPORT).write_text(f"{text}\n", encoding="utf-8", errors="replace")
