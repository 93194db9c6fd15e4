"""Databases in tests: asked directly, not through `extract`."""

from __future__ import annotations

from typing import Any

from extract.preptool.revise import Reviser
from extract.scheme import Scheme
from extract.scheme.database.location import location_of
from extract.scheme.database.store import open_store
from extract.scheme.database.write import scheme_change
from extract.subscriptions import Subscription, Subscriptions

# What constants, ids and numbers can be: every place where a database could read something else.
ODD_LITERALS = (
    '"it\'s"',
    "'say \"hi\"'",
    "''",
    "' '",
    "'a\tb'",
    "'a\nb\r\nc'",
    "'\\N'",
    "'NULL'",
    "'{a,b}'",
    "'a,\"\"b'",
    "'$string1 %s :id'",
    "'; DROP TABLE member; --'",
    "'\U0001d11e Ⰰ é'",
    f"'{'x' * 8408}'",
)
ODD_NUMBERS = (
    "0.00006332",
    "6.5684",
    "9007199254740993",
    "1e3",
    "1e",
    ".5",
    "00.50",
    "9" * 400,
)


def query(url: str, text: str, **values: Any) -> list[tuple[Any, ...]]:
    """The rows of a query; tables are those of the scheme."""
    with open_store(location_of(url)) as store:
        return store.rows(text, **values)


def execute(url: str, *statements: str) -> None:
    """Runs statements in one transaction, as the owner of the database would."""
    location = location_of(url)
    if location.engine == "duckdb":
        import duckdb

        with duckdb.connect(location.target) as connection:
            connection.begin()
            for text in statements:
                connection.execute(text)
            connection.commit()
        return
    import psycopg
    from psycopg import sql

    with psycopg.connect(location.target) as server:
        path = sql.SQL("SET LOCAL search_path TO {}").format(sql.Identifier(location.schema))
        server.execute(path)
        for text in statements:
            server.execute(sql.SQL(text))


def change(
    url: str,
    add: dict[str, str] | Subscriptions | None = None,
    remove: tuple[str, ...] = (),
    replace: dict[str, str] | None = None,
) -> Scheme:
    """Changes the subscriptions of a database, and returns the scheme that was written."""
    with scheme_change(url) as database:
        before = database.stored.scheme
        reviser = Reviser(before, tables=database.tables)
        for name in remove:
            reviser.remove(name)
        for name, xpath in (replace or {}).items():
            reviser.replace(Subscription(name, xpath))
        if add:
            new = add if isinstance(add, Subscriptions) else Subscriptions.of(add)
            reviser.add_all(new.with_defaults(reviser.namespaces))
        rows = reviser.rows()
        kept = rows[rows < len(before.members)]
        after = reviser.scheme()
        database.write(after, kept, "test")
    return after
