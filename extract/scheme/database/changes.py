"""What has changed in a database since a revision, for filters that follow it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from extract.scheme.database.location import location_of
from extract.scheme.database.member_rows import read_columns
from extract.scheme.database.read import StoredScheme, StoredState, read_state, read_stored
from extract.scheme.database.retry import again_when_lost
from extract.scheme.database.store import Store, open_store
from extract.scheme.database.tables import LATER, MEMBER, PART, REMOVAL, TEMPLATE
from extract.subscriptions import Subscription
from extract.subscriptions.metadata import NO_METADATA
from extract.xpath.parameters import filled


class StoredChanges(NamedTuple):
    """The changes between two revisions.

    Attributes:
        state: The later one.
        removed: The ids of members that are gone or were replaced.
        added: Members that are new or replace others, in canonical form.
        later: All queries in later versions of XPath, as they are now.
    """

    state: StoredState
    removed: tuple[str, ...]
    added: tuple[Subscription, ...]
    later: tuple[Subscription, ...]


def changes_since(url: str, known: StoredState | None) -> StoredChanges | StoredScheme | None:
    """Reads what has changed since a revision.

    Args:
        url: The database.
        known: Which scheme is known; None for none.

    Returns:
        The changes; the whole scheme if it was replaced, or changed so much that the database does
        not know all changes any more; None if nothing has changed.

    Raises:
        SchemeError: The database cannot be read.
    """

    def read() -> StoredChanges | StoredScheme | None:
        with open_store(location_of(url)) as store:
            state = read_state(store)
            if known is None or not is_followed(known, state):
                return read_stored(store)
            if state.revision == known.revision:
                return None
            return _changes(store, state, known.revision)

    return again_when_lost(read)


def is_followed(known: StoredState, state: StoredState) -> bool:
    """Whether the database knows all that has changed between two revisions."""
    return state.identity == known.identity and known.revision >= state.logged_from


def _changes(store: Store, state: StoredState, known: int) -> StoredChanges:
    since = "revision > :known"
    removed = store.fetch(REMOVAL.name, REMOVAL.columns, since, known=known)
    members = store.fetch(MEMBER.name, read_columns(), since, "seq", known=known)
    part = store.fetch(PART.name, PART.columns, "name = :name", name="namespaces")
    namespaces: Mapping[str, str] = json.loads(part["value"][0].as_py())
    templates = _templates(store, sorted(set(members["template"].to_pylist())))
    added = [
        Subscription(
            row["id"],
            filled(templates[row["template"]], row["constants"]),
            namespaces,
            row["weight"],
            metadata=json.loads(row["metadata"]) if row["metadata"] else NO_METADATA,
        )
        for row in members.to_pylist()
    ]
    later = store.fetch(LATER.name, LATER.columns, order="position").to_pylist()
    ids = dict.fromkeys(removed["id"].to_pylist())
    return StoredChanges(state, tuple(ids), tuple(added), tuple(map(_later, later)))


def _templates(store: Store, numbers: list[int]) -> dict[int, str]:
    if not numbers:
        return {}
    columns = pa.schema([TEMPLATE.columns.field(name) for name in ("number", "xpath")])
    rows = store.fetch(TEMPLATE.name, columns, "number = ANY(:numbers)", numbers=numbers)
    return dict(zip(rows["number"].to_pylist(), rows["xpath"].to_pylist(), strict=True))


def _later(row: dict[str, Any]) -> Subscription:
    detail = json.loads(row["detail"])
    return Subscription(
        row["id"],
        row["xpath"],
        detail.get("namespaces", {}),
        float(detail.get("weight", 1)),
        version=row["version"],
        metadata=detail.get("metadata", NO_METADATA),
    )
