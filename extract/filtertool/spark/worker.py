"""What runs in Spark's Python workers. Nothing here imports pyspark.

A worker process lives through many tasks. What it made from a scheme, it keeps.
"""

from __future__ import annotations

import contextlib
import gc
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple, cast
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from extract.chunktool.source import Document
from extract.errors import DocumentError
from extract.filtertool.account import Account, added
from extract.filtertool.arrow import SCHEMAS, printable, record_batches
from extract.filtertool.filtering import DocumentFilter
from extract.filtertool.guard import guarded
from extract.filtertool.local import Job
from extract.filtertool.matcher import Select
from extract.filtertool.memory import keep_memory
from extract.filtertool.piecewise import PieceBytes, PieceFilter
from extract.filtertool.processed import Processed
from extract.filtertool.records import Division, divide
from extract.filtertool.spark.isolation import one_by_one
from extract.filtertool.spark.locations import (
    Bytes,
    Listed,
    Remote,
    is_uri,
    packed,
    unpack_into,
)
from extract.filtertool.spark.parcels import ParcelWriter
from extract.filtertool.spark.planning import Task
from extract.filtertool.spark.resuming import Done, note, stamps
from extract.filtertool.spark.shares import scheme_of, shares
from extract.filtertool.survey import PIECE_BYTES, Piece, Survey, survey
from extract.filtertool.writers import Format, Writer, open_writer

_BATCH_BYTES: Final = 1 << 22
_BATCH_DOCUMENTS: Final = 256
_FLUSH_BYTES: Final = 1 << 24  # bytes of rows that go to Spark together
SUSPICIOUS: Final = 2  # attempts, after which the documents are suspected to kill workers
_JOBS: Final = 8  # jobs whose filters a worker keeps; a share of the queries is one

MATCH, REJECTED, ACCOUNT = "match", "rejected", "account"

Batch = Sequence[tuple[str, Document]]


def tagged_schema(select: Select) -> Any:
    """The columns of one evaluation's rows of all kinds; ``kind`` says which are filled."""
    matches = [pa.field(one.name, one.type) for one in SCHEMAS[select]]
    others = [
        ("stage", pa.string()),
        ("reason", pa.string()),
        ("line", pa.int64()),
        ("offset", pa.int64()),
        ("fate", pa.string()),
        ("bytes", pa.int64()),
        ("rows", pa.int64()),
    ]
    return pa.schema([pa.field("kind", pa.string(), nullable=False), *matches, *others])


@dataclass(frozen=True, slots=True)
class Kept:
    """What a worker made from a job."""

    key: tuple[str, tuple[int, ...], bool]
    filter: DocumentFilter
    ids: tuple[str, ...]


_kept: list[Kept] = []
_divisions: dict[str, Division] = {}


def keep(key: str, job: Job, some: tuple[int, ...] = (), pieces: bool = False) -> Kept:
    """The filter for a job; made once in each worker.

    Args:
        key: Tells jobs apart.
        job: The job.
        some: Which shares of the queries; empty for all.
        pieces: Whether it is to filter pieces of documents.
    """
    kept = known(key, some, pieces)
    if kept is not None:
        return kept
    keep_memory()
    del _kept[: max(0, len(_kept) - _JOBS + 1)]  # their memory is needed now
    gc.unfreeze()
    made: DocumentFilter
    if some:
        division = divided(key, job)
        every = shares(job.scheme, division)
        job = replace(job, scheme=scheme_of(job.scheme, [every[n] for n in some]))
        if pieces:
            made = PieceFilter(job.scheme, job.factory, job.options, division.names)
        else:
            made = job.filter()
    else:
        made = job.filter()
    ids = tuple([one.id for one in made.plan.subscribers])
    _kept.append(Kept((key, some, pieces), made, ids))
    gc.collect()
    gc.freeze()  # what was just made stays: no need to look at it again and again
    return _kept[-1]


def known(key: str, some: tuple[int, ...] = (), pieces: bool = False) -> Kept | None:
    """The filter for a job, if it was made before."""
    return next((one for one in _kept if one.key == (key, some, pieces)), None)


def divided(key: str, job: Job) -> Division:
    """Which queries of a job can be evaluated on pieces; found out once in each worker."""
    if key not in _divisions:
        _divisions.clear()
        _divisions[key] = divide(job.scheme)
    return _divisions[key]


# -- rows for a DataFrame


