"""Reads a scheme from a database: one whole revision, whatever others write meanwhile."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from extract.scheme.database.errors import no_scheme
from extract.scheme.database.head import HeadNumbers, Numbers, read_head
from extract.scheme.database.location import location_of
from extract.scheme.database.member_rows import members_of_rows, read_columns
from extract.scheme.database.migrations import check_scheme, wrong_version
from extract.scheme.database.retry import again_when_lost
from extract.scheme.database.store import Store, open_store
from extract.scheme.database.tables import MEMBER, VERSION
from extract.scheme.fields import Fields
from extract.scheme.garbage import no_collection
from extract.scheme.model import Scheme
from extract.scheme.reader import scheme_of_fields
from extract.scheme.templates import RegisteredTemplates, WordingTable
from extract.subscriptions.members import Members


class StoredState(NamedTuple):
    """Which scheme a database has.

    Attributes:
        identity: Another one whenever all is replaced, as by `extract prep`.
        revision: Another one, and a larger one, after each change.
        logged_from: The oldest revision since which all removals are known.
    """

    identity: str
    revision: int
    logged_from: int

    @property
    def digest(self) -> str:
        """A digest that no other revision has."""
        return hashlib.sha256(f"{self.identity} {self.revision}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class StoredScheme:
    """A scheme as it was read, with the numbers that the database has for it.

    Attributes:
        scheme: The scheme.
        state: Which one it is.
        numbers: The numbers of branches, templates and wordings.
        seqs: The sequence number of each member.
    """

    scheme: Scheme
    state: StoredState
    numbers: HeadNumbers = field(repr=False)
    seqs: Numbers = field(repr=False)


def load_scheme(url: str) -> Scheme:
    """Reads the scheme of a database: see `Scheme.load`."""
    return load_stored(url).scheme


def load_stored(url: str) -> StoredScheme:
    """Reads the scheme of a database, to follow its changes.

    Raises:
        SchemeError: It cannot be read, has no scheme, or is of another version.
    """

    def read() -> StoredScheme:
        with open_store(location_of(url)) as store:
            check_scheme(store)
            return read_stored(store)

    return again_when_lost(read)


def load_state(url: str) -> StoredState:
    """Reads which scheme a database has.

    Raises:
        SchemeError: It cannot be read, has no scheme, or is of another version.
    """

    def read() -> StoredState:
        with open_store(location_of(url)) as store:
            check_scheme(store)
            return read_state(store)

    return again_when_lost(read)


def read_state(store: Store) -> StoredState:
    """Reads which scheme there is.

    Raises:
        DatabaseError: The tables are of another version.
    """
    rows = store.rows("SELECT schema_version, identity, revision, logged_from FROM scheme")
    if len(rows) != 1:
        raise no_scheme(store.location)
    version, *state = rows[0]
    if version != VERSION:
        raise wrong_version(version, store)
    return StoredState(*state)


def read_empty(store: Store) -> tuple[Scheme, HeadNumbers]:
    """Reads the scheme in a transaction without its members; also the numbers of what it lists."""
    head, numbers = read_head(store)
    with no_collection():
        fields = Fields(head, "", store.location.shown)
        return scheme_of_fields(fields, lambda *_: Members.none()), numbers


def read_stored(store: Store) -> StoredScheme:
    """Reads the scheme in a transaction."""
    state, source = read_state(store), store.location.shown
    head, numbers = read_head(store)
    table = store.fetch(MEMBER.name, read_columns(), order="seq")

    def members(templates: RegisteredTemplates, wordings: WordingTable) -> Members:
        return members_of_rows(table, numbers, templates, wordings, source)

    with no_collection():
        scheme = scheme_of_fields(Fields(head, "", source), members)
    return StoredScheme(scheme, state, numbers, np.asarray(table["seq"]))
