"""Filters a batch of documents in a Spark worker.

An error in a document is in its outcome. When a document kills workers, later attempts at the task
filter every document in a process of its own, and so identify it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from extract.chunktool.input.find import InputFile
from extract.chunktool.input.messages.read import message_blocks
from extract.chunktool.input.remote import RemoteFile, document_of
from extract.chunktool.input.source import Document
from extract.filtertool.batching import BATCH_BYTES
from extract.filtertool.isolated_documents import process_isolated
from extract.filtertool.processes.guard import guarded
from extract.filtertool.processes.isolation import SUSPICIOUS
from extract.filtertool.results.batch_outcome import FilterOutcome
from extract.filtertool.spark.worker.filter_cache import CachedFilter

NamedDocument = tuple[str, Document]

_T = TypeVar("_T", InputFile, NamedDocument)


def open_documents(documents: Iterable[InputFile]) -> list[NamedDocument]:
    """Returns documents with their names: small ones as bytes, others to be opened when read."""
    return [(document.name, _open(document)) for document in documents]


def _open(document: InputFile) -> Document:
    if not document.is_remote and document.size <= BATCH_BYTES:
        # In one read, because windows are made for larger documents. If the file cannot be opened,
        # the filter tries again, and reports the error.
        with contextlib.suppress(OSError, ValueError), open(document.place, "rb", 0) as file:
            return file.readall()
    return document_of(document)


def filter_files(
    cached: CachedFilter, batch: Sequence[InputFile], attempt: int = 0
) -> Iterator[FilterOutcome]:
    """Filters the documents of a batch of files, or the messages of one file.

    Args:
        cached: The filter.
        batch: Files of one document each, or one file of many.
        attempt: As for `filter_batch`.
    """
    if batch[0].messages is None:
        yield from filter_batch(cached, batch, open_documents, attempt)
        return
    for file in batch:
        for block in message_blocks(file, cached.filter.options.limits):
            yield from filter_batch(cached, block.documents(), list, attempt)


def filter_batch(
    cached: CachedFilter,
    batch: Sequence[_T],
    open_batch: Callable[[Iterable[_T]], Sequence[NamedDocument]],
    attempt: int = 0,
) -> Iterator[FilterOutcome]:
    """Filters a batch of documents.

    Args:
        cached: The filter.
        batch: The documents.
        open_batch: Makes documents that can be read, such as `open_documents`.
        attempt: The number of earlier attempts. If they died, every document gets a process of its
            own, and the one that kills it is rejected.
    """
    limits = cached.filter.options.limits

    def process(document: _T) -> FilterOutcome:
        return _process(cached, open_batch([document]))[0]

    if attempt >= SUSPICIOUS:
        yield from process_isolated(batch, process, lambda document: document[0], limits)
    else:
        with guarded(limits):
            done = _process(cached, open_batch(batch))
        yield from done


def _process(cached: CachedFilter, batch: Sequence[NamedDocument]) -> Sequence[FilterOutcome]:
    with contextlib.ExitStack() as stack:
        for _, document in batch:
            if type(document) is RemoteFile:  # isinstance is slow for it, and messages are many
                stack.callback(document.close)
        return cached.filter.process(batch)