def batches(documents: Iterable[tuple[str, Document]]) -> Iterator[list[tuple[str, Document]]]:
    """Documents in batches, by number and by bytes where these are known."""
    batch: list[tuple[str, Document]] = []
    filled = 0
    for name, document in documents:
        size = len(document) if isinstance(document, bytes) else 0
        if batch and (len(batch) >= _BATCH_DOCUMENTS or filled + size > _BATCH_BYTES):
            yield batch
            batch, filled = [], 0
        batch.append((name, document))
        filled += size
    if batch:
        yield batch


def tagged_rows(kept: Kept, documents: Iterable[Batch], select: Select) -> Iterator[Any]:
    """Filters batches of documents; gives record batches of `tagged_schema`."""
    schema = tagged_schema(select)
    ids = pa.array(kept.ids, pa.string())
    waiting: list[Any] = []
    filled = 0
    for batch in documents:
        for done in _processed(kept, batch):
            found = [
                _tagged(MATCH, rows, schema)
                for rows in record_batches(done.document, done.findings, ids, select)
            ]
            others = [_rejected(one._asdict()) for one in done.rejections]
            others.append(_account(done))
            found.append(pa.RecordBatch.from_pylist(others, schema=schema))
            for rows in found:
                if waiting and filled + rows.nbytes > _FLUSH_BYTES:
                    yield _joined(waiting, schema)
                    waiting, filled = [], 0
                waiting.append(rows)
                filled += rows.nbytes
    if waiting:
        yield _joined(waiting, schema)


def matches_of(rows: Any, select: Select) -> Any:
    """The matches among rows of all kinds, in the columns of the contract."""
    schema = SCHEMAS[select]
    found = rows.filter(pc.equal(rows.column("kind"), MATCH))
    return pa.RecordBatch.from_arrays([found.column(one.name) for one in schema], schema=schema)


def _joined(rows: Sequence[Any], schema: Any) -> Any:
    if len(rows) == 1:
        return rows[0]
    (batch,) = pa.Table.from_batches(rows, schema).combine_chunks().to_batches()
    return batch


def _rejected(row: dict[str, Any]) -> dict[str, Any]:
    clean = {k: printable(v) if isinstance(v, str) else v for k, v in row.items()}
    return {"kind": REJECTED, **clean}


def _account(done: Processed) -> dict[str, Any]:
    return {
        "kind": ACCOUNT,
        "document": printable(done.document),
        "fate": done.fate,
        "bytes": done.bytes,
        "rows": len(done.findings),
    }


