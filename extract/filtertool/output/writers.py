"""Writers of results: Parquet, JSON lines, CSV, TSV, or one XML document for each subscription.

`parquet`, `jsonl`, `delimited` and `xml` have one each. `open_writer` chooses for a directory,
`stream_writer` for a stream such as standard output. To add one, write a class with the methods of
`Writer`, and add its format to `Format` and `open_writer`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Final, Literal, Protocol, TypeVar, runtime_checkable

from extract.filtertool.matchers.protocol import Select
from extract.filtertool.output.delimited import DIALECTS, DelimitedWriter
from extract.filtertool.output.joined import NO_COLUMNS, JoinedColumns
from extract.filtertool.output.jsonl import JsonWriter
from extract.filtertool.output.row_streams import RowStreams
from extract.filtertool.output.xml import XmlStreamWriter, XmlWriter
from extract.filtertool.results.batch_outcome import BatchOutcome, FilterOutcome
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.outcome import Rejection

Format = Literal["parquet", "jsonl", "csv", "tsv", "xml"]
StreamFormat = Literal["jsonl", "csv", "tsv", "xml"]

_PART: Final = "part-00000"


WriterT = TypeVar("WriterT", bound="Writer")


class Writer(Protocol):
    """Writes findings, document by document."""

    def write(self, document: str, findings: Findings) -> None:
        """Adds the findings of a document."""

    def reject(self, rejections: Iterable[Rejection]) -> None:
        """Adds rejections."""

    def close(self) -> None:
        """Ends all files."""


@runtime_checkable
class BatchWriter(Writer, Protocol):
    """A writer that takes the rows of many documents at once. Optional."""

    def write_batch(self, batch: BatchOutcome) -> None:
        """Adds the rows of documents that were matched together."""


def write_outcome(writer: Writer, done: FilterOutcome) -> None:
    """Writes an outcome: its rows and its rejections."""
    if not isinstance(done, BatchOutcome):
        writer.write(done.document, done.findings)
    elif isinstance(writer, BatchWriter):
        writer.write_batch(done)
    else:
        for name, findings in done.each():
            if len(findings):
                writer.write(name, findings)
    writer.reject(done.rejections)


@contextlib.contextmanager
def closed_at_end(writer: WriterT) -> Iterator[WriterT]:
    """Closes a writer at the end of the block.

    An error in the block is raised as it is: a full disk, say, makes closing fail as well, and that
    error says less.
    """
    try:
        yield writer
    except BaseException:
        with contextlib.suppress(Exception):
            writer.close()
        raise
    writer.close()


def open_writer(
    directory: Path,
    form: Format,
    ids: Sequence[str],
    select: Select,
    joined: JoinedColumns = NO_COLUMNS,
) -> Writer:
    """Opens a writer for a directory.

    Args:
        directory: Where to write; it must be there.
        form: In which format.
        ids: The ids of all subscribers.
        select: What was asked for.
        joined: Columns of metadata, in formats that have columns.
    """
    matches, rejected = directory / "matches", directory / "rejected"
    matches.mkdir()
    rejected.mkdir()
    if form == "parquet":
        # pyarrow takes longer to import than few documents take to filter.
        from extract.filtertool.output.parquet import ParquetWriter

        parts = [where / f"{_PART}.parquet" for where in (matches, rejected)]
        return ParquetWriter(parts[0], parts[1], ids, select, joined)
    if form == "xml":
        return XmlWriter(matches, rejected, ids, select)
    with contextlib.ExitStack() as stack:
        files = [where / f"{_PART}.{form}" for where in (matches, rejected)]
        streams = [
            stack.enter_context(file.open("w", encoding="utf-8", newline="\n")) for file in files
        ]
        writer = _line_writer(RowStreams(streams[0], streams[1]), form, ids, select, joined)
        stack.pop_all()
        return writer


def stream_writer(
    stream: IO[str],
    form: StreamFormat,
    ids: Sequence[str],
    select: Select,
    joined: JoinedColumns = NO_COLUMNS,
) -> Writer:
    """Makes a writer of rows for a stream, which stays open; rejections are left out.

    Args:
        stream: Where rows go, in UTF-8.
        form: In which format.
        ids: The ids of all subscribers.
        select: What was asked for.
        joined: Columns of metadata, in formats that have columns.
    """
    if form == "xml":
        return XmlStreamWriter(stream, ids, select)
    return _line_writer(RowStreams(stream, owned=False), form, ids, select, joined)


def _line_writer(
    streams: RowStreams,
    form: Literal["jsonl", "csv", "tsv"],
    ids: Sequence[str],
    select: Select,
    joined: JoinedColumns,
) -> Writer:
    if form == "jsonl":
        return JsonWriter(streams, ids, select, joined)
    return DelimitedWriter(streams, ids, select, DIALECTS[form], joined)
