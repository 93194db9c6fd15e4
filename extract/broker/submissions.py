"""Documents that clients send: checked, numbered, and written as one block for each feed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from extract.broker.bodies import DocumentReceipt
from extract.broker.problems import Problem, not_found
from extract.broker.store import documents as document_rows
from extract.broker.store import idempotency
from extract.broker.store import notifications as notification_rows
from extract.broker.store.rows import ArrivedBlock, ArrivedDocument, RejectionRow

if TYPE_CHECKING:
    from extract.broker.journal import Transaction

Refusals = dict[int, DocumentReceipt]  # by the place in the list of documents
Check = Callable[[Sequence[ArrivedDocument]], tuple[Refusals, dict[int, int]]]

_answers = msgspec.json.Decoder(list[DocumentReceipt])
_NOTED: Final = 100  # refusals that are kept of one transaction
_encode = msgspec.json.Encoder().encode


class Reply(Protocol):
    """Who waits for an answer in an event loop: a future, or a request that is answered at once."""

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """The loop; everything else is called there."""
        ...

    def done(self) -> bool:
        """Whether nobody waits any more."""
        ...

    def set_result(self, result: Any, /) -> None:
        """Takes the answer."""
        ...

    def set_exception(self, exception: Exception, /) -> None:
        """Takes a `Problem`."""
        ...


@dataclass(slots=True)
class Submission:
    """Documents of one request.

    Attributes:
        feed: The name of the feed.
        documents: The documents.
        size: Their bytes.
        check: Finds those that cannot be taken; None if that is done.
        refusals: Those that cannot be taken.
        owner: The client.
        key: Its ``Idempotency-Key``; empty for none.
        fingerprint: Of the request, to tell it from others with its key.
        reply: Who waits; gets a receipt for each document.
        written: How many documents were written, and
        written_bytes: how large they are together.
    """

    feed: str
    documents: list[ArrivedDocument]
    size: int
    check: Check | None
    refusals: Refusals
    owner: str
    key: str
    fingerprint: bytes
    reply: Reply | None
    outcome: Any = None
    written: int = 0
    written_bytes: int = 0


def write_submissions(
    submissions: Sequence[Submission], transaction: Transaction
) -> list[ArrivedBlock]:
    """Writes documents, those of a feed as one block, and returns the blocks.

    The outcome of each submission is a receipt for each of its documents, or a `Problem`.
    """
    feeds: dict[str, list[Submission]] = {}
    repeated: list[Submission] = []
    keys: set[tuple[str, str]] = set()
    for one in submissions:
        if one.key:
            if (one.owner, one.key) in keys:  # behind the first one, whose answer is not yet there
                repeated.append(one)
                continue
            keys.add((one.owner, one.key))
            if _answered_before(one, transaction):
                continue
        feeds.setdefault(one.feed, []).append(one)
    blocks = []
    for name, some in feeds.items():
        block = _write_block(name, some, transaction)
        if block is not None:
            blocks.append(block)
    for one in repeated:
        if not _answered_before(one, transaction):
            one.outcome = Problem(409, "a request with this Idempotency-Key failed just now")
    return blocks


def _answered_before(one: Submission, transaction: Transaction) -> bool:
    """Whether the same request was answered already; then it gets the same answer."""
    row = idempotency.find(transaction.connection, one.owner, one.key)
    if row is None:
        return False
    fingerprint, answer = row
    if fingerprint != one.fingerprint:
        hint = "use a new key for each request; repeat one only with the same body"
        one.outcome = Problem(422, "the Idempotency-Key was used for another request", hint)
    else:
        one.outcome = _answers.decode(answer)
    return True


def _write_block(
    name: str, submissions: Sequence[Submission], transaction: Transaction
) -> ArrivedBlock | None:
    registry = transaction.registry
    feed = registry.feeds.get(name)
    if feed is None:
        for one in submissions:
            one.outcome = not_found("feed")
        return None
    _check_together(submissions)
    accepted: list[ArrivedDocument] = []
    number = feed.next_number
    for one in submissions:
        refusals = one.refusals
        receipts = []
        for place, document in enumerate(one.documents):
            if place in refusals:
                receipts.append(refusals[place])
                continue
            receipt = DocumentReceipt(document.name, 202, number, name)
            if document.schema:
                receipt.schema = document.schema
            receipts.append(receipt)
            accepted.append(document)
            one.written += 1
            one.written_bytes += len(document.content)
            number += 1
        one.outcome = receipts
        if one.key:
            answer = _encode(receipts)
            row = (one.owner, one.key, one.fingerprint, answer, transaction.now)
            idempotency.remember(transaction.connection, row)
            registry.idempotency_bytes += len(answer) + len(one.key) + idempotency.OVERHEAD
    _note_refusals(feed.key, submissions, transaction)
    if not accepted:
        return None
    registry.position += 1
    block = ArrivedBlock(
        registry.position,
        feed.key,
        registry.revision,
        transaction.now,
        feed.next_number,
        accepted,
    )
    document_rows.add_block(transaction.connection, block)
    transaction.now += len(accepted)
    registry.last_time = transaction.now
    feed.next_number = number
    return block


def _note_refusals(feed: int, submissions: Sequence[Submission], transaction: Transaction) -> None:
    """Keeps the reasons of some refusals, for who looks at the feed; the client has them all."""
    receipts = [one for some in submissions for one in some.refusals.values()]
    rows = [
        RejectionRow(
            feed,
            one.name,
            "",
            "document",
            str(one.reason or ""),
            one.line if isinstance(one.line, int) else 0,
            one.column if isinstance(one.column, int) else 0,
            transaction.now,
        )
        for one in receipts[-_NOTED:]
    ]
    if rows:
        notification_rows.add_rejections(transaction.connection, rows)


def _check_together(submissions: Sequence[Submission]) -> None:
    """Checks small documents of many requests in one call."""
    unchecked = [one for one in submissions if one.check is not None]
    if not unchecked:
        return
    check = unchecked[0].check
    assert check is not None
    places = [(one, place) for one in unchecked for place in range(len(one.documents))]
    refusals, kept = check([one.documents[place] for one, place in places])
    for at, refusal in refusals.items():
        one, place = places[at]
        one.refusals[place] = refusal
    for at, version in kept.items():
        one, place = places[at]
        one.documents[place] = one.documents[place]._replace(schema=version)