def _tagged(kind: str, rows: Any, schema: Any) -> Any:
    """Rows of one kind in the columns of all kinds."""
    count = rows.num_rows
    columns = [pa.repeat(kind, count)]
    for field in list(schema)[1:]:
        position = rows.schema.get_field_index(field.name)
        columns.append(rows.column(position) if position >= 0 else pa.nulls(count, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


# -- files for a directory of results


class Written(NamedTuple):
    """What one attempt at a task has written.

    Attributes:
        number: Which task.
        folder: Where, below the directory of all tasks; another attempt has another. None if this
            machine does not see that directory.
        account: What became of the documents.
        rows: Of pieces, for each subscriber how many rows there are.
        torn: Whether pieces did not fit the document any more, so that this counts for nothing.
    """

    number: int
    folder: str | None
    account: Account
    rows: Any = None
    torn: bool = False


def write_results(
    kept: Kept,
    task: Task,
    directory: str,
    form: Format,
    select: Select,
    attempt: int = 0,
    job: str = "",
) -> Written:
    """Filters the documents of a task into files of its own.

    Whatever happens to other attempts at the same task, what the driver hears of is whole.

    Args:
        kept: The filter.
        task: The documents.
        directory: Where all tasks write.
        form: In which format.
        select: What is asked for.
        attempt: How often the task was tried before. If others died of it, every document gets a
            process of its own, and the one that kills it is rejected.
        job: The job's digest, if it may be interrupted and resumed.
    """
    account = Account()
    started = time.perf_counter()
    if not os.path.isdir(directory):
        return Written(task.number, None, account)
    folder = f"{task.number:05d}-{uuid4().hex}"
    target = Path(directory) / folder
    target.mkdir()
    documents = stamps(one for batch in task.batches for one in batch) if job else ()
    before = kept.filter.figures()
    rows = np.zeros(len(kept.ids), np.int64) if task.pieces else None
    torn = False
    writer: Writer
    if form == "xml" or task.pieces:
        writer = ParcelWriter(target, kept.ids)
    else:
        writer = open_writer(target, form, kept.ids, select)
    try:
        for done in _results(kept, task, attempt):
            since = time.perf_counter()
            writer.write(done.document, done.findings)
            writer.reject(done.rejections)
            account.add(done)
            if rows is not None:
                rows += np.bincount(done.findings.subscriber, minlength=len(rows))
                torn = torn or done.fate != "conforming"
            account.seconds.since("write", since)
    finally:
        since = time.perf_counter()
        writer.close()
        account.seconds.since("write", since)
    account.workers = {0: _since(before, kept.filter.figures())}
    account.seconds.since("tasks", started)
    if job and not torn:
        note(target, Done(job, documents, folder, account, task.part, rows))
    return Written(task.number, folder, account, rows, torn)


def _results(kept: Kept, task: Task, attempt: int) -> Iterator[Processed]:
    if task.pieces:
        yield from _pieces(kept, task, attempt)
        return
    limits = kept.filter.options.limits

    def alone(one: Listed) -> Processed:
        return _processed(kept, located([one]))[0]

    for batch in task.batches:
        if attempt >= SUSPICIOUS:
            yield from one_by_one(batch, alone, lambda one: one.name, limits)
        else:
            with guarded(limits):
                done = _processed(kept, located(batch))
            yield from done


def _pieces(kept: Kept, task: Task, attempt: int) -> Iterator[Processed]:
    """What is found on pieces of a document, up to the first that does not fit it any more."""
    ((one,),) = task.batches
    pieces = cast(PieceFilter, kept.filter)

    def process(piece: Piece) -> Processed:
        body = b""  # does not fit
        with contextlib.suppress(OSError, ValueError), Bytes(one) as document:
            body = document.read(piece.start, piece.end)
        return pieces.process_piece(one.name, PieceBytes(piece, body))

    if attempt >= SUSPICIOUS:
        limits = kept.filter.options.limits
        found = one_by_one(task.pieces, process, lambda _: one.name, limits)
    else:
        found = map(process, task.pieces)
    for done in found:
        yield done
        if done.fate != "conforming":
            return


def survey_document(
    key: str, job: Job, listed: Listed, directory: str, size: int = PIECE_BYTES
) -> tuple[Survey, str]:
    """Looks where a large document may be cut.

    Args:
        key: Tells jobs apart.
        job: The job.
        listed: The document.
        directory: Where there is room for a copy, if the document is packed.
        size: About how many bytes a piece has.

    Returns:
        What was found; and where the pieces are to be read, if not from the document.
    """
    division, options = divided(key, job), job.options
    path = ""
    found = Survey(0, ())
    # Whatever is wrong with the document is found again, and told, where it is filtered.
    with contextlib.suppress(DocumentError, OSError):
        if packed(listed):
            path = os.path.join(directory, f"unpacked-{uuid4().hex}")
            unpack_into(listed, path, options.limits)
            listed = listed._replace(path=path)
        with Bytes(listed) as document:
            found = survey(
                job.scheme,
                division,
                _document(listed),
                document.read,
                listed.name,
                size=size,
                assume_valid=options.assume_valid,
                limits=options.limits,
            )
    return found, path


def located(documents: Iterable[Listed]) -> list[tuple[str, Document]]:
    """Documents with their names: small ones themselves, others to be opened when they are read."""
    return [(one.name, _document(one)) for one in documents]


def _document(listed: Listed) -> Document:
    if is_uri(listed.name) and not listed.path:
        return Remote(listed.name)
    path = listed.path or listed.name
    if listed.size <= _BATCH_BYTES:  # in one go, for windows are made for larger ones
        with contextlib.suppress(OSError, ValueError), open(path, "rb", buffering=0) as file:
            return file.readall()
    return path  # and if it could not be opened, that is found out once more, and told


def _processed(kept: Kept, batch: Batch) -> list[Processed]:
    with contextlib.ExitStack() as stack:
        for _, document in batch:
            if isinstance(document, Remote):
                stack.callback(document.close)
        return kept.filter.process(batch)


def _since(before: Any, after: Any) -> dict[str, float]:
    """What a filter has done between two moments; the number of questions stays."""
    past = {k: -number for k, number in before.items() if not k.endswith("_questions")}
    return added([after, past])
