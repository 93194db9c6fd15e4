"""Columns of documents: Parquet files, and Arrow files and streams."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from extract.chunktool.input.messages.blocks import (
    BLOCK_BYTES,
    MOST_BYTES,
    DocumentBlock,
    MessageBlock,
    Places,
)
from extract.chunktool.input.messages.form import NAME, MessageForm, Messages
from extract.chunktool.input.source import Source
from extract.errors import DocumentError
from extract.limits import Limits

ROWS: Final = 4096  # that are read of a file at a time


def column_blocks(source: Source, messages: Messages, limits: Limits) -> Iterator[MessageBlock]:
    """Yields the messages of a Parquet or Arrow file.

    Args:
        source: The file. It is copied, since it is read from its end.
        messages: The columns; of several shares, each has some of the file's row groups.
        limits: How large a message may be.

    Raises:
        DocumentError: It is no such file, or has no such column.
    """
    import pyarrow as pa

    form, first = messages.form, 0
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(_opened(source))
            groups = _parquet_groups(file) if form.kind == "parquet" else _arrow_groups(file)
            for number, group in enumerate(groups):
                columns = _columns(source.name, group.schema, form)
                if number % messages.shares != messages.share:
                    first += group.rows
                    continue
                for batch in group.batches(columns):
                    names = batch.column(columns[1]) if len(columns) > 1 else None
                    yield from _cut(source.name, first, batch.column(columns[0]), names, limits)
                    first += batch.num_rows
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            said = next(iter(str(error).splitlines()), type(error).__name__)
            reason = f"cannot be read as {form.kind.title()}: {said}"
            raise DocumentError(reason, "", source.name) from error


class _Group:
    """Rows of a file that can be read without those before them."""

    def __init__(self, schema: Any, rows: int, read: Any) -> None:
        self.schema, self.rows, self._read = schema, rows, read

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yields record batches with at least these columns."""
        yield from self._read(columns)


def _parquet_groups(file: Any) -> Iterator[_Group]:
    from pyarrow import parquet

    reader = parquet.ParquetFile(file)
    schema = reader.schema_arrow
    if not reader.num_row_groups:
        yield _Group(schema, 0, lambda _: ())
    for number in range(reader.num_row_groups):

        def read(columns: Sequence[str], number: int = number) -> Iterator[Any]:
            yield from reader.iter_batches(
                ROWS, row_groups=[number], columns=list(columns), use_threads=False
            )

        yield _Group(schema, reader.metadata.row_group(number).num_rows, read)


def _arrow_groups(file: Any) -> Iterator[_Group]:
    import pyarrow as pa

    try:
        reader = pa.ipc.open_file(file)
        batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
    except pa.ArrowInvalid:
        file.seek(0)
        reader = pa.ipc.open_stream(file)
        batches = iter(reader)
    yield _Group(reader.schema, 0, lambda _: ())
    for batch in batches:
        yield _Group(batch.schema, batch.num_rows, lambda _, one=batch: [one])


def _columns(file: str, schema: Any, form: MessageForm) -> list[str]:
    """The columns to read: of the documents, and of their names if there is one.

    Raises:
        DocumentError: There is no such column, or none of text or bytes.
    """
    import pyarrow as pa

    for wanted in (form.column, form.names):
        if wanted is not None and schema.get_field_index(wanted) < 0:
            option = "--column" if wanted == form.column else "--name-column"
            hint = f"name another with {option}; there are {', '.join(schema.names)}"
            raise DocumentError(f"there is no column {wanted} in the file", hint, file)
    kind = schema.field(form.column).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    texts = (pa.string(), pa.large_string(), pa.string_view())
    if kind not in (*texts, pa.binary(), pa.large_binary(), pa.binary_view()):
        hint = "name a column of strings or of binary values with --column"
        raise DocumentError(f"the column {form.column} is of type {kind}", hint, file)
    names = form.names or (NAME if schema.get_field_index(NAME) >= 0 else None)
    return [form.column] if names in (None, form.column) else [form.column, names]


def _cut(file: str, first: int, texts: Any, names: Any, limits: Limits) -> Iterator[MessageBlock]:
    """Yields the rows of a batch, in blocks."""
    block = column_block(file, first, texts, names, limits)
    if len(block.data) <= 2 * BLOCK_BYTES:
        yield block
        return
    start = 0
    for end in [*np.flatnonzero(np.diff(block.ends // BLOCK_BYTES)) + 1, len(block.ends)]:
        own = None if names is None else names.slice(start, end - start)
        yield column_block(file, first + start, texts.slice(start, end - start), own, limits)
        start = end


def column_block(
    file: str, first: int, texts: Any, names: Any, limits: Limits | None = None
) -> DocumentBlock:
    """Returns the values of a column of Arrow as messages.

    Args:
        file: The file's name.
        first: The number of the first message.
        texts: The documents: strings or binary values.
        names: Their names, of any type; None for the usual ones.
        limits: How large a message may be.
    """
    starts, ends, data = binary_values(texts)
    failures = {
        number: DocumentError("there is no document in this row: it is null")
        for number in (
            np.flatnonzero(np.asarray(texts.is_null())).tolist() if texts.null_count else ()
        )
    }
    most = MOST_BYTES if limits is None else min(MOST_BYTES, limits.document_bytes)
    for number in np.flatnonzero(ends - starts > most).tolist():
        failures[number] = DocumentError(f"the document has more than {most:,} bytes")
    given = () if names is None else text_values(names)
    low, high = (int(starts[0]), int(ends[-1])) if len(ends) else (0, 0)
    return DocumentBlock(
        file, first, bytes(data[low:high]), starts - low, ends - low, given, failures
    )


def binary_values(array: Any) -> tuple[Places, Places, memoryview]:
    """Returns where the values of a column begin and end, and the bytes that hold them.

    Args:
        array: Strings or binary values of Arrow, of any width; null is empty.
    """
    import pyarrow as pa

    if pa.types.is_string(array.type):
        array = array.view(pa.binary())
    elif not pa.types.is_binary(array.type):
        array = array.cast(pa.large_binary())
    kind = np.int64 if pa.types.is_large_binary(array.type) else np.int32
    _, offsets, data = array.buffers()
    if not len(array):
        return np.zeros(0, np.int64), np.zeros(0, np.int64), memoryview(b"")
    every = np.frombuffer(offsets, kind, len(array) + 1, array.offset * kind().itemsize)
    places = every.astype(np.int64)
    starts, ends = places[:-1], places[1:]
    if array.null_count:
        ends = np.where(np.asarray(array.is_null()), starts, ends)
    return starts, ends, memoryview(b"" if data is None else data).cast("B")


def text_values(array: Any) -> list[str | None]:
    """Returns the values of a column of any type as text."""
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type):
        return [
            None if one is None else one.decode("utf-8", "replace") for one in array.to_pylist()
        ]
    texts: list[str | None] = array.cast(pa.string()).to_pylist()
    return texts


@contextlib.contextmanager
def _opened(source: Source) -> Iterator[Any]:
    """The file, so that one can go back and forth in it."""
    import pyarrow as pa

    path = source.plain_path
    if path is not None:
        with pa.OSFile(path) as file:
            yield file
        return
    with tempfile.TemporaryFile() as copy:
        for window in source.windows():
            copy.write(window)
        copy.seek(0)
        with pa.PythonFile(copy, "r") as file:
            yield file
