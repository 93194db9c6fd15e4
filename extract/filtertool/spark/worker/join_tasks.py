"""What a worker does for joins: find the witnesses of documents, and join those of a share."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple

import pyarrow as pa

from extract.chunktool.file_names import document_name
from extract.chunktool.input.find import InputFile
from extract.chunktool.input.source import Document, open_source
from extract.errors import DocumentError
from extract.filtertool.joins.by_value import PlacedRow, ValueJoins
from extract.filtertool.joins.chains import ChainJoins
from extract.filtertool.joins.documents import JoinDocument
from extract.filtertool.joins.inputs import JoinInput, timed_documents
from extract.filtertool.joins.job import JoinJob
from extract.filtertool.joins.joined import Joined
from extract.filtertool.joins.numbering import Arrival, DocumentKey
from extract.filtertool.joins.shares import of_share, share_of
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
SHARED: Final = pa.schema([("share", _NUMBER), ("clock", _NUMBER), ("document", pa.binary())])
PLACES: Final = ("stage", "trigger", "order", "left_clock", "right_clock", "rank")
RESULTS: Final = pa.schema(
    [
        ("query", _TEXT),
        ("left", _TEXT),
        ("right", _TEXT),
        *[(name, _NUMBER) for name in ("left_seq", "right_seq", "left_time", "right_time")],
        ("bindings", pa.map_(_TEXT, _TEXT)),
        ("output", _TEXT),
        ("rejection", pa.struct(list(REJECTED))),
    ]
)
JOINED: Final = pa.schema([*[(name, _NUMBER) for name in PLACES], ("publish", _TEXT), *RESULTS])
_DOCUMENT, _ROW = 0, 1  # what a row of `SHARED` has that chains go through
_ROWS, _SIZE = 1_000, 4 << 20  # of a record batch, about

_loaded: dict[str, ValueJoins] = {}  # the joins of the last job


class TimeOfDocuments(NamedTuple):
    """How to find the time of a document: see `extract.filtertool.joins.inputs.in_order`."""

    time: str
    namespaces: dict[str, str]


def joins_of(key: str, job: JoinJob) -> ValueJoins:
    """Returns the joins of a job; made once in a process."""
    if key not in _loaded:
        gc.unfreeze()
        _loaded.clear()
        _loaded[key] = ValueJoins(job)
        gc.freeze()  # else each collection goes through all queries
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
            yield number, 0, stream, document_name(name), None, True, why, None
        else:
            row = read_document(joins, limits, (number, 0), JoinInput(stream, name, content, None))
            yield (*row[:4], moment, *row[5:])


def read_document(
    joins: ValueJoins, limits: Limits, key: DocumentKey, one: JoinInput
) -> tuple[Any, ...]:
    """Returns the row of `READ` of a document: what queries need of it, or why it is rejected."""
    stream, name, given, time = one
    moment = None if time is None else microseconds(time)
    try:
        data = _load(given, name, limits)
        document = JoinDocument(stream, name, moment or 0, 0, 0, -1, False, data)
        rejections = joins.read(document)
    except DocumentError as error:
        place = error.offset if error.offset >= 0 else None
        why = Rejection(name, None, "read", error.reason, error.line or None, place)
        return *key, stream, document_name(name), moment, True, pickle.dumps([why]), None
    content = pickle.dumps(document, pickle.HIGHEST_PROTOCOL) if document.links else None
    shown = document_name(name)
    return *key, stream, shown, moment, False, pickle.dumps(rejections), content


def _load(given: Document, name: str, limits: Limits) -> bytes:
    with open_source(given, name, limits) as source:
        data = source.load(limits.whole_bytes)
    if data is None:
        raise DocumentError(limits.passed("whole_bytes"), file=name)
    return bytes(data)


def shared_rows(
    joins: ValueJoins,
    arrivals: Mapping[DocumentKey, Arrival],
    shares: Sequence[int],
    batches: Iterator[Any],
) -> Iterator[tuple[Any, ...]]:
    """Yields a row of `SHARED` for each document and share of values in which it may be joined.

    Args:
        joins: The queries.
        arrivals: The numbers of documents that were accepted.
        shares: What each share is called.
        batches: Rows of `READ`.
    """
    for document, arrival in _accepted(arrivals, batches):
        numbers = {share_of(key, len(shares)) for key in joins.keys(document, joins.first)}
        if numbers:
            whole = pickle.dumps((document, arrival), pickle.HIGHEST_PROTOCOL)
            for number in numbers:
                yield shares[number], arrival.clock, whole


def _accepted(
    arrivals: Mapping[DocumentKey, Arrival], batches: Iterator[Any]
) -> Iterator[tuple[JoinDocument, Arrival]]:
    """The documents of rows of `READ` that were accepted, with their numbers."""
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in ("file", "item", "document")]
        for file, item, content in zip(*columns, strict=True):
            arrival = arrivals.get((file, item))
            if arrival is not None and content is not None:
                document: JoinDocument = pickle.loads(content)
                arrival.number(document)
                yield document, arrival


def joined_rows(
    joins: ValueJoins, shares: Sequence[int], batches: Iterator[Any]
) -> Iterator[tuple[Any, ...]]:
    """Yields a row of `JOINED` for each row or rejection; batches are sorted by share and clock."""
    for share, documents in groupby(_shared(batches), itemgetter(0)):
        joins.begin()
        mine = of_share(shares.index(share), len(shares))
        for _, _, content in documents:
            document, arrival = pickle.loads(content)
            for placed in joins.go_on(document, arrival, joins.first, mine):
                yield joined_row(0, placed)


def _shared(batches: Iterator[Any]) -> Iterator[tuple[int, int, bytes]]:
    """The rows of `SHARED`."""
    names = ("share", "clock", "document")
    for batch in batches:
        yield from zip(*[batch.column(name).to_pylist() for name in names], strict=True)


def later_documents(
    joins: ValueJoins, arrivals: Mapping[DocumentKey, Arrival], batches: Iterator[Any]
) -> Iterator[tuple[Any, ...]]:
    """Yields a row of `SHARED` for each document that queries of `ValueJoins.later` may join."""
    for document, arrival in _accepted(arrivals, batches):
        if joins.keys(document, joins.later):
            yield _DOCUMENT, arrival.clock, pickle.dumps(document, pickle.HIGHEST_PROTOCOL)


def published_rows(joins: ValueJoins, batches: Iterator[Any]) -> Iterator[tuple[Any, ...]]:
    """Yields a row of `SHARED` for each row of `JOINED` that publishes what a query reads."""
    for batch in batches:
        for row in batch.to_pylist():
            if row["publish"] and joins.reads(row["publish"]):
                joined = Joined(**{name: row[name] for name in Joined.__annotations__})
                joined = joined._replace(bindings=dict(joined.bindings))
                trigger, order, left, right, rank = (row[name] for name in PLACES[1:])
                placed = PlacedRow(trigger, order, left, right, rank, row["publish"], joined)
                yield _ROW, trigger, pickle.dumps(placed, pickle.HIGHEST_PROTOCOL)


def followed_rows(
    joins: ValueJoins,
    limits: Limits,
    arrivals: Sequence[tuple[str, Arrival]],
    batches: Iterator[Any],
) -> Iterator[tuple[Any, ...]]:
    """Yields a row of `JOINED` for what follows from published documents.

    Args:
        joins: The queries.
        limits: How many documents one may lead to.
        arrivals: The streams and numbers of all documents that were accepted, by their clocks.
        batches: What `later_documents` and `published_rows` made, sorted by clock.
    """
    joins.begin()
    chain = ChainJoins(joins, joins.later, 0, {}, limits)
    told = count()
    come = 0
    for clock, some in groupby(_shared(batches), itemgetter(1)):
        document: JoinDocument | None = None
        found: list[PlacedRow] = []
        for kind, _, content in some:
            if kind == _DOCUMENT:
                document = pickle.loads(content)
            else:
                found.append(pickle.loads(content))
        for stream, arrival in arrivals[come : clock + 1]:
            joins.times.accept(stream, arrival.time)
        come = clock + 1
        result = chain.follow(stream, document, arrival, found)
        first = {id(one.row) for one in found}
        rows: list[Joined | Rejection] = [*result.rows, *result.rejections]
        for row in rows:
            if id(row) not in first:
                yield joined_row(1, PlacedRow(clock, next(told), -1, -1, -1, "", row))


def joined_row(stage: int, placed: PlacedRow) -> tuple[Any, ...]:
    """Returns the row of `JOINED` of a row or rejection."""
    *place, publish, row = placed
    return stage, *place, publish, *joined_values(row)


def joined_values(row: Joined | Rejection) -> tuple[Any, ...]:
    """Returns the row of `RESULTS` of a row or rejection."""
    row = row.in_rows()
    if isinstance(row, Joined):
        return *row[:7], list(row.bindings.items()), row.output, None
    return *[None] * 9, row._asdict()


def rejection_row(one: Rejection) -> tuple[Any, ...]:
    """Returns the row of `JOINED` of a rejection that has no place."""
    return 0, *[-1] * 5, "", *joined_values(one)


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
