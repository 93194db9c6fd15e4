"""What came of documents, and how many are matched at a time, so that memory stays bounded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from extract.broker.store.rows import RejectionRow, SetAsideRow

BATCH_DOCUMENTS: Final = 5_000
_FIRST_SLICE: Final = 256  # documents, before it is known what they lead to
SLICE_NOTIFICATIONS: Final = 20_000  # that a slice should lead to
PART_BYTES: Final = 16 << 20  # of notifications that are written together
_PART_REJECTIONS: Final = 20_000


@dataclass(slots=True)
class MatchedBatch:
    """What came of the documents up to a position of the log.

    Where they lead to very many notifications, these are written in parts: the last one says that
    the documents are matched. After a crash in between, all of them are told again.

    Attributes:
        position: All documents up to here are matched.
        documents: How many these were.
        size: Their bytes.
        received: When each block of them came, and how many documents it had.
        told: For each subscriber its notifications, each a JSON object without its number.
        told_bytes: Of these notifications.
        rejected: What could not be answered.
        set_aside: Subscriptions that are asked no more, as they were at
        revision: the revision of the subscriptions that the documents were matched with.
        is_part: Whether more comes of the same documents.
        earlier: Notifications of earlier parts, and
        earlier_bytes: their bytes.
    """

    position: int
    revision: int = 0
    documents: int = 0
    size: int = 0
    received: list[tuple[int, int]] = field(default_factory=list)
    told: dict[int, list[bytes]] = field(default_factory=dict)
    told_bytes: int = 0
    rejected: list[RejectionRow] = field(default_factory=list)
    set_aside: list[SetAsideRow] = field(default_factory=list)
    is_part: bool = False
    earlier: int = 0
    earlier_bytes: int = 0

    def tell(self, key: int, entry: bytes) -> None:
        """Adds a notification of a subscriber."""
        self.told.setdefault(key, []).append(entry)
        self.told_bytes += len(entry)

    def is_large(self) -> bool:
        """Whether a part of it should be written now."""
        return self.told_bytes >= PART_BYTES or len(self.rejected) >= _PART_REJECTIONS

    def take_part(self) -> MatchedBatch:
        """What there is so far, to be written; the rest follows."""
        part = MatchedBatch(
            self.position,
            self.revision,
            told=self.told,
            told_bytes=self.told_bytes,
            rejected=self.rejected,
            set_aside=self.set_aside,
            is_part=True,
        )
        self.earlier += sum([len(some) for some in self.told.values()])
        self.earlier_bytes += self.told_bytes
        self.told, self.told_bytes, self.rejected, self.set_aside = {}, 0, [], []
        return part


class SliceSize:
    """How many documents of a feed are matched in one call.

    It follows what the last ones led to: a document that a hundred thousand subscriptions match is
    matched alone.

    Attributes:
        documents: In the next call.

    >>> size = SliceSize()
    >>> size.observe(256, 100)
    >>> size.observe(1_024, 1_024_000)
    >>> size.documents
    20
    """

    def __init__(self) -> None:
        self.documents = _FIRST_SLICE

    def observe(self, documents: int, notifications: int) -> None:
        """Hears to how many notifications documents led."""
        if notifications > SLICE_NOTIFICATIONS:
            self.documents = max(1, documents * SLICE_NOTIFICATIONS // notifications)
        elif notifications * 4 < SLICE_NOTIFICATIONS:
            self.documents = min(self.documents * 4, BATCH_DOCUMENTS)
