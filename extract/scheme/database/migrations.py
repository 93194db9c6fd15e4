"""The versions of the tables: how older ones are brought up to date, and what is no table of ours.

Each step leads from one version to the next, as statements. A writer takes all steps in its own
transaction, so that others see the old tables or the new ones. A reader changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from extract.scheme.database.errors import PREPARE, DatabaseError, no_scheme
from extract.scheme.database.store import Store
from extract.scheme.database.tables import (
    POSTGRESQL_INDEXES,
    SCHEME,
    TABLES,
    VERSION,
    VIEWS,
)

Steps: TypeAlias = Mapping[int, Sequence[str]]

STEPS: Final[Steps] = {}
"""For each version the statements that lead to the next one."""


def create_tables(store: Store) -> None:
    """Makes all tables and views.

    Raises:
        DatabaseError: There is another table of such a name.
    """
    foreign = store.names() & {*[one.name for one in TABLES], *VIEWS}
    if foreign:
        names = ", ".join(sorted(foreign))
        reason = f"the schema {store.location.schema!r} has tables that are not of extract: {names}"
        hint = "name another schema: add ?schema=name to the URL"
        raise DatabaseError(reason, hint, store.location.shown)
    for table in TABLES:
        store.execute(table.create())
    for name, query in VIEWS.items():
        store.execute(f"CREATE VIEW {name} AS {query}")
    if store.location.engine == "postgresql":
        for statement in POSTGRESQL_INDEXES:
            store.execute(statement)
    store.watch()


def has_scheme(store: Store) -> bool:
    """Whether there are tables of a scheme, of whatever version."""
    # A table of this name without our columns is somebody else's.
    return {"schema_version", "identity", "revision"} <= store.columns(SCHEME.name)


def check_scheme(store: Store) -> None:
    """Makes sure that there are tables of a scheme.

    Raises:
        DatabaseError: There are none.
    """
    if not has_scheme(store):
        raise no_scheme(store.location)


def migrate(store: Store, steps: Steps = STEPS, version: int = VERSION) -> bool:
    """Brings the tables up to date, or makes them.

    Args:
        store: Open for writing.
        steps: The steps.
        version: The version to reach.

    Returns:
        Whether there was a scheme before.

    Raises:
        DatabaseError: The tables are of a later version, or not ours.
    """
    if not has_scheme(store):
        create_tables(store)
        return False
    present = _version(store)
    if present > version or any(number not in steps for number in range(present, version)):
        raise wrong_version(present, store)
    for number in range(present, version):
        for statement in steps[number]:
            store.execute(statement)
        store.execute("UPDATE scheme SET schema_version = :number", number=number + 1)
    return bool(store.rows("SELECT 1 FROM scheme"))


def _version(store: Store) -> int:
    rows = store.rows("SELECT schema_version FROM scheme")
    if len(rows) != 1:
        reason = f"the table scheme has {len(rows)} rows, not one"
        raise DatabaseError(reason, PREPARE.format(store.location.shown), store.location.shown)
    return int(rows[0][0])


def wrong_version(version: int, store: Store) -> DatabaseError:
    """The error about tables of another version."""
    reason = f"the tables are of version {version}; this version of extract uses {VERSION}"
    hint = "use a newer version of extract"
    if version < VERSION:
        hint = f"bring them up to date: `extract subs --scheme {store.location.shown} upgrade`"
    return DatabaseError(reason, hint, store.location.shown)
