"""Where a scheme is: a file of DuckDB, or a PostgreSQL server, named by a URL."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from extract.errors import SchemeError

_DUCKDB: Final = "duckdb:"
_POSTGRESQL: Final = ("postgresql://", "postgres://")
_FORMS: Final = "write duckdb:FILE, or postgresql://user@host/database?schema=name"
_SETTINGS: Final = ("memory_limit", "threads")  # of DuckDB, that a URL may have
_SCHEMAS: Final = {"duckdb": "main", "postgresql": "extract"}  # where the URL names none


@dataclass(frozen=True, slots=True)
class DatabaseLocation:
    """The database that a URL names.

    Attributes:
        engine: ``"duckdb"`` or ``"postgresql"``.
        target: The file, or the URL that the server's library takes.
        schema: The schema of the tables inside the database.
        shown: The URL for messages: it has no password.
        settings: Settings of DuckDB, such as its ``memory_limit``, by name.
        is_lasting: Whether it stays when it is closed; false for one that is made for a scheme
            file.
    """

    engine: Literal["duckdb", "postgresql"]
    target: str
    schema: str
    shown: str
    settings: tuple[tuple[str, str], ...] = ()
    is_lasting: bool = True

    @property
    def dialect(self) -> str:
        """The SQL of the engine, as sqlglot calls it."""
        return "duckdb" if self.engine == "duckdb" else "postgres"


def is_database(path: str | Path) -> bool:
    """Whether this names a database, not a file.

    >>> is_database("duckdb:subs.duckdb"), is_database("scheme.json")
    (True, False)
    """
    return isinstance(path, str) and path.startswith((_DUCKDB, *_POSTGRESQL))


def absolute_url(url: str) -> str:
    """The URL of a database for other processes, which may stand in another directory."""
    if not url.startswith(_DUCKDB):
        return url
    file, mark, query = url.removeprefix(_DUCKDB).partition("?")
    return f"{_DUCKDB}{os.path.abspath(file)}{mark}{query}"


def location_of(url: str) -> DatabaseLocation:
    """Reads the URL of a database.

    Raises:
        SchemeError: It names none.

    >>> location_of("postgresql://me:secret@host/db?schema=news&sslmode=require")
    DatabaseLocation(engine='postgresql', target='postgresql://me:secret@host/db?sslmode=require', \
schema='news', shown='postgresql://me@host/db?schema=news&sslmode=require', settings=(), \
is_lasting=True)
    """
    if url.startswith(_DUCKDB):
        file, _, query = url.removeprefix(_DUCKDB).partition("?")
        options, schema = _options(query, url)
        unknown = [name for name, _ in options if name not in _SETTINGS]
        if unknown:
            hint = f"{_FORMS}; options of DuckDB are schema, {', '.join(_SETTINGS)}"
            raise SchemeError(f"{unknown[0]!r} is no option of DuckDB here", hint, url)
        if not file or file == ":memory:":
            raise SchemeError("the URL names no file", _FORMS, url)
        return DatabaseLocation("duckdb", file, schema or _SCHEMAS["duckdb"], url, tuple(options))
    try:
        parts = urlsplit(url)
        user = parts.username
    except ValueError as error:
        raise SchemeError(f"cannot read the URL: {error}", _FORMS, _POSTGRESQL[0]) from None
    account, _, server = parts.netloc.rpartition("@")
    public = server if not user else f"{account.partition(':')[0]}@{server}"
    options, schema = _options(parts.query, f"{parts.scheme}://{public}{parts.path}")
    secret = [(name, value) for name, value in options if name not in ("password", "passfile")]
    visible = urlencode(
        [*([("schema", schema)] if schema else []), *secret], safe="/", quote_via=quote
    )
    # With both slashes, also where no server is named, only a socket.
    target = urlunsplit(("", "", parts.path, urlencode(options, safe="/", quote_via=quote), ""))
    shown = urlunsplit(("", "", parts.path, visible, ""))
    return DatabaseLocation(
        "postgresql",
        f"postgresql://{parts.netloc}{target}",
        schema or _SCHEMAS["postgresql"],
        f"postgresql://{public}{shown}",
    )


def _options(query: str, url: str) -> tuple[list[tuple[str, str]], str]:
    """The options of a URL, and the schema apart from them; empty if there is none."""
    pairs = parse_qsl(query, keep_blank_values=True)
    schemas = [value for name, value in pairs if name == "schema"]
    if len(schemas) > 1 or "" in schemas:
        raise SchemeError("the URL must name one schema, or none", _FORMS, url)
    return [one for one in pairs if one[0] != "schema"], "".join(schemas)
