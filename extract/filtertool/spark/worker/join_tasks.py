"""What a worker does for joins: find the witnesses of documents, and join those of one value."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple

import pyarrow as pa

from extract.chunktool.input.find import InputFile
from extract.chunktool.input.source import Document, open_source
from extract.errors import DocumentError
from extract.filtertool.joins.by_value import PlacedRow, ValueJoins
from extract.filtertool.joins.documents import JoinDocument
from extract.filtertool.joins.inputs import JoinInput, timed_documents
from extract.filtertool.joins.job import JoinJob
from extract.filtertool.joins.joined import Joined
from extract.filtertool.joins.numbering import Arrival, DocumentKey
from extract.filtertool.output.arrow import REJECTED
from extract.filtertool.results.outcome import Rejection
from extract.limits import Limits
from extract.xscl.times import microseconds

_NUMBER, _TEXT = pa.int64(), pa.string()

READ: Final = pa.schema(
    [
        ("file", _NUMBER),
        ("item", _NUMBER),
        ("stream", _TEXT),
        ("name", _TEXT),
        ("time", _NUMBER),
        ("rejected", pa.bool_()),
        ("rejections", pa.binary()),
        ("document", pa.binary()),
    ]
)
KEYED: Final = pa.schema([("key", pa.binary()), ("clock", _NUMBER), ("document", pa.binary())])
PLACES: Final = ("stage", "trigger", "order", "left_clock", "right_clock", "rank")
JOINED: Final = pa.schema(
    [
        *[(name, _NUMBER) for name in PLACES],
        ("publish", _TEXT),
        ("query", _TEXT),
        ("left", _TEXT),
        ("right", _TEXT),
        *[(name, _NUMBER) for name in ("left_seq", "right_seq", "left_time", "right_time")],
        ("bindings", pa.map_(_TEXT, _TEXT)),
        ("output", _TEXT),
        ("rejection", pa.struct(list(REJECTED))),
    ]
)
_ROWS, _SIZE = 1_000, 4 << 20  # of a record batch, about

_loaded: dict[str, ValueJoins] = {}  # the joins of the last job


class TimeOfDocuments(NamedTuple):
    """How to find the time of a document: see `extract.filtertool.joins.inputs.in_order`."""

    time: str
    namespaces: dict[str, str]


def joins_of(key: str, job: JoinJob) -> ValueJoins:
    """Returns the joins of a job; made once in a process."""
    if key not in _loaded:
        _loaded.clear()
        _loaded[key] = ValueJoins(job)
    joins = _loaded[key]
    joins.begin()
    return joins


def read_files(
    joins: ValueJoins,
    limits: Limits,
    time: TimeOfDocuments,
    files: Iterable[tuple[int, str, InputFile]],
) -> Iterator[tuple[Any, ...]]:
    """Yields a row of `READ` for each document of some files."""
    for number, stream, file in files:
        found = timed_documents([(stream, file)], time.time, time.namespaces, limits)
        for item, one in enumerate(found):
            if isinstance(one, Rejection):
                yield number, item, stream, one.document, None, True, pickle.dumps([one]), None
            else:
                yield read_document(joins, limits, (number, item), one)


def read_rows(
    joins: ValueJoins,
    limits: Limits,
    rows: Iterable[tuple[int, str, str, bytes | None, str | None]],
) -> Iterator[tuple[Any, ...]]:
    """Yields a row of `READ` for each document of a column, with its time as text."""
    for number, stream, name, content, text in rows:
        try:
            if text is None or content is None:
                raise ValueError("there is no time" if text is None else "there is no document")
            moment = microseconds(text)
        except ValueError as error:
            stage = "read" if content is None else "time"
            why = pickle.dumps([Rejection(name, None, stage, str(error))])
            yield number, 0, stream, name, None, True, why, None
        else:
            row = read_document(joins, limits, (number, 0), JoinInput(stream, name, content, None))
            yield (*row[:4], moment, *row[5:])


def read_published(
    joins: ValueJoins, limits: Limits, stage: int, rows: Iterable[tuple[int, str, str]]
) -> Iterator[tuple[Any, ...]]:
    """Yields a row of `READ` for each document that a stage has published."""
    for number, stream, output in rows:
        one = JoinInput(stream, stream, output.encode(), None)
        yield read_document(joins, limits, (-1 - stage, number), one, published=True)


def read_document(
    joins: ValueJoins, limits: Limits, key: DocumentKey, one: JoinInput, published: bool = False
) -> tuple[Any, ...]:
    """Returns the row of `READ` of a document: what queries need of it, or why it is rejected."""
    stream, name, given, time = one
    moment = None if time is None else microseconds(time)
    try:
        data = _load(given, name, limits)
        document = JoinDocument(stream, name, moment or 0, 0, 0, -1, published, data)
        rejections = joins.read(document)
    except DocumentError as error:
        place = error.offset if error.offset >= 0 else None
        why = Rejection(name, None, "read", error.reason, error.line or None, place)
        return *key, stream, name, moment, True, pickle.dumps([why]), None
    content = pickle.dumps(document, pickle.HIGHEST_PROTOCOL) if document.links else None
    return *key, stream, name, moment, False, pickle.dumps(rejections), content


def _load(given: Document, name: str, limits: Limits) -> bytes:
    with open_source(given, name, limits) as source:
        data = source.load(limits.whole_bytes)
    if data is None:
        raise DocumentError(limits.passed("whole_bytes"), file=name)
    return bytes(data)


def keyed_rows(
    joins: ValueJoins, stage: int, arrivals: Mapping[DocumentKey, Arrival], batches: Iterator[Any]
) -> Iterator[tuple[Any, ...]]:
    """Yields a row of `KEYED` for each document and value at which queries may join it."""
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in ("file", "item", "document")]
        for file, item, content in zip(*columns, strict=True):
            arrival = arrivals.get((file, item))
            if arrival is None or content is None:
                continue
            document: JoinDocument = pickle.loads(content)
            keys = joins.keys(document, stage)
            if keys:
                arrival.number(document)
                whole = pickle.dumps((document, arrival), pickle.HIGHEST_PROTOCOL)
                for key in keys:
                    yield key, arrival.clock, whole


def joined_rows(joins: ValueJoins, stage: int, batches: Iterator[Any]) -> Iterator[tuple[Any, ...]]:
    """Yields a row of `JOINED` for each row or rejection; batches are sorted by key and clock."""
    rows = (
        row
        for batch in batches
        for row in zip(
            batch.column("key").to_pylist(), batch.column("document").to_pylist(), strict=True
        )
    )
    for key, documents in groupby(rows, itemgetter(0)):
        numbered = (pickle.loads(content) for _, content in documents)
        for placed in joins.join(bytes(key), stage, numbered):
            yield joined_row(stage, placed)


def joined_row(stage: int, placed: PlacedRow) -> tuple[Any, ...]:
    """Returns the row of `JOINED` of a row or rejection."""
    *place, publish, row = placed
    if isinstance(row, Joined):
        return stage, *place, publish, *row[:7], list(row.bindings.items()), row.output, None
    return rejection_row(row, stage, place)


def rejection_row(
    one: Rejection, stage: int = 0, place: Sequence[int] = (-1,) * 5
) -> tuple[Any, ...]:
    """Returns the row of `JOINED` of a rejection."""
    return stage, *place, "", *[None] * 9, one._asdict()


def record_batches(rows: Iterable[tuple[Any, ...]], schema: Any) -> Iterator[Any]:
    """Yields rows as record batches, which are not much larger than 4 MB."""
    waiting: list[tuple[Any, ...]] = []
    size = 0
    for row in rows:
        waiting.append(row)
        size += sum([len(value) for value in row if isinstance(value, (bytes, str))])
        if len(waiting) >= _ROWS or size >= _SIZE:
            yield _batch(waiting, schema)
            waiting, size = [], 0
    if waiting:
        yield _batch(waiting, schema)


def _batch(rows: list[tuple[Any, ...]], schema: Any) -> Any:
    arrays = [
        pa.array(column, field.type)
        for column, field in zip(zip(*rows, strict=True), schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
