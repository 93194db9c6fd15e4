"""Numbers of rows: nodes of a document's pieces are numbered on from piece to piece.

A task knows how many rows its pieces have, but not how many the pieces before them have. So it
leaves its findings in a file (`findings_file`), and the rows are written when all counts are known:
by the task itself if it has all pieces, else by the driver or by another Spark job
(`extract.filtertool.spark.driver.number_rows`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from extract.filtertool.output.joined import NO_COLUMNS, JoinedColumns
from extract.filtertool.output.writers import Format, closed_at_end, open_writer
from extract.filtertool.results.findings import Findings
from extract.filtertool.spark.worker.findings_file import FindingsFile
from extract.limits import Limits


class RowCounts(NamedTuple):
    """How much the subscribers have found on some pieces.

    Attributes:
        rows: For each subscriber, how many rows.
        bytes: For each subscriber, how many bytes the elements of these rows have, nested ones
            each; those that are too long for a value do not count.
    """

    rows: NDArray[np.int64]
    bytes: NDArray[np.int64]

    @classmethod
    def none(cls, subscribers: int) -> RowCounts:
        """Returns the counts of no piece."""
        return cls(np.zeros(subscribers, np.int64), np.zeros(subscribers, np.int64))

    @classmethod
    def of(cls, findings: Findings, subscribers: int, limits: Limits) -> RowCounts:
        """Returns the counts of one piece."""
        who = findings.subscriber
        rows = np.bincount(who, minlength=subscribers)
        if not len(findings.node):
            return cls(rows, np.zeros(subscribers, np.int64))
        table = findings.described.table
        span = pc.fill_null(pc.subtract(table["end"], table["start"]), 0).to_numpy()
        counts = pc.equal(table["node"], "element").to_numpy()
        if limits.value_bytes is not None:
            counts = counts & (span <= limits.value_bytes)
        sizes = np.where(counts, span, 0)[findings.node]
        return cls(rows, np.bincount(who, sizes, subscribers).astype(np.int64))

    def plus(self, other: RowCounts) -> RowCounts:
        """Returns the counts of both together."""
        return RowCounts(self.rows + other.rows, self.bytes + other.bytes)


class RowNumbering:
    """Puts the findings of a document's pieces together, in their order.

    Args:
        subscribers: How many subscribers there are.
        before: For each of them, how many rows come before; None for none.
        without: Subscribers that get no rows, for a query of theirs has failed.
    """

    def __init__(
        self,
        subscribers: int,
        before: NDArray[np.int64] | None = None,
        without: Collection[int] = (),
    ) -> None:
        self._before = np.zeros(subscribers, np.int64) if before is None else before.copy()
        self._without = np.array(sorted(without), np.int64)

    def add(self, findings: Findings) -> Findings:
        """Returns the nodes of a piece, numbered on from those before."""
        if len(self._without):
            keep = ~np.isin(findings.subscriber, self._without)
            findings = replace(
                findings,
                subscriber=findings.subscriber[keep],
                node=findings.node[keep],
                ordinal=findings.ordinal[keep],
            )
        ordinal = findings.ordinal + self._before[findings.subscriber]
        self._before += np.bincount(findings.subscriber, minlength=len(self._before))
        return replace(findings, ordinal=ordinal)

    def sum(self, every: Iterable[Findings], counted: bool) -> Findings:
        """Returns the counts of all pieces, or only which subscribers have found anything."""
        total = self._before
        for findings in every:
            total[findings.subscriber] += findings.count if counted else 1
        total[self._without] = 0
        subscriber = np.flatnonzero(total).astype(np.int32)
        return replace(Findings.none(), subscriber=subscriber, count=total[subscriber])


class UnnumberedRows(NamedTuple):
    """Findings of one task on pieces, and what is needed to number them.

    Attributes:
        number: The task that has found them.
        folder: Where it has written them, below the directory of all tasks.
        document: The document's name.
        before: For each subscriber, how many rows earlier pieces have; None for none.
        without: Ids of queries that have failed on some piece: they get no rows.
    """

    number: int
    folder: str
    document: str
    before: NDArray[np.int64] | None
    without: frozenset[str]


class NumberedRows(NamedTuple):
    """Rows with the numbers that they have in their document, in the format of the results.

    Attributes:
        folder: Where they are, below the directory of all tasks.
        rows: How many there are.
    """

    folder: str
    rows: int


def numbered_findings(
    rows: UnnumberedRows, attempts: Path, ids: Sequence[str] | None = None
) -> Iterator[Findings]:
    """Yields nodes with the numbers that they have in their document, piece by piece.

    Args:
        rows: The nodes.
        attempts: Where tasks have written.
        ids: The ids of the subscribers that are counted by; None for those by which the nodes were
            written.
    """
    file = FindingsFile(attempts / rows.folder)
    own = file.ids()
    places = {name: number for number, name in enumerate(own if ids is None else ids)}
    before: NDArray[np.int64] | None = None
    if rows.before is not None:
        before = np.zeros(len(places), np.int64)
        before[[places[name] for name in own]] = rows.before
    without = [places[name] for name in own if name in rows.without]
    numbering = RowNumbering(len(places), before, without)
    for _, findings in file.findings(ids):
        yield numbering.add(findings)


def write_numbered(
    rows: UnnumberedRows, attempts: Path, form: Format, joined: JoinedColumns = NO_COLUMNS
) -> NumberedRows:
    """Writes nodes with the numbers that they have in their document, into a folder of their own.

    Args:
        rows: The nodes.
        attempts: Where tasks write.
        form: In which format.
        joined: Columns of metadata.
    """
    folder = f"{rows.number:05d}-{uuid4().hex}"
    (attempts / folder).mkdir()
    ids = FindingsFile(attempts / rows.folder).ids()
    with closed_at_end(open_writer(attempts / folder, form, ids, "nodes", joined)) as writer:
        written = 0
        for findings in numbered_findings(rows, attempts):
            writer.write(rows.document, findings)
            written += len(findings)
    return NumberedRows(folder, written)
