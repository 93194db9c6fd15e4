"""Rows on standard output, as ``extract match`` and ``extract run -o -`` write them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence

from extract.cli.output import open_output
from extract.cli.terminal import warn
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.output.joined import NO_COLUMNS, JoinedColumns
from extract.filtertool.output.writers import StreamFormat, Writer, stream_writer
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.outcome import Rejection


class RowsAndWarnings:
    """Writes rows with another writer, and rejections of documents to standard error at once.

    Args:
        rows: The other writer.
    """

    def __init__(self, rows: Writer) -> None:
        self._rows = rows

    def write(self, document: str, findings: Findings) -> None:
        """Adds the findings of a document."""
        self._rows.write(document, findings)

    def reject(self, rejections: Iterable[Rejection]) -> None:
        """Says what is rejected; a query that never was evaluated has been reported before."""
        for one in rejections:
            if one.document is not None:
                warn(f"rejected: {in_words(one)}\n")

    def close(self) -> None:
        """Ends what the other writer writes."""
        self._rows.close()


def in_words(rejection: Rejection) -> str:
    """A rejection as a message.

    >>> in_words(Rejection("a.xml", "q1", "filter", "too many rows"))
    "a.xml: query 'q1': too many rows"
    >>> in_words(Rejection("a.xml", None, "chunk", "no end tag", 3))
    'a.xml:3: no end tag'
    """
    line = f":{rejection.line}" if rejection.line is not None else ""
    query = f"query {rejection.query!r}: " if rejection.query is not None else ""
    return f"{rejection.document}{line}: {query}{rejection.reason}"


@contextlib.contextmanager
def rows_to(
    output: str,
    form: StreamFormat,
    ids: Sequence[str],
    select: Select,
    joined: JoinedColumns = NO_COLUMNS,
) -> Iterator[RowsAndWarnings]:
    """Opens a writer of rows for a file, or for standard output.

    Args:
        output: The file; ``"-"`` is standard output.
        form: In which format.
        ids: The ids of all subscribers.
        select: What was asked for.
        joined: Columns of metadata, in formats that have columns.
    """
    with open_output(output) as stream:
        writer = RowsAndWarnings(stream_writer(stream, form, ids, select, joined))
        yield writer
        writer.close()
