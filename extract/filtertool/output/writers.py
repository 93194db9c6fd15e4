"""Writers of results: Parquet, JSON lines, or one XML document for each subscription.

`parquet_writer`, `jsonl_writer` and `xml_writer` have one each; `open_writer` chooses. To add one,
write a class with the methods of `Writer`, and add its format to `Format` and `open_writer`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, Protocol, TypeVar

from extract.filtertool.matchers.protocol import Select
from extract.filtertool.output.jsonl import JsonWriter
from extract.filtertool.output.parquet import ParquetWriter
from extract.filtertool.output.xml import XmlWriter
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.outcome import Rejection

Format = Literal["parquet", "jsonl", "xml"]

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


def open_writer(directory: Path, form: Format, ids: Sequence[str], select: Select) -> Writer:
    """Opens a writer for a directory.

    Args:
        directory: Where to write; it must be there.
        form: In which format.
        ids: The ids of all subscribers.
        select: What was asked for.
    """
    matches, rejected = directory / "matches", directory / "rejected"
    matches.mkdir()
    rejected.mkdir()
    if form == "parquet":
        files = [where / f"{_PART}.parquet" for where in (matches, rejected)]
        return ParquetWriter(files[0], files[1], ids, select)
    if form == "jsonl":
        with contextlib.ExitStack() as stack:
            streams = [
                stack.enter_context((where / f"{_PART}.jsonl").open("w", encoding="utf-8"))
                for where in (matches, rejected)
            ]
            stack.pop_all()
            return JsonWriter(streams[0], streams[1], ids, select)
    return XmlWriter(matches, rejected, ids, select)
