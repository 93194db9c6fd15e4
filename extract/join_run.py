"""Joins over files: all documents in their order, rows and a report into a directory."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from extract.filtertool.joins.inputs import JoinInput
from extract.filtertool.joins.writers import JoinedWriter, open_joined_writer
from extract.filtertool.output.directory import REPORT, result_directory
from extract.filtertool.output.writers import Format
from extract.filtertool.results.outcome import Rejection
from extract.joins import Joins


@dataclass(slots=True)
class JoinReport:
    """The figures of a run.

    Attributes:
        documents: How many were seen, processed and rejected; ``late`` are among the rejected.
        queries: How many were registered and rejected, and how many graphs and templates they are.
        rows: How many rows there are.
        rejections: How many by stage.
        seconds: Time by stage.
        state: What is kept at the end, and the most that was kept.
        rejected: The documents that were rejected, and queries that were for a document.
    """

    documents: Counter[str] = field(default_factory=Counter)
    queries: dict[str, int] = field(default_factory=dict)
    rows: int = 0
    rejections: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    state: dict[str, int] = field(default_factory=dict)
    rejected: list[Rejection] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether nothing was rejected."""
        return not self.rejections.total()

    def to_json(self) -> dict[str, Any]:
        """Returns the figures as JSON values."""
        names = ("seen", "processed", "rejected", "late")
        return {
            "engine": "local",
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
    progress: Callable[[JoinReport], None] = lambda _: None,
) -> JoinReport:
    """Joins documents, and writes rows, rejections and a report.

    Args:
        joins: The queries, and what they remember.
        inputs: The documents in their order.
        directory: Where results go; they are all there at the end, or nothing is.
        form: The format of rows.
        before: What was rejected before.
        progress: Called after each document.

    Raises:
        FileExistsError: The directory has something else in it.
        JoinError: The state is full.
    """
    with result_directory(directory) as partial:
        writer = open_joined_writer(partial, form, joins.queries)
        try:
            report = join_into(writer, joins, inputs, before, progress)
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
    progress: Callable[[JoinReport], None] = lambda _: None,
) -> JoinReport:
    """Joins documents, and writes rows and rejections as they come; see `run_joins`."""
    started = time.perf_counter()
    report = JoinReport()
    most = 0

    def reject(rejections: Iterable[Rejection]) -> None:
        rows = list(rejections)
        writer.reject(rows)
        for one in rows:
            report.rejections[one.stage] += 1
            if one.document is not None:
                report.rejected.append(one)
            if one.document is not None and one.query is None and one.stage != "state":
                report.documents["rejected"] += 1
                report.documents["late"] += one.stage == "late"

    reject(joins.rejected_queries)
    unread = list(before)
    report.documents["seen"] += len(unread)
    reject(unread)
    for one in inputs:
        report.documents["seen"] += 1
        if isinstance(one, Rejection):
            reject([one])
            continue
        rows = joins.process(*one)
        writer.write(rows)
        report.rows += len(rows)
        reject(joins.rejected)
        most = max(most, joins.state.bytes)
        progress(report)
    documents = report.documents
    documents["processed"] = documents["seen"] - documents["rejected"]
    figures, rejected = joins.figures(), len(joins.rejected_queries)
    report.queries = {
        "registered": figures["queries"] + rejected,
        "rejected": rejected,
        "join_graphs": figures["join_graphs"],
        "templates": figures["templates"],
    }
    report.state = {
        "documents": figures["state_documents"],
        "witnesses": figures["state_witnesses"],
        "bytes": figures["state_bytes"],
        "most_bytes": most,
    }
    report.seconds["join"] = time.perf_counter() - started
    return report
