"""Writers of joined rows: Parquet, JSON lines, CSV, TSV, or one XML document for each query."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any, Final, Protocol

from extract.chunktool.file_names import FileNames, safe_name
from extract.filtertool.joins.joined import Joined
from extract.filtertool.output.delimited import DIALECTS
from extract.filtertool.output.writers import Format
from extract.filtertool.results.outcome import Rejection
from extract.markup.escape import escaped_value

_HEAD: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'
_PART: Final = "part-00000"
_COLUMNS: Final = tuple(Joined.__annotations__)
_REJECTION_COLUMNS: Final = tuple(Rejection.__annotations__)
_TOGETHER: Final = 1 << 12  # rows that become columns at once


class JoinedWriter(Protocol):
    """Writes rows as they come."""

    def write(self, rows: Sequence[Joined]) -> None:
        """Adds rows."""

    def reject(self, rejections: Iterable[Rejection]) -> None:
        """Adds rejections."""

    def close(self) -> None:
        """Ends all files."""


def open_joined_writer(directory: Path, form: Format, ids: Iterable[str]) -> JoinedWriter:
    """Opens a writer for a directory, which gets ``joined`` and ``rejected``.

    Args:
        directory: Where to write; it must be there.
        form: In which format.
        ids: The ids of all queries.
    """
    joined, rejected = directory / "joined", directory / "rejected"
    joined.mkdir()
    rejected.mkdir()
    if form == "xml":
        return _XmlRows(joined, rejected / "rejected.xml", ids)
    places = [folder / f"{_PART}.{form}" for folder in (joined, rejected)]
    if form == "parquet":
        return _ParquetRows(*places)
    with contextlib.ExitStack() as stack:
        streams = [
            stack.enter_context(place.open("w", encoding="utf-8", newline="\n")) for place in places
        ]
        writer = JoinedLines(streams[0], streams[1], form)
        stack.pop_all()
        return writer


class JoinedLines:
    """Writes a line for each row: JSON, CSV or TSV.

    Args:
        joined: Where rows go.
        rejected: Where rejections go; None if they are left out, and streams stay open.
        form: ``jsonl``, ``csv`` or ``tsv``.
    """

    def __init__(self, joined: IO[str], rejected: IO[str] | None, form: str) -> None:
        self._joined = joined
        self._rejected = rejected
        self._dialect = DIALECTS.get(form)
        if self._dialect is not None:
            joined.write(self._dialect.line(_COLUMNS))
            if rejected is not None:
                rejected.write(self._dialect.line(_REJECTION_COLUMNS))

    def write(self, rows: Sequence[Joined]) -> None:
        """Adds rows."""
        self._joined.writelines([self._line(row.in_rows()) for row in rows])

    def reject(self, rejections: Iterable[Rejection]) -> None:
        """Adds rejections."""
        if self._rejected is not None:
            self._rejected.writelines([self._rejection(one.in_rows()) for one in rejections])

    def close(self) -> None:
        """Closes the streams, if they are ours."""
        if self._rejected is not None:
            self._joined.close()
            self._rejected.close()

    def _line(self, row: Joined) -> str:
        if self._dialect is None:
            return f"{_json(row._asdict())}\n"
        return self._dialect.line((*row[:7], _json(row.bindings), row.output))

    def _rejection(self, one: Rejection) -> str:
        return f"{_json(one._asdict())}\n" if self._dialect is None else self._dialect.line(one)


class _ParquetRows:
    """Writes Parquet, whose column ``bindings`` is a map."""

    def __init__(self, joined: Path, rejected: Path) -> None:
        import pyarrow as pa  # which takes longer to import than few documents take to join

        from extract.filtertool.output.arrow import REJECTED
        from extract.filtertool.output.parquet import RowGroups

        text, number = pa.string(), pa.int64()
        types = {"query": text, "left": text, "right": text}
        types |= dict.fromkeys(("left_seq", "right_seq", "left_time", "right_time"), number)
        types |= {"bindings": pa.map_(text, text), "output": text}
        self._schema = pa.schema([pa.field(name, types[name]) for name in _COLUMNS])
        self._groups = RowGroups(joined, self._schema), RowGroups(rejected, REJECTED)
        self._waiting: list[Joined] = []

    def write(self, rows: Sequence[Joined]) -> None:
        self._waiting += [row.in_rows() for row in rows]
        if len(self._waiting) >= _TOGETHER:
            self._flush()

    def reject(self, rejections: Iterable[Rejection]) -> None:
        from extract.filtertool.output.arrow import rejected_batch

        if rows := list(rejections):
            self._groups[1].add(rejected_batch(rows))

    def close(self) -> None:
        with contextlib.ExitStack() as both:
            both.callback(self._groups[1].close)
            both.callback(self._groups[0].close)
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        if self._waiting:
            columns: list[Any] = list(zip(*self._waiting, strict=True))
            columns[7] = [list(one.items()) for one in columns[7]]
            arrays = [
                pa.array(column, field.type)
                for column, field in zip(columns, self._schema, strict=True)
            ]
            self._groups[0].add(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
            self._waiting = []


class _XmlRows:
    """Writes a document for each query, also for those without a row."""

    def __init__(self, joined: Path, rejected: Path, ids: Iterable[str]) -> None:
        names = FileNames()
        self._paths = {one: joined / f"{names.take(safe_name(one))}.xml" for one in ids}
        self._rejected = rejected
        for one, path in self._paths.items():
            _append(path, f"{_HEAD}<joined{_attributes(query=one)}>\n")
        _append(rejected, f"{_HEAD}<rejections>\n")

    def write(self, rows: Sequence[Joined]) -> None:
        texts: dict[str, list[str]] = {}
        for row in rows:
            values = row.in_rows(xml=True)._asdict()
            bindings, output = values.pop("bindings"), values.pop("output")
            query = values.pop("query")
            nodes = [
                f"<binding{_attributes(variable=name, path=path)}/>"
                for name, path in bindings.items()
            ]
            line = f"<row{_attributes(**values)}>{''.join(nodes)}<output>{output}</output></row>\n"
            texts.setdefault(query, []).append(line)
        for query, lines in texts.items():
            _append(self._paths[query], "".join(lines))

    def reject(self, rejections: Iterable[Rejection]) -> None:
        lines = [
            f"<rejection{_attributes(**one.in_rows(xml=True)._asdict())}/>\n" for one in rejections
        ]
        _append(self._rejected, "".join(lines))

    def close(self) -> None:
        for path in self._paths.values():
            _append(path, "</joined>\n")
        _append(self._rejected, "</rejections>\n")


def _attributes(**values: Any) -> str:
    return "".join(
        [f' {name}="{escaped_value(str(v))}"' for name, v in values.items() if v is not None]
    )


def _append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8", errors="replace", newline="\n") as stream:
        stream.write(text)


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
