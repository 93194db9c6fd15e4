"""The outcome of one document: its findings, its rejections, or the error that stopped it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from extract.chunktool.file_names import document_name
from extract.errors import DocumentError
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.seconds import Seconds
from extract.limits import GivenUp

COST: Final = "cost"
"""The stage of a query that was given up on a document: it took more than its limits allow."""


class Rejection(NamedTuple):
    """A document that was not processed, or a query that was not evaluated on one.

    Attributes:
        document: The document; None for a query that was never evaluated.
        query: Id of the subscription; None for a document.
        stage: ``find``, ``prepare``, ``chunk``, ``filter`` or, of a query that took more than it
            may, ``cost``.
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

    def in_rows(self, xml: bool = False) -> Rejection:
        """Returns the rejection as rows have it: its document has the name of `document_name`."""
        if self.document is None:
            return self
        return self._replace(document=document_name(self.document, xml))

    @classmethod
    def of_query(cls, document: str, query: str, reason: str) -> Rejection:
        """Returns the rejection of a query that could not be evaluated on a document.

        >>> Rejection.of_query("m1", "q", GivenUp("it took too long")).stage
        'cost'
        """
        stage = COST if isinstance(reason, GivenUp) else "filter"
        return cls(document, query, stage, reason)


@dataclass(frozen=True, slots=True)
class ChunkOutcome:
    """The outcome of one chunk of a document, as soon as the chunk is evaluated.

    Attributes:
        document: The document's name.
        chunk: The chunk; ``document`` for queries that were evaluated on the whole document.
        weight: The weight of the subscribers who wait for the chunk.
        seconds: When the answers were ready, from the moment that the document was opened.
        findings: The rows of queries that no later chunk can add to.
        rejections: Those of these queries that could not be evaluated.
    """

    document: str
    chunk: str
    weight: float
    seconds: float
    findings: Findings
    rejections: tuple[Rejection, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentOutcome:
    """The outcome of one document.

    Attributes:
        document: The document's name.
        fate: ``conforming``; ``nonconforming`` or ``whole``: evaluated as a whole, because it
            breaks the schema or could not be cut; or ``rejected``.
        findings: The rows of all queries.
        rejections: The document, or queries that could not be evaluated on it.
        nonconforming: Whether it breaks the schema, be it rejected or not.
        bytes: Its size; 0 if unknown.
        scanner: The scanner that read it; empty if none did.
        notes: Why it went another way than most; counted in the report.
        seconds: Time by stage. Of documents in one batch, the first has the time of all.
        error: The error, if it was rejected.
        worker: The process that filtered it.
        figures: What the matchers of this process report of their work so far; only with the last
            document of a batch.
        answer_seconds: By chunk, when its answers were ready: seconds from the moment that the
            document was opened.
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
    answer_seconds: Mapping[str, float] = field(default_factory=dict)
