"""Rows as CSV or TSV, with a line of column names.

CSV is that of RFC 4180: a field with a comma, a quote or a line end is in quotes, and so is an
empty text, so that it is told from a value that is missing. In TSV a row is always one line, for
``cut`` and ``awk``: a tab, line end or backslash in a text is written ``\\t``, ``\\n``, ``\\r`` or
``\\\\``; a value that is missing is empty.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from extract.chunktool.file_names import document_name
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.output.joined import NO_COLUMNS, JoinedColumns
from extract.filtertool.output.row_streams import RowStreams
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.outcome import Rejection

_QUOTED: Final = re.compile(r'[",\r\n]')
_ESCAPES: Final = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def _csv_field(value: Any) -> str:
    """A value as a field of CSV.

    >>> [_csv_field(one) for one in ("a", 'a"b', "", None, 3)]
    ['a', '"a""b"', '""', '', '3']
    """
    if value is None:
        return ""
    text = _printable(value)
    return text if text and not _QUOTED.search(text) else f'"{text.replace(chr(34), chr(34) * 2)}"'


def _tsv_field(value: Any) -> str:
    r"""A value as a field of TSV.

    >>> [_tsv_field(one) for one in ("a", "a\tb", "", None, 3)]
    ['a', 'a\\tb', '', '', '3']
    """
    return "" if value is None else _printable(value).translate(_ESCAPES)


def _printable(value: Any) -> str:
    """A text without halves of characters, which ids of queries may have and UTF-8 has not."""
    text = str(value)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


class Dialect(NamedTuple):
    """How fields become a line."""

    separator: str
    field: Callable[[Any], str]

    def line(self, fields: Iterable[Any]) -> str:
        """Returns a line with its end."""
        return f"{self.separator.join(map(self.field, fields))}\n"


DIALECTS: Final = {"csv": Dialect(",", _csv_field), "tsv": Dialect("\t", _tsv_field)}
_BEFORE_ORDINAL: Final = ("node", "name", "start", "end")
_AFTER_ORDINAL: Final = ("path", "value", "text")
_COLUMNS: Final[dict[Select, tuple[str, ...]]] = {
    "doc": (),
    "count": ("count",),
    "nodes": (*_BEFORE_ORDINAL, "ordinal", *_AFTER_ORDINAL),
    "output": ("output",),
}


class DelimitedWriter:
    """Writes each row and each rejection as a line of fields.

    Args:
        streams: Where rows and rejections go.
        ids: The ids of all subscribers.
        select: What was asked for.
        dialect: CSV or TSV.
        joined: Columns of metadata, after all others.
    """

    def __init__(
        self,
        streams: RowStreams,
        ids: Sequence[str],
        select: Select,
        dialect: Dialect,
        joined: JoinedColumns = NO_COLUMNS,
    ) -> None:
        self._streams = streams
        self._matches, self._rejected = streams.matches, streams.rejected
        self._ids = [dialect.field(one) for one in ids]
        self._select: Select = select
        self._dialect = dialect
        names = [column.name for column in joined.columns]
        self._matches.write(dialect.line(("document", "query", *_COLUMNS[select], *names)))
        # What ends the rows of each subscriber.
        self._ends = ["\n"] * len(ids)
        if joined.columns:
            texts = [joined.texts(column, ids) for column in joined.columns]
            lines = map(dialect.line, zip(*texts, strict=True))
            self._ends = [f"{dialect.separator}{line}" for line in lines]
        if self._rejected is not None:
            self._rejected.write(dialect.line(Rejection._fields))

    def write(self, document: str, findings: Findings) -> None:
        """Adds the findings of a document."""
        by, ids, name = (
            self._dialect.separator,
            self._ids,
            self._dialect.field(document_name(document)),
        )
        ends = self._ends
        who = findings.subscriber.tolist()
        if self._select == "doc":
            self._matches.writelines([f"{name}{by}{ids[n]}{ends[n]}" for n in who])
            return
        if self._select == "count":
            pairs = zip(who, findings.count.tolist(), strict=True)
            lines = [f"{name}{by}{ids[n]}{by}{count}{ends[n]}" for n, count in pairs]
            self._matches.writelines(lines)
            return
        if self._select == "output":
            made = [(n, self._dialect.field(text)) for n, text in findings.outputs()]
            self._matches.writelines([f"{name}{by}{ids[n]}{by}{out}{ends[n]}" for n, out in made])
            return
        # A node is written out once, however many rows it is in.
        before, after = (
            self._fields(findings, _BEFORE_ORDINAL),
            self._fields(findings, _AFTER_ORDINAL),
        )
        rows = zip(who, findings.node.tolist(), findings.ordinal.tolist(), strict=True)
        self._matches.writelines(
            f"{name}{by}{ids[n]}{by}{before[node]}{by}{ordinal}{by}{after[node]}{ends[n]}"
            for n, node, ordinal in rows
        )

    def _fields(self, findings: Findings, columns: Sequence[str]) -> list[str]:
        """Some columns of all nodes, put together."""
        field, by, lists = self._dialect.field, self._dialect.separator, findings.described.lists()
        chosen = [map(field, getattr(lists, column)) for column in columns]
        return [by.join(row) for row in zip(*chosen, strict=True)]

    def reject(self, rejections: Iterable[Rejection]) -> None:
        """Adds rejections."""
        if self._rejected is not None:
            self._rejected.writelines([self._dialect.line(one.in_rows()) for one in rejections])

    def close(self) -> None:
        """Closes the streams, if they are ours."""
        self._streams.close()
