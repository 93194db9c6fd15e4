"""After a start: the subscriptions as they were at the first document to match, and all since."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from extract.broker.feed_filters import select_of, stored_body
from extract.broker.journal import Event, SubscriptionChange
from extract.broker.store import documents as document_rows
from extract.broker.store import joins as join_rows
from extract.broker.store import set_aside
from extract.broker.store import subscriptions as subscription_rows
from extract.broker.store.database import Connection
from extract.broker.store.rows import ArrivedBlock, SubscriptionVersion

_ALL = 1 << 60
_PAGE: Final = 16  # blocks that are read again at a time

ReadBlocks: TypeAlias = Callable[[int, int, int], Sequence[ArrivedBlock]]
"""Returns the blocks behind a position, up to another one, at most so many."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What joins saw after their state was saved.

    Attributes:
        changes: Changes of joins, with their revisions.
        position, revision: Where the state was saved.
        end: The last position that joins saw.
    """

    changes: Sequence[tuple[int, SubscriptionChange]] = ()
    position: int = 0
    revision: int = 0
    end: int = 0

    def events(self, read: ReadBlocks) -> Iterator[Event]:
        """Yields them in the order of the log; a few documents at a time are in memory."""
        at, position = 0, self.position
        while position < self.end and (blocks := read(position, self.end, _PAGE)):
            position = blocks[-1].position
            ready = [one for one in self.changes[at:] if one[0] <= blocks[-1].revision]
            yield from _merged(ready, blocks)
            at += len(ready)
        yield from [event for _, event in self.changes[at:]]


@dataclass(frozen=True, slots=True)
class Recovered:
    """What the matcher starts with.

    Attributes:
        queries: By feed and subscriber, what holds at the first document to match.
        backlog: What is to be done, in the order of the log.
        documents: Documents that are to be matched, and
        size: their bytes.
        join_state: The last saved state of joins; empty if there is none.
        replay: What joins saw after that.
        revision: Of the first document to match.
        position: Up to which all is matched.
        set_aside: Subscribers whose present queries are not asked; their `queries` are left out.
    """

    queries: dict[int, dict[int, bytes]]
    backlog: list[Event]
    documents: int
    size: int
    join_state: bytes
    replay: Replay
    revision: int
    position: int
    set_aside: frozenset[int] = frozenset()


def recover(connection: Connection, revision: int, has_state: bool = True) -> Recovered:
    """Reads what the last broker left.

    Args:
        connection: To the store.
        revision: The present one.
        has_state: Whether the saved state of joins can be used; without it they read again all
            documents that are kept.
    """
    matched = document_rows.matched_position(connection)
    blocks = document_rows.blocks_after(connection, matched, _ALL)
    first = blocks[0].revision if blocks else revision
    aside = frozenset(set_aside.all_set_aside(connection))
    queries: dict[int, dict[int, bytes]] = {}
    has_joins = False
    for one in subscription_rows.versions_at(connection, first):
        if one.key not in aside:
            queries.setdefault(one.feed, {})[one.key] = one.body
        has_joins = has_joins or is_join(one.body)
    later = subscription_rows.versions_after(connection, first)
    backlog = _merged(_changes(later, first), blocks)
    saved = join_rows.last_state(connection) if has_state else None
    replay = Replay()
    if saved is not None or has_joins:
        position, since, state = (0, 0, b"") if saved is None else saved
        versions = [
            one
            for one in subscription_rows.versions_after(connection, since)
            if is_join(one.body) and one.key not in aside
        ]
        if saved is None and versions:  # documents before the first join are not for it
            earliest = min([one.since for one in versions])
            position = document_rows.position_before(connection, earliest)
        changes = [one for one in _changes(versions, since) if one[0] <= first]
        replay = Replay(changes, position, since, matched)
    documents = sum([len(block.documents) for block in blocks])
    size = sum([len(one.content) for block in blocks for one in block.documents])
    state = b"" if saved is None else saved[2]
    return Recovered(queries, backlog, documents, size, state, replay, first, matched, aside)


def is_join(body: bytes) -> bool:
    """Whether a subscription as the store has it is a join.

    Its metadata may have a key of that name, too.
    """
    if b'"xscl":' not in body:
        return False
    read = stored_body(body)
    return read is not None and select_of(read) is None


def _changes(
    versions: Sequence[SubscriptionVersion], revision: int
) -> list[tuple[int, SubscriptionChange]]:
    """The changes after a revision, in their order; of one revision, ends come first."""
    changes: list[tuple[int, int, SubscriptionChange]] = []
    for one in versions:
        if one.until is not None and one.until > revision:
            changes.append((one.until, 0, SubscriptionChange(one.feed, one.key, None, one.until)))
        if one.since > revision:
            begun = SubscriptionChange(one.feed, one.key, one.body, one.since)
            changes.append((one.since, 1, begun))
    changes.sort(key=lambda change: change[:2])
    return [(number, event) for number, _, event in changes]


def _merged(
    changes: Sequence[tuple[int, SubscriptionChange]], blocks: Sequence[ArrivedBlock]
) -> list[Event]:
    """Changes and blocks in the order of the log."""
    events: list[Event] = []
    at = 0
    for block in blocks:
        while at < len(changes) and changes[at][0] <= block.revision:
            events.append(changes[at][1])
            at += 1
        events.append(block)
    return [*events, *[event for _, event in changes[at:]]]
