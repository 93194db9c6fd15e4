"""From documents that were found to what was found in them, batch by batch. No pyspark here.

What is wrong with a document is in its result. A document that kills workers is found out by those
that come after them: they give every document a process of its own.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeVar
from uuid import uuid4

from extract.chunktool.source import Document
from extract.errors import DocumentError
from extract.filtertool.guard import guarded
from extract.filtertool.job import Job
from extract.filtertool.outcome import DocumentOutcome
from extract.filtertool.spark.isolation import SUSPICIOUS, one_by_one
from extract.filtertool.spark.keeping import Kept, divided
from extract.filtertool.spark.locations import (
    Bytes,
    Listed,
    Remote,
    is_uri,
    packed,
    unpack_into,
)
from extract.filtertool.survey import PIECE_BYTES, Survey, survey

BATCH_BYTES: Final = 1 << 22
BATCH_DOCUMENTS: Final = 256

Named = tuple[str, Document]

_T = TypeVar("_T", Listed, Named)


def located(documents: Iterable[Listed]) -> list[Named]:
    """Documents with their names: small ones themselves, others to be opened when they are read."""
    return [(one.name, _document(one)) for one in documents]


def _document(listed: Listed) -> Document:
    if is_uri(listed.name) and not listed.path:
        return Remote(listed.name)
    path = listed.path or listed.name
    if listed.size <= BATCH_BYTES:  # in one go, for windows are made for larger ones
        with contextlib.suppress(OSError, ValueError), open(path, "rb", buffering=0) as file:
            return file.readall()
    return path  # and if it could not be opened, that is found out once more, and told


def batches(
    documents: Iterable[tuple[str, memoryview]], most: int = BATCH_BYTES
) -> Iterator[list[tuple[str, memoryview]]]:
    """Documents in batches, by number and by bytes."""
    batch: list[tuple[str, memoryview]] = []
    filled = 0
    for name, document in documents:
        if batch and (len(batch) >= BATCH_DOCUMENTS or filled + len(document) > most):
            yield batch
            batch, filled = [], 0
        batch.append((name, document))
        filled += len(document)
    if batch:
        yield batch


def filtered(
    kept: Kept,
    batch: Sequence[_T],
    opened: Callable[[Iterable[_T]], Sequence[Named]],
    attempt: int = 0,
) -> Iterator[DocumentOutcome]:
    """Filters a batch of documents.

    Args:
        kept: The filter.
        batch: The documents.
        opened: Makes them documents that can be read, such as `located`.
        attempt: How often it was tried before. If others died of it, every document gets a process
            of its own, and the one that kills it is rejected.
    """
    limits = kept.filter.options.limits

    def alone(one: _T) -> DocumentOutcome:
        return _processed(kept, opened([one]))[0]

    if attempt >= SUSPICIOUS:
        yield from one_by_one(batch, alone, lambda one: one[0], limits)
    else:
        with guarded(limits):
            done = _processed(kept, opened(batch))
        yield from done


def _processed(kept: Kept, batch: Sequence[Named]) -> list[DocumentOutcome]:
    with contextlib.ExitStack() as stack:
        for _, document in batch:
            if isinstance(document, Remote):
                stack.callback(document.close)
        return kept.filter.process(batch)


class Seen(NamedTuple):
    """What is known of a large document.

    Attributes:
        survey: Whether it keeps to the schema, and where it may be cut.
        path: Where it is to be read, if not where it was: unpacked.
        unread: Why it could not be read or unpacked; empty if it could, whatever it says.
    """

    survey: Survey
    path: str = ""
    unread: str = ""


def survey_document(
    key: str,
    job: Job,
    listed: Listed,
    directory: str,
    size: int = PIECE_BYTES,
    quick: bool = False,
) -> Seen:
    """Looks where a large document may be cut.

    Whatever is wrong with it is found again, and told, where it is filtered.

    Args:
        key: Tells jobs apart.
        job: The job.
        listed: The document.
        directory: Where there is room for a copy, if the document is packed.
        size: About how many bytes a piece has.
        quick: Do not look into records.
    """
    division, options = divided(key, job), job.options
    path = ""
    try:
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
                quick=quick,
                limits=options.limits,
            )
    except OSError as error:
        return Seen(Survey(0, ()), unread=str(error.strerror or error))
    except DocumentError as error:
        unread = error.reason if isinstance(error.__cause__, OSError) else ""
        return Seen(Survey(0, ()), unread=unread)
    return Seen(found, path if found.conforming else "")
