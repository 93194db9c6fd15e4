"""Reads the values of documents in a Spark worker, into Parquet files that Spark SQL joins."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from extract.chunktool.input.find import InputFile
from extract.chunktool.input.messages.read import message_blocks
from extract.filtertool.loaded_batch import LoadedBatch, NamedDocument
from extract.filtertool.matchers.sql.document_values import DocumentValues
from extract.filtertool.matchers.sql.plan import SqlPlan
from extract.filtertool.matchers.sql.value_scan import ReadValues
from extract.filtertool.spark.worker.documents import open_documents
from extract.limits import Limits

MOST_BYTES: Final = 1 << 28  # of a document whose values are read


class ValueJob(NamedTuple):
    """What workers read.

    Attributes:
        key: Identifies the job.
        plan: What the values are for.
        satisfiable: The templates that may match a document that keeps to the schema.
        limits: How large documents may be.
        directory: Where the files go.
    """

    key: str
    plan: SqlPlan
    satisfiable: tuple[int, ...]
    limits: Limits
    directory: str


class ValueFile(NamedTuple):
    """A file of values.

    Attributes:
        shape: The number of the shape among those of the plan.
        lists: Sources whose columns have lists.
        path: The file.
    """

    shape: int
    lists: frozenset[int]
    path: str


_readers: dict[str, DocumentValues] = {}


def write_values(
    job: ValueJob, files: Sequence[InputFile]
) -> tuple[list[ValueFile], list[InputFile]]:
    """Writes the values of documents, or of the messages of files.

    Returns:
        The files of values, and the input files with a document whose values cannot be read.
    """
    if job.key not in _readers:
        _readers.clear()
        _readers[job.key] = DocumentValues(job.plan, job.satisfiable, job.limits)
    reader = _readers[job.key]
    written: list[ValueFile] = []
    unread: dict[str, InputFile] = {}
    for documents, sources in _batches(files, job.limits):
        batch = LoadedBatch(documents, MOST_BYTES, job.limits)
        missed = set(batch.large)
        found = reader.conforming(batch.loaded)
        written += _written(job, found)
        odd = np.flatnonzero(found.done != 1)
        if len(odd):
            more = reader.any([batch.loaded[number] for number in odd.tolist()])
            missed.update(batch.places[odd[more.done < 0]].tolist())
            written += _written(job, more)
        batch.close()
        for place in missed:
            source = sources[place % len(sources)]
            unread[source.name] = source
    return written, list(unread.values())


def _batches(
    files: Sequence[InputFile], limits: Limits
) -> Iterator[tuple[Sequence[NamedDocument], Sequence[InputFile]]]:
    """Documents that are read together, with the file of each, or the one file of all."""
    plain = [file for file in files if file.messages is None]
    if plain:
        yield open_documents(plain), plain
    for file in files:
        if file.messages is not None:
            for block in message_blocks(file, limits):
                yield block.documents(), [file]


def _written(job: ValueJob, values: ReadValues) -> Iterator[ValueFile]:
    from pyarrow import parquet

    numbers: dict[Any, int] = {shape: n for n, shape in enumerate(job.plan.shapes)}
    for shape, batch in values.batches.items():
        path = str(Path(job.directory) / f"{uuid.uuid4().hex}.parquet")
        parquet.write_table(batch.table, path)
        yield ValueFile(numbers[shape], batch.lists, path)
