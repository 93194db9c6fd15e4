"""Numbers rows: nodes of a document's pieces are numbered on from piece to piece.

A task knows the number of rows of its pieces, but not of the pieces before them. So it stores its
findings in a file (`findings_file`), and the rows are written when all counts are known: by the
task itself if it has all pieces, otherwise by the driver or by another Spark job
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
    """The numbers of rows of subscribers on some pieces.

    Attributes:
        rows: For each subscriber, the number of rows.
        bytes: For each subscriber, the bytes of the elements in these rows, with nested ones
            counted each; elements that are too long for a value do not count.
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
        """Returns the sum of both counts."""
        return RowCounts(self.rows + other.rows, self.bytes + other.bytes)


class RowNumbering:
    """Numbers the findings of a document's pieces, in their order.

    Args:
        subscribers: The number of subscribers.
        before: For each subscriber, the number of rows before the pieces; None for none.
        without: Subscribers without rows, because their query has failed.
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

    def sum(self, pieces: Iterable[Findings], counted: bool) -> Findings:
        """Returns the sums of the pieces' counts, or only which subscribers have any."""
        total = self._before
        for findings in pieces:
            total[findings.subscriber] += findings.count if counted else 1
        total[self._without] = 0
        subscriber = np.flatnonzero(total).astype(np.int32)
        return replace(Findings.none(), subscriber=subscriber, count=total[subscriber])


class UnnumberedRows(NamedTuple):
    """Findings of one task on pieces, with the numbers of rows before them.

    Attributes:
        number: The number of the task.
        folder: The task's folder, below the directory of all tasks.
        document: The document's name.
        before: For each subscriber, the number of rows of earlier pieces; None for none.
        without: Ids of queries that have failed on some piece: they have no rows.
    """

    number: int
    folder: str
    document: str
    before: NDArray[np.int64] | None
    without: frozenset[str]


class NumberedRows(NamedTuple):
    """Rows with their numbers in the document, in the format of the results.

    Attributes:
        folder: The folder of the rows, below the directory of all tasks.
        rows: The number of rows.
    """

    folder: str
    rows: int


def numbered_findings(
    rows: UnnumberedRows, attempts: Path, ids: Sequence[str] | None = None
) -> Iterator[Findings]:
    """Yields nodes with their numbers in the document, piece by piece.

    Args:
        rows: The nodes.
        attempts: The directory of the tasks' files.
        ids: The ids of the subscribers that the findings are to refer to; None for those in the
            file.
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
