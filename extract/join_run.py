"""Joins over files: all documents in their order, rows and a report into a directory."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from extract.chunktool.input.find import InputFile
from extract.filtertool.joins.inputs import ARRIVAL, JoinInput
from extract.filtertool.joins.joined import Joined, JoinState
from extract.filtertool.joins.publishing import PUBLISH
from extract.filtertool.joins.room import STATE
from extract.filtertool.joins.writers import JoinedWriter, open_joined_writer
from extract.filtertool.output.directory import REPORT, result_directory
from extract.filtertool.output.writers import Format
from extract.filtertool.results.outcome import Rejection
from extract.joins import Joins

_NO_INPUT: Final = (STATE, PUBLISH)  # stages that reject no input document


@dataclass(slots=True)
class JoinReport:
    """The figures of a run.

    Attributes:
        documents: How many were seen, processed and rejected; ``late`` are among the rejected, for
            all queries that read their streams.
        queries: How many were registered and rejected, and how many graphs and templates they are.
        rows: How many rows there are.
        rejections: How many by stage.
        seconds: Time by stage.
        state: What is kept at the end, and the most that was kept.
        rejected: The documents that were rejected, and queries that were for a document.
        engine: What joined the documents.
    """

    documents: Counter[str] = field(default_factory=Counter)
    queries: dict[str, int] = field(default_factory=dict)
    rows: int = 0
    rejections: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    state: dict[str, int] = field(default_factory=dict)
    rejected: list[Rejection] = field(default_factory=list)
    engine: str = "local"

    def reject(self, writer: JoinedWriter, rejections: Iterable[Rejection]) -> None:
        """Counts rejections, and writes them."""
        rows = list(rejections)
        writer.reject(rows)
        for one in rows:
            self.rejections[one.stage] += 1
            if one.document is not None:
                self.rejected.append(one)
            if one.document is not None and one.query is None and one.stage not in _NO_INPUT:
                self.documents["rejected"] += 1

    def end(self, joins: Joins, accepted: int, started: float) -> None:
        """Adds what is known at the end."""
        counts = self.documents
        counts["processed"] = accepted
        counts["late"] = counts["seen"] - accepted - counts["rejected"]
        counts["rejected"] += counts["late"]
        figures, rejected = joins.figures(), len(joins.rejected_queries)
        self.queries = {
            "registered": figures["queries"] + rejected,
            "rejected": rejected,
            "join_graphs": figures["join_graphs"],
            "templates": figures["templates"],
        }
        self.seconds["join"] = perf_counter() - started

    @property
    def complete(self) -> bool:
        """Whether nothing was rejected."""
        return not self.rejections.total()

    def to_json(self) -> dict[str, Any]:
        """Returns the figures as JSON values."""
        names = ("seen", "processed", "rejected", "late")
        return {
            "engine": self.engine,
            "documents": {name: self.documents[name] for name in names},
            "queries": self.queries,
            "rows": self.rows,
            "rejections": dict(self.rejections),
            "state": self.state,
            "seconds": self.seconds,
        }


def run_joins(
    joins: Joins,
    inputs: Iterable[JoinInput | Rejection],
    directory: str | Path,
    form: Format = "parquet",
    before: Iterable[Rejection] = (),
    jobs: int = 1,
    keep: bool = False,
) -> JoinReport:
    """Joins documents, and writes rows, rejections and a report.

    Args:
        joins: The queries, and what they remember.
        inputs: The documents in their order.
        directory: Where results go; they are all there at the end, or nothing is.
        form: The format of rows.
        before: What was rejected before.
        jobs: How many processes join.
        keep: Whether ``joins`` is to remember the documents of several processes.

    Raises:
        FileExistsError: The directory has something else in it.
        JoinError: The state is full.
    """
    return _into_directory(
        lambda writer: join_into(writer, joins, inputs, before, jobs, keep), joins, directory, form
    )


def run_joins_on_spark(
    joins: Joins,
    files: Sequence[tuple[str, InputFile]],
    directory: str | Path,
    form: Format = "parquet",
    before: Iterable[Rejection] = (),
    *,
    time: str = ARRIVAL,
    namespaces: Mapping[str, str] | None = None,
) -> JoinReport:
    """Joins documents on Spark, and writes the same as `run_joins`.

    Args:
        joins: The queries; what they remember does not count.
        files: Streams and the files of their documents; all workers must be able to open them.
        directory, form, before: As for `run_joins`.
        time, namespaces: As for `extract.filtertool.joins.inputs.in_order`.

    Raises:
        FileExistsError: The directory has something else in it.
        ExtractError: Spark does not start, or a stream is published by a query.
    """
    return _into_directory(
        lambda writer: join_on_spark(
            writer, joins, files, before, time=time, namespaces=namespaces
        ),
        joins,
        directory,
        form,
    )


def _into_directory(
    work: Callable[[JoinedWriter], JoinReport], joins: Joins, directory: str | Path, form: Format
) -> JoinReport:
    """Writes all results, or none."""
    with result_directory(directory) as partial:
        writer = open_joined_writer(partial, form, joins.queries)
        try:
            report = work(writer)
        finally:
            writer.close()
        text = json.dumps(report.to_json(), indent=1)
        (partial / REPORT).write_text(f"{text}\n", encoding="utf-8")
    return report


def join_into(
    writer: JoinedWriter,
    joins: Joins,
    inputs: Iterable[JoinInput | Rejection],
    before: Iterable[Rejection] = (),
    jobs: int = 1,
    keep: bool = False,
) -> JoinReport:
    """Joins documents, and writes rows and rejections as they come; see `run_joins`."""
    started = perf_counter()
    report = JoinReport()
    most, last, accepted = 0, joins.state, 0
    report.reject(writer, joins.rejected_queries)
    unread = list(before)
    report.documents["seen"] += len(unread)
    report.reject(writer, unread)
    for rows, rejections, state, is_accepted in _results(joins, inputs, jobs, keep):
        report.documents["seen"] += 1
        writer.write(rows)
        report.rows += len(rows)
        report.reject(writer, rejections)
        most = max(most, state.bytes)
        last = state
        accepted += is_accepted
    report.end(joins, accepted, started)
    report.state = {**last._asdict(), "most_bytes": most}
    return report


def _results(
    joins: Joins, inputs: Iterable[JoinInput | Rejection], jobs: int, keep: bool
) -> Iterator[tuple[Sequence[Joined], Sequence[Rejection], JoinState, bool]]:
    """What each input leads to, the state after it, and whether it was accepted."""
    if jobs > 1:
        parallel = joins.parallel(jobs)
        try:
            for result in parallel.results(inputs):
                yield result.rows, result.rejections, parallel.state, result.is_accepted
            if keep:
                joins.take_over(parallel.end())
        finally:
            parallel.close()
        return
    for one in inputs:
        if isinstance(one, Rejection):
            yield (), [one], joins.state, False
        else:
            before = joins.accepted
            rows = joins.process(*one)
            yield rows, joins.rejected, joins.state, joins.accepted > before


def join_on_spark(
    writer: JoinedWriter,
    joins: Joins,
    files: Sequence[tuple[str, InputFile]],
    before: Iterable[Rejection] = (),
    *,
    time: str = ARRIVAL,
    namespaces: Mapping[str, str] | None = None,
) -> JoinReport:
    """Joins documents on Spark, and writes rows and rejections; see `run_joins_on_spark`."""
    from extract.filtertool.spark.joins import open_joined_frames

    started = perf_counter()
    report = JoinReport(engine="spark")
    unread = list(before)
    with open_joined_frames(joins.job(), files, time, dict(namespaces or {})) as frames:
        report.documents["seen"] = len(unread) + frames.documents
        report.reject(writer, [*joins.rejected_queries, *unread, *frames.before])
        for one in frames.ordered():
            if isinstance(one, Rejection):
                report.reject(writer, [one])
            else:
                writer.write([one])
                report.rows += 1
        accepted = frames.accepted
    report.end(joins, accepted, started)
    return report
