"""Many members in a file of their own, beside ``scheme.json``: one Parquet file, with a digest.

The file has a row for each member: ``id``; ``template``, the number of its template; ``wording``,
the number of its wording, null for the canonical one; ``constants`` as they are written, strings
without quotes; and ``weight`` and ``metadata`` (JSON) where a member has any. Its name has its
digest, so that the old file stays as long as an old ``scheme.json`` may name it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from extract.errors import SchemeError
from extract.files import whole_file
from extract.scheme.templates import RegisteredTemplates, WordingTable
from extract.subscriptions.columns import Offsets, TextColumn
from extract.subscriptions.members import Members, templates_of
from extract.subscriptions.records import pack_records, unpack_records

INLINE: Final = 10_000  # members up to which they are in scheme.json itself

_AGAIN: Final = "prepare the queries again with `extract prep`, or restore the file"
_COLUMNS: Final = ("id", "template", "wording", "constants")
_DIGITS: Final = 16  # of the digest, in the name of the file


class MissingMembers(SchemeError):
    """The file of members that a scheme names cannot be read."""


class MembersFile(NamedTuple):
    """What a scheme says of its members' file.

    Attributes:
        file: Its name; it lies beside the scheme.
        rows: The number of members.
        digest: The SHA-256 of its bytes.
    """

    file: str
    rows: int
    digest: str


def write_members(members: Members, wordings: WordingTable, scheme: Path) -> MembersFile:
    """Writes the file of members for a scheme, unless it is there already.

    Raises:
        OSError: It cannot be written.
    """
    import pyarrow as pa  # takes longer to import than a small scheme takes to write
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(
        members_table(members, wordings), sink, compression="zstd", write_statistics=False
    )
    data = memoryview(sink.getvalue())
    digest = hashlib.sha256(data).hexdigest()
    path = scheme.with_name(f"{_stem(scheme)}{digest[:_DIGITS]}.parquet")
    with whole_file(path) as stream:
        stream.write(data)
    return MembersFile(path.name, len(members), digest)


def remove_others(scheme: Path, kept: str | None) -> None:
    """Removes files of members that the scheme does not name any more."""
    for path in scheme.parent.glob(f"{_glob(_stem(scheme))}*.parquet"):
        if path.name != kept:
            path.unlink(missing_ok=True)


def _stem(scheme: Path) -> str:
    return f"{scheme.name}.members-"


def _glob(name: str) -> str:
    """A pattern for just this name."""
    return "".join([f"[{c}]" if c in "[]*?" else c for c in name])


def members_table(members: Members, wordings: WordingTable) -> Any:
    """The rows of the file: a ``pyarrow.Table``."""
    import pyarrow as pa

    ids, constants, counts = unpack_records(members.heap, members.starts)
    codes = members.codes
    columns = {
        "id": _strings(ids),
        "template": pa.array(templates_of(codes, wordings.templates)),
        "wording": pa.array(np.where(codes < 0, ~codes, 0), mask=codes >= 0),
        "constants": pa.ListArray.from_arrays(
            pa.array(np.append(0, np.cumsum(counts)).astype(np.int32)), _strings(constants)
        ),
    }
    if members.weights is not None:
        columns["weight"] = pa.array(members.weights)
    if members.metadata is not None:
        texts = list(members.metadata)
        columns["metadata"] = pa.array([text or None for text in texts], pa.string())
    return pa.table(columns)


def _strings(column: TextColumn) -> Any:
    """A column whose strings follow each other in its buffer, as an Arrow array."""
    import pyarrow as pa

    offsets = np.append(column.starts, column.stops[-1:])
    if not len(column):
        return pa.array([], pa.string())
    if offsets[-1] >= 1 << 31:
        return pa.LargeStringArray.from_buffers(
            len(column), pa.py_buffer(offsets), pa.py_buffer(column.buffer)
        )
    narrow = offsets.astype(np.int32)
    return pa.StringArray.from_buffers(
        len(column), pa.py_buffer(narrow), pa.py_buffer(column.buffer)
    )


# -- reading


def read_members(
    info: MembersFile, scheme: Path, templates: RegisteredTemplates, wordings: WordingTable
) -> Members:
    """Reads the file of members that a scheme names.

    Raises:
        SchemeError: It is missing or damaged, or does not belong to the scheme.
    """
    if Path(info.file).name != info.file:
        reason = f"queries.file: {info.file!r} is no file beside the scheme"
        raise SchemeError(reason, _AGAIN, str(scheme))
    path = scheme.with_name(info.file)
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = f"cannot read the members of {scheme.name}: {error.strerror or error}"
        raise MissingMembers(reason, f"keep both files together; {_AGAIN}", str(path)) from error
    if hashlib.sha256(data).hexdigest() != info.digest:
        reason = f"is not the file that {scheme.name} was written with: its digest differs"
        raise SchemeError(reason, _AGAIN, str(path))
    table = _parsed(data, path)
    if table.num_rows != info.rows:
        reason = f"does not belong to the scheme: it has {table.num_rows:,} rows, not {info.rows:,}"
        raise SchemeError(reason, _AGAIN, str(path))
    return members_of(table, str(path), templates, wordings)


def _parsed(data: bytes, path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # Not `read_table`, which imports another 40 MB.
        return pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False).combine_chunks()
    except (pa.ArrowException, OSError) as error:
        raise SchemeError(f"is no Parquet file: {error}", _AGAIN, str(path)) from error


def members_of(
    table: Any, source: str, templates: RegisteredTemplates, wordings: WordingTable
) -> Members:
    """Returns the members of a ``pyarrow.Table`` whose columns are those of the file.

    Args:
        table: The rows.
        source: Where they are from, for messages.
        templates: The templates that they refer to.
        wordings: The wordings that they refer to.

    Raises:
        SchemeError: They do not belong to these.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    def wrong(what: str) -> SchemeError:
        return SchemeError(f"does not belong to the scheme: {what}", _AGAIN, source)

    missing = [name for name in _COLUMNS if name not in table.column_names]
    if missing:
        raise wrong(f"there is no column {missing[0]!r}")
    if not table.num_rows:
        return Members.none()
    own = _numbers(table["template"], -1)
    if own.min() < 0 or own.max() >= len(templates):
        raise wrong("a row has a template that is not there")
    wording = _numbers(table["wording"], -1)
    if wording.max() >= len(wordings.texts):
        raise wrong("a row has a wording that is not there")
    lists = table["constants"].chunk(0)
    counts = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    if (counts != templates.parameters[own]).any():
        raise wrong("a row has not as many constants as its template has parameters")
    written = wording >= 0
    if (np.array(wordings.templates, np.int64)[wording[written]] != own[written]).any():
        raise wrong("a row has the wording of another template")
    ids, constants = _texts(table["id"].chunk(0)), _texts(lists.flatten())
    heap, ends = pack_records(ids, constants, counts.astype(np.int64))
    weights = metadata = None
    if "weight" in table.column_names:
        weights = table["weight"].to_numpy().astype(np.float64)
        if not ((weights > 0) & np.isfinite(weights)).all():
            raise wrong("a weight is not a number above zero")
    if "metadata" in table.column_names:
        metadata = _texts(pc.fill_null(table["metadata"].cast(pa.string()), "").chunk(0))
    codes = np.where(written, ~wording, own).astype(np.int32)
    return Members(codes, ends, heap, weights, metadata)


def _numbers(column: Any, null: int) -> Offsets:
    import pyarrow.compute as pc

    return np.asarray(pc.fill_null(column, null).to_numpy()).astype(np.int64)


def _texts(array: Any) -> TextColumn:
    """An Arrow array of strings, without nulls, as a column."""
    import pyarrow as pa

    wide = array.cast(pa.large_string())
    _, offsets, data = wide.buffers()
    ends = np.frombuffer(offsets, np.int64)[wide.offset : wide.offset + len(wide) + 1]
    buffer = b"" if data is None else data.to_pybytes()
    return TextColumn(buffer, ends[:-1], ends[1:])
