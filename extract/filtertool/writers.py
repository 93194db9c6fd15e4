"""Where results go: Parquet, JSON lines, or one XML document for each subscription.

A directory of results appears when everything is written, or not at all:

    DIR/matches/…      what was found
    DIR/rejected/…     documents and queries that were not processed, and why
    DIR/report.json    what was done, in numbers
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final, Literal, Protocol

import pyarrow as pa
from pyarrow import parquet

from extract.files import whole_directory
from extract.filtertool.arrow import REJECTED, SCHEMAS, joined_batches, rejected_batch
from extract.filtertool.findings import Findings
from extract.filtertool.matcher import Select
from extract.filtertool.outcome import Rejection
from extract.filtertool.xml_writer import XmlWriter

Format = Literal["parquet", "jsonl", "xml"]

REPORT: Final = "report.json"
_PART: Final = "part-00000"
_GROUP_ROWS: Final = 1 << 17
_GROUP_BYTES: Final = 1 << 26
_TOGETHER_ROWS: Final = 1 << 12  # of small documents, that are turned into Arrow's columns at once
_TOGETHER_BYTES: Final = 1 << 22


class Writer(Protocol):
    """Writes what was found, document by document."""

    def write(self, document: str, findings: Findings) -> None:
        """Adds what was found in a document."""

    def reject(self, rejections: Iterable[Rejection]) -> None:
        """Adds what was rejected."""

    def close(self) -> None:
        """Ends all files."""


def check_target(path: str | Path) -> Path:
    """Where results will be.

    Raises:
        FileExistsError: Something else has that name.
    """
    target = Path(os.path.abspath(path))
    if target.is_symlink():
        target = target.resolve()
    if target.exists() and not (target.is_dir() and _is_ours(target)):
        raise FileExistsError(17, "it is there, and holds no results of extract", str(path))
    return target


@contextlib.contextmanager
def result_directory(path: str | Path) -> Iterator[Path]:
    """A directory that gets its name when the block has ended well.

    Results that are there already are replaced then; anything else is left alone.

    Raises:
        FileExistsError: Something else has that name.
    """
    target = check_target(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with whole_directory(target) as partial:
        yield partial


def _is_ours(directory: Path) -> bool:
    return (directory / REPORT).is_file() or not any(directory.iterdir())


def open_writer(directory: Path, form: Format, ids: Sequence[str], select: Select) -> Writer:
    """A writer for a directory.

    Args:
        directory: Where to write; it must be there.
        form: How to write.
        ids: The ids of all subscribers.
        select: What was asked for.
    """
    matches, rejected = directory / "matches", directory / "rejected"
    matches.mkdir()
    rejected.mkdir()
    if form == "parquet":
        return ParquetWriter(matches, rejected, ids, select)
    if form == "jsonl":
        with contextlib.ExitStack() as stack:
            streams = [
                stack.enter_context((where / f"{_PART}.jsonl").open("w", encoding="utf-8"))
                for where in (matches, rejected)
            ]
            stack.pop_all()
            return JsonWriter(streams[0], streams[1], ids, select)
    return XmlWriter(matches, rejected, ids, select)


class ParquetWriter:
    """Writes Parquet, a row group at a time."""

    def __init__(self, matches: Path, rejected: Path, ids: Sequence[str], select: Select) -> None:
        self._ids = pa.array(ids, pa.string())
        self._select = select
        self._matches = _Groups(matches / f"{_PART}.parquet", SCHEMAS[select])
        self._rejected = _Groups(rejected / f"{_PART}.parquet", REJECTED)
        self._waiting: list[tuple[str, Findings]] = []
        self._rows = self._bytes = 0

    def write(self, document: str, findings: Findings) -> None:
        """Adds what was found in a document."""
        if not len(findings):
            return
        self._waiting.append((document, findings))
        self._rows += len(findings)
        self._bytes += findings.described.table.nbytes
        if self._rows >= _TOGETHER_ROWS or self._bytes >= _TOGETHER_BYTES:
            self._join()

    def _join(self) -> None:
        if self._waiting:
            for batch in joined_batches(self._waiting, self._ids, self._select):
                self._matches.add(batch)
            self._waiting.clear()
            self._rows = self._bytes = 0

    def reject(self, rejections: Iterable[Rejection]) -> None:
        """Adds what was rejected."""
        if rows := list(rejections):
            self._rejected.add(rejected_batch(rows))

    def close(self) -> None:
        """Ends all files."""
        with contextlib.ExitStack() as both:  # the second one also where the first one fails
            both.callback(self._rejected.close)
            both.callback(self._matches.close)
            self._join()


class _Groups:
    """A Parquet file that collects record batches until they are worth a row group."""

    def __init__(self, path: Path, schema: Any) -> None:
        self._schema = schema
        self._file = parquet.ParquetWriter(path, schema, compression="zstd")
        self._waiting: list[Any] = []
        self._rows = self._bytes = 0

    def add(self, batch: Any) -> None:
        self._waiting.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._rows >= _GROUP_ROWS or self._bytes >= _GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._file.write_table(pa.Table.from_batches(self._waiting, self._schema))
            self._waiting.clear()
            self._rows = self._bytes = 0

    def close(self) -> None:
        with contextlib.closing(self._file):
            self._flush()


class JsonWriter:
    """Writes a JSON object a line.

    Args:
        matches: Where rows go.
        rejected: Where rejections go; None if nobody wants them.
        ids: The ids of all subscribers.
        select: What was asked for.
    """

    def __init__(
        self, matches: IO[str], rejected: IO[str] | None, ids: Sequence[str], select: Select
    ) -> None:
        self._matches = matches
        self._rejected = rejected
        self._ids = [_json(one) for one in ids]
        self._select = select

    def write(self, document: str, findings: Findings) -> None:
        """Adds what was found in a document."""
        head, ids = f'{{"document": {_json(document)}, "query": ', self._ids
        who = findings.subscriber.tolist()
        if self._select == "doc":
            self._matches.writelines([f"{head}{ids[n]}}}\n" for n in who])
            return
        if self._select == "count":
            pairs = zip(who, findings.count.tolist(), strict=True)
            lines = [f'{head}{ids[n]}, "count": {count}}}\n' for n, count in pairs]
            self._matches.writelines(lines)
            return
        d = findings.described.lists()
        # A node is written out once, however many rows it is in.
        before = [
            f'"node": "{node}", "name": {_json(name)}, "start": {_json(start)}, "end": {_json(end)}'
            for node, name, start, end in zip(d.node, d.name, d.start, d.end, strict=True)
        ]
        after = [
            f'"path": {_json(path)}, "value": {_json(value)}}}\n'
            for path, value in zip(d.path, d.value, strict=True)
        ]
        rows = zip(who, findings.node.tolist(), findings.ordinal.tolist(), strict=True)
        self._matches.writelines(
            f'{head}{ids[n]}, {before[node]}, "ordinal": {ordinal}, {after[node]}'
            for n, node, ordinal in rows
        )

    def reject(self, rejections: Iterable[Rejection]) -> None:
        """Adds what was rejected."""
        if self._rejected is not None:
            self._rejected.writelines(f"{_json(one._asdict())}\n" for one in rejections)

    def close(self) -> None:
        """Ends all files."""
        with contextlib.ExitStack() as both:  # the second one also where the first one fails
            if self._rejected is not None:
                both.callback(self._rejected.close)
            both.callback(self._matches.close)


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
