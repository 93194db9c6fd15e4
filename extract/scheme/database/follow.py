"""The database that a filter follows, revision by revision."""

from __future__ import annotations

from dataclasses import dataclass, replace

from extract.scheme.database.changes import StoredChanges, changes_since
from extract.scheme.database.location import location_of
from extract.scheme.database.read import StoredScheme, StoredState, load_stored
from extract.scheme.model import Scheme


@dataclass(frozen=True, slots=True)
class FollowedDatabase:
    """A database, and the revision that is known of it.

    Attributes:
        url: The database.
        state: What is known; None for nothing.
    """

    url: str
    state: StoredState | None

    @property
    def shown(self) -> str:
        """The database for messages."""
        return location_of(self.url).shown

    def changes(self) -> StoredChanges | StoredScheme | None:
        """Reads what has changed since, see `changes_since`."""
        return changes_since(self.url, self.state)

    def at(self, state: StoredState | None) -> FollowedDatabase:
        """The same database, when what has changed was taken over."""
        return replace(self, state=state)


def follow_database(url: str) -> tuple[FollowedDatabase, Scheme]:
    """Reads the scheme of a database, to follow it from there.

    Raises:
        SchemeError: It cannot be read.
    """
    stored = load_stored(url)
    return FollowedDatabase(url, stored.state), stored.scheme
