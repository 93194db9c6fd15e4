"""What goes wrong with a database, in the words of `extract`."""

from __future__ import annotations

from typing import Final

from extract.errors import NO_ROOM, SchemeError
from extract.scheme.database.location import DatabaseLocation

INSTALL: Final = "install what it needs: pip install 'extract-xpath[database]'"
PREPARE: Final = "make it with `extract prep … -o {}`"


class DatabaseError(SchemeError):
    """A database that cannot be used: missing, locked, read-only, of another version, or lost."""


class LostConnection(DatabaseError):
    """The server does not answer, or the connection to it has broken."""


class NoConnection(LostConnection):
    """There was no connection yet: the server is not there, or does not let us in."""


class UncertainCommit(LostConnection):
    """The connection has broken in the moment of the commit: who knows whether it holds."""


class LockedDatabase(DatabaseError):
    """Somebody else has the database, or its lock, for longer than we wait."""


def not_installed(module: str, location: DatabaseLocation) -> DatabaseError:
    """The error about a package that is not there."""
    return DatabaseError(f"the package {module} is not installed", INSTALL, location.shown)


def no_scheme(location: DatabaseLocation) -> DatabaseError:
    """The error about a database without a scheme."""
    reason = f"the database has no subscriptions in the schema {location.schema!r}"
    return DatabaseError(reason, PREPARE.format(location.shown), location.shown)


def no_reference(table: str, column: str, location: DatabaseLocation) -> DatabaseError:
    """The error about a table that a query joins, and that is not there."""
    reason = f"there is no table {table!r} with a column {column!r}, which a query joins"
    hint = f"make it in the schema {location.schema!r}, or write its schema before its name"
    if not location.is_lasting:
        hint = "a scheme file has no tables: put it into a database, with `extract prep -o URL`"
    return DatabaseError(reason, hint, location.shown)


def no_room(reason: str, location: DatabaseLocation) -> DatabaseError:
    """The error about a full disk."""
    return DatabaseError(f"cannot write: {reason}", NO_ROOM, location.shown)


def first_line(error: BaseException) -> str:
    """What an engine says, without the lines that explain how it works inside."""
    line = next(iter(str(error).strip().splitlines()), type(error).__name__)
    return line.strip()
