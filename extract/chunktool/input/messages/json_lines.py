"""Lines of JSON: ``{"name": …, "document": …}``, one message a line.

Arrow reads the lines of a block at once, where all of them are as they should be. Otherwise Python
reads them one by one, and a line that is no message is rejected alone.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from extract.chunktool.input.messages.blocks import (
    BLOCK_BYTES,
    MOST_BYTES,
    DocumentBlock,
    MessageBlock,
    failed_block,
)
from extract.chunktool.input.messages.form import NAME, MessageForm
from extract.chunktool.input.source import Document, Source
from extract.errors import DocumentError
from extract.limits import RAISE, Limits

_BOM: Final = b"\xef\xbb\xbf"
_DEEP: Final = 400  # brackets within each other


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Lines that hold messages.

    Attributes:
        file: The file's name.
        first: The number of the first message in the file.
        line: The number of the first line.
        data: The lines.
        form: The keys.
    """

    file: str
    first: int
    line: int
    data: bytes
    form: MessageForm

    def documents(self) -> list[tuple[str, Document]]:
        """The names and the bytes of the messages."""
        block = self._at_once() or self._one_by_one()
        return block.documents()

    def _at_once(self) -> DocumentBlock | None:
        """The messages, if all lines are objects with a document, and without anything odd."""
        import pyarrow as pa
        from pyarrow import json as arrow_json

        from extract.chunktool.input.messages.columns import column_block

        lines = self.data.count(b"\n") + (not self.data.endswith(b"\n"))
        # Then no line break is inside of an object, nor a second object on a line.
        if self.data.count(b"}\n{") != lines - 1 or _may_be_deep(self.data, lines):
            return None
        name = self.form.names or NAME
        schema = pa.schema([(self.form.column, pa.string()), (name, pa.string())])
        try:
            table = arrow_json.read_json(
                io.BytesIO(self.data),
                arrow_json.ReadOptions(use_threads=False, block_size=len(self.data) + 1),
                arrow_json.ParseOptions(schema, unexpected_field_behavior="ignore"),
            )
            table.validate(full=True)  # of strings, that they are UTF-8
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
        documents = table.column(self.form.column)
        if table.num_rows != lines or documents.null_count:
            return None
        (batch,) = table.combine_chunks().to_batches()
        return column_block(self.file, self.first, batch.column(0), batch.column(1))

    def _one_by_one(self) -> DocumentBlock:
        contents: list[bytes] = []
        names: list[str | None] = []
        failures: dict[int, DocumentError] = {}
        for number, line in enumerate(self.data.split(b"\n"), self.line):
            if not line.strip():
                continue
            try:
                name, document = self._message(line)
            except ValueError as error:
                failures[len(contents)] = DocumentError(f"line {number:,} of the file: {error}")
                name, document = None, b""
            names.append(name)
            contents.append(document)
        ends = np.cumsum([len(one) for one in contents], dtype=np.int64)
        starts = np.concatenate([np.zeros(1, np.int64), ends])[: len(ends)]
        return DocumentBlock(
            self.file, self.first, b"".join(contents), starts, ends, names, failures
        )

    def _message(self, line: bytes) -> tuple[str | None, bytes]:
        """The name and the document of a line.

        Raises:
            ValueError: It is no message.
        """
        try:
            row: Any = json.loads(line.decode())
        except UnicodeDecodeError:
            raise ValueError("it is not UTF-8") from None
        except RecursionError:
            raise ValueError("it is no JSON that can be read: it is nested too deeply") from None
        except ValueError as error:
            raise ValueError(f"it is no JSON: {error}") from None
        column, key = self.form.column, self.form.names or NAME
        document = row.get(column) if isinstance(row, dict) else None
        if not isinstance(document, str):
            raise ValueError(f'it is no object with a string "{column}"')
        name = row.get(key)
        if name is not None and not isinstance(name, str):
            raise ValueError(f'"{key}" is no string')
        try:
            return name, document.encode()
        except UnicodeEncodeError:
            raise ValueError("it has half of a surrogate pair, which is no character") from None


def _may_be_deep(data: bytes, lines: int) -> bool:
    """Says whether a line may be nested too deeply for Arrow, which has no limit but its stack."""
    if data.count(b"[") + data.count(b"{") <= lines + _DEEP:
        return False
    codes = np.frombuffer(data, np.uint8)
    steps = np.isin(codes, (91, 123)).astype(np.int32) - np.isin(codes, (93, 125))
    depth = np.cumsum(steps)  # of brackets in strings, too: it may be too much, and not too little
    ends = np.flatnonzero(codes == 10)
    before = np.concatenate([[0], depth[ends]])
    return bool((depth - before[np.searchsorted(ends, np.arange(len(codes)))]).max() > _DEEP)


def line_blocks(source: Source, form: MessageForm, limits: Limits) -> Iterator[MessageBlock]:
    """Yields the messages of a file of JSON lines."""
    source.rewind()
    first, line, rest, last = 0, 1, b"", False
    most = min(MOST_BYTES, limits.document_bytes)
    while not last:
        buffer = memoryview(bytearray(max(BLOCK_BYTES, len(rest))))
        count = source.read_into(buffer)
        last = count < len(buffer)
        data = rest + bytes(buffer[:count])
        if line == 1 and not first:
            data = data.removeprefix(_BOM)
        end = len(data) if last else data.rfind(b"\n") + 1
        data, rest = data[:end], data[end:]
        if data:
            block = LineBlock(source.name, first, line, data, form)
            messages = _messages(data)
            if messages:
                yield block
            first += messages
            line += data.count(b"\n")
        if len(rest) > most:
            reason = f"line {line:,} of the file has more than {most:,} bytes; it and what follows "
            yield failed_block(source.name, DocumentError(f"{reason}is not read", RAISE), first)
            return


def _messages(data: bytes) -> int:
    """The number of lines that are not empty."""
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    if data.count(b"}\n{") == lines - 1 and not data.isspace():
        return lines
    return sum(1 for line in data.split(b"\n") if line.strip())
