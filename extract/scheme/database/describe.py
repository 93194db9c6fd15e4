"""The tables of a database for people: the statements that make them, in its own SQL."""

from __future__ import annotations

from collections.abc import Iterator

from extract.scheme.database.location import location_of
from extract.scheme.database.migrations import check_scheme
from extract.scheme.database.sql import dialect_sql
from extract.scheme.database.store import open_store
from extract.scheme.database.tables import POSTGRESQL_INDEXES, TABLES, VIEWS


def describe_tables(url: str) -> Iterator[str]:
    """Yields the statements that make the tables and views of a database.

    Raises:
        SchemeError: The database cannot be read, or has no scheme.
    """
    location = location_of(url)
    with open_store(location) as store:
        check_scheme(store)
    statements = [one.create() for one in TABLES]
    statements += [f"CREATE VIEW {name} AS {query}" for name, query in VIEWS.items()]
    if location.engine == "postgresql":
        statements += POSTGRESQL_INDEXES
    for text in statements:
        yield dialect_sql(text, location)
