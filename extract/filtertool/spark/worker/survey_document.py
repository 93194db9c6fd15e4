"""Surveys a large document in a Spark worker: where it can be cut, and its unpacked copy."""

from __future__ import annotations

import os
from typing import NamedTuple
from uuid import uuid4

from extract.chunktool.input.find import InputFile
from extract.chunktool.input.remote import RangeReader, document_of, is_packed, unpack_into
from extract.chunktool.split.survey import PIECE_BYTES, Survey, survey
from extract.errors import DocumentError
from extract.filtertool.job import Job
from extract.filtertool.spark.worker.filter_cache import cached_division


class DocumentSurvey(NamedTuple):
    """The survey of a large document.

    Attributes:
        survey: Whether the document keeps to the schema, and where it may be cut.
        path: The path of the unpacked copy, if the document is compressed.
        unreadable: Why it could not be read or unpacked; empty if it could.
    """

    survey: Survey = Survey(0, ())
    path: str = ""
    unreadable: str = ""


def survey_document(
    key: str,
    job: Job,
    document: InputFile,
    directory: str,
    size: int = PIECE_BYTES,
    skip_records: bool = False,
) -> DocumentSurvey:
    """Finds where a large document may be cut.

    Errors in the document are ignored: they are found again, and reported, when it is filtered.

    Args:
        key: Identifies the job.
        job: The job.
        document: The document.
        directory: A directory for the unpacked copy, if the document is compressed.
        size: The approximate size of a piece in bytes.
        skip_records: Do not check inside records.
    """
    options, path = job.options, ""
    try:
        if is_packed(document):
            path = os.path.join(directory, f"unpacked-{uuid4().hex}")
            unpack_into(document, path, options.limits)
            document = document._replace(path=path)
        with RangeReader(document) as reader:
            result = survey(
                job.scheme,
                cached_division(key, job),
                document_of(document),
                reader.read,
                document.name,
                size=size,
                assume_valid=options.assume_valid,
                skip_records=skip_records,
                limits=options.limits,
            )
    except OSError as error:
        return DocumentSurvey(unreadable=str(error.strerror or error))
    except DocumentError as error:
        return DocumentSurvey(unreadable=error.reason if _is_unreadable(error) else "")
    return DocumentSurvey(result, path if result.conforming else "")


def _is_unreadable(error: DocumentError) -> bool:
    return isinstance(error.__cause__, OSError)
