"""What becomes of documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from extract.errors import DocumentError
from extract.filtertool.results import Findings
from extract.filtertool.seconds import Seconds


class Rejection(NamedTuple):
    """A document that was not processed, or a query that was not evaluated on one.

    Attributes:
        document: The document; None for a query that was never evaluated.
        query: Id of the subscription; None for a document.
        stage: ``prepare``, ``chunk`` or ``filter``.
        reason: Why.
        line: Line of the document, or of the query file; None if unknown.
        offset: Byte of the document, or character of the XPath; None if unknown.
    """

    document: str | None
    query: str | None
    stage: str
    reason: str
    line: int | None = None
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """What one chunk of a document has answered.

    Attributes:
        document: The document's name.
        chunk: The chunk; ``document`` for what was evaluated on all of it.
        weight: How much the subscribers weigh who wait for the chunk.
        seconds: When it was there, from the moment that the document was taken up.
        findings: What was found for queries that no later chunk can add to.
        rejections: Those of them that could not be evaluated.
    """

    document: str
    chunk: str
    weight: float
    seconds: float
    findings: Findings
    rejections: tuple[Rejection, ...] = ()


@dataclass(frozen=True, slots=True)
class Processed:
    """What became of one document.

    Attributes:
        document: Its name.
        fate: ``conforming``; ``nonconforming`` or ``whole``: evaluated as a whole, because it
            breaks the schema or could not be cut; or ``rejected``.
        findings: What was found.
        rejections: The document, or queries that could not be evaluated on it.
        nonconforming: Whether it breaks the schema, be it rejected or not.
        bytes: Its size; 0 if unknown.
        scanner: Which scanner did it; empty if none.
        notes: Why it went another way than most; counted in the report.
        seconds: By stage. Of documents in one batch, the first has the time of all.
        error: The error, if it was rejected.
        worker: The process that did it.
        figures: What the matchers of this process say of their work so far; only with the last
            document of a batch.
        delivered: When the answers of each chunk were there: seconds from the moment that the
            document was taken up.
    """

    document: str
    fate: str
    findings: Findings
    rejections: tuple[Rejection, ...] = ()
    nonconforming: bool = False
    bytes: int = 0
    scanner: str = ""
    notes: tuple[str, ...] = ()
    seconds: Seconds = field(default_factory=Seconds)
    error: DocumentError | None = None
    worker: int = 0
    figures: Mapping[str, float] = field(default_factory=dict)
    delivered: Mapping[str, float] = field(default_factory=dict)
