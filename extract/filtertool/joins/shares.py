"""Shares of the join values: what one of several processes does.

Each value is of one share. A document goes to the shares of the values at which queries may join
it, and two documents are joined in that of the first value that they have in common.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from extract.chunktool.input.source import open_source
from extract.errors import DocumentError
from extract.filtertool.joins.by_value import PlacedRow, ValueJoins
from extract.filtertool.joins.documents import JoinDocument
from extract.filtertool.joins.inputs import JoinInput
from extract.filtertool.joins.job import JoinJob
from extract.filtertool.joins.joined import JoinState
from extract.filtertool.joins.numbering import Arrival
from extract.filtertool.joins.room import StateLimit
from extract.filtertool.results.outcome import Rejection


def share_of(key: bytes, shares: int) -> int:
    """Returns the number of the share that a value is of."""
    return int.from_bytes(key[-4:], "big") % shares


def of_share(share: int, shares: int) -> Callable[[bytes], bool]:
    """Returns what tells whether a value is of a share."""
    return lambda key: share_of(key, shares) == share


class ReadDocument(NamedTuple):
    """A document that was read.

    Attributes:
        stream: Its stream.
        failed: Whether it is rejected as a whole.
        rejections: Why; or queries with a pattern that cannot be evaluated.
        shares: The numbers of the shares that it goes to.
        content: The document with its witnesses, pickled; None if no query needs it.
    """

    stream: str
    failed: bool
    rejections: Sequence[Rejection]
    shares: frozenset[int] = frozenset()
    content: bytes | None = None


class ShareAnswer(NamedTuple):
    """What documents lead to in one share.

    Attributes:
        rows: Rows and rejections of queries that read input streams.
        state: What is kept.
    """

    rows: list[PlacedRow]
    state: JoinState


class JoinShare:
    """One share of all values, and the reading of any documents.

    Args:
        job: The queries.
        shares: How many shares there are.
        limit: How much memory the documents of this share may take.
    """

    def __init__(self, job: JoinJob, shares: int, limit: StateLimit | None = None) -> None:
        self._joins = ValueJoins(job, limit)
        self._limits = job.limits
        self._shares = shares

    def read(self, documents: Iterable[JoinInput]) -> list[ReadDocument]:
        """Finds the witnesses of documents."""
        return [self._read(one) for one in documents]

    def _read(self, one: JoinInput) -> ReadDocument:
        name = one.name
        try:
            with open_source(one.document, name, self._limits) as source:
                data = source.load(self._limits.whole_bytes)
            if data is None:
                raise DocumentError(self._limits.passed("whole_bytes"), file=name)
            document = JoinDocument(one.stream, name, 0, 0, 0, -1, False, bytes(data))
            rejections = self._joins.read(document)
        except DocumentError as error:
            place = error.offset if error.offset >= 0 else None
            why = Rejection(name, None, "read", error.reason, error.line or None, place)
            return ReadDocument(one.stream, True, [why])
        keys = self._joins.keys(document, self._joins.first)
        shares = frozenset([share_of(key, self._shares) for key in keys])
        content = pickle.dumps(document, pickle.HIGHEST_PROTOCOL) if document.links else None
        return ReadDocument(one.stream, False, rejections, shares, content)

    def keep(self, share: int, documents: Iterable[bytes]) -> None:
        """Keeps those documents of a state that was saved that have values of the share."""
        for content in documents:
            document: JoinDocument = pickle.loads(content)
            self._joins.read(document)
            keys = self._joins.keys(document, self._joins.first)
            if share in {share_of(key, self._shares) for key in keys}:
                self._joins.keep(document)

    def join(self, share: int, documents: Iterable[tuple[bytes, Arrival]]) -> ShareAnswer:
        """Joins documents, in the order of their arrival, with all earlier ones."""
        rows: list[PlacedRow] = []
        mine = of_share(share, self._shares)
        for content, arrival in documents:
            document: JoinDocument = pickle.loads(content)
            arrival.number(document)
            rows += self._joins.go_on(document, arrival, self._joins.first, mine)
        return ShareAnswer(rows, self._joins.state)

    def needed(self) -> list[JoinDocument]:
        """Returns the documents that later ones may still join."""
        return [one.bare() for one in self._joins.needed()]
