"""SQL for both engines: written once, as constants, and put into the dialect by sqlglot.

Statements are in PostgreSQL's SQL, with ``:name`` for a value; values are bound, never written into
the text. Names of tables get the schema of the location, quoted.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from extract.scheme.database.location import DatabaseLocation


@lru_cache(maxsize=1024)
def dialect_sql(text: str, location: DatabaseLocation) -> str:
    """Returns a statement in the SQL of a database, with its schema.

    >>> from extract.scheme.database.location import location_of
    >>> dialect_sql("SELECT id FROM member WHERE seq > :seq", location_of("duckdb:a?schema=s"))
    'SELECT "id" FROM "s"."member" WHERE "seq" > $seq'
    """
    import sqlglot

    return _written(sqlglot.parse_one(text, read="postgres"), location)


def _written(tree: Any, location: DatabaseLocation) -> str:
    from sqlglot import exp

    for table in tree.find_all(exp.Table):
        if not table.args.get("db"):
            table.set("db", exp.to_identifier(location.schema, quoted=True))
    if location.engine == "duckdb":  # it compares by code point, and knows no other way for lists
        for collation in list(tree.find_all(exp.CollateColumnConstraint)):
            if collation.parent is not None:
                collation.parent.pop()
    text: str = tree.sql(dialect=location.dialect, identify=True)
    return text


def select_sql(
    table: str, columns: dict[str, str], where: str, order: str, location: DatabaseLocation
) -> str:
    """Returns a SELECT of some columns of a table.

    Args:
        table: The table.
        columns: For each name of a column the expression that gives it.
        where: A condition with ``:name`` for values; empty for none.
        order: The column to sort by; empty for none.
        location: The database.
    """
    from sqlglot import exp

    chosen = [f"{expression} AS {name}" for name, expression in columns.items()]
    query = exp.select(*chosen, dialect="postgres").from_(table, dialect="postgres")
    if where:
        query = query.where(where, dialect="postgres")
    if order:
        query = query.order_by(order, dialect="postgres")
    return _written(query, location)


def target_sql(table: str, columns: Iterable[str], location: DatabaseLocation) -> str:
    """Returns a table with some of its columns, as COPY takes it; without any, only its name.

    >>> from extract.scheme.database.location import location_of
    >>> target_sql("member", ["seq", "id"], location_of("postgresql://host/db"))
    '"extract"."member" ("seq", "id")'
    """
    from sqlglot import exp

    names = [exp.to_identifier(name, quoted=True) for name in columns]
    owner = exp.table_(table, db=location.schema, quoted=True)
    if not names:
        return owner.sql(dialect=location.dialect)
    return exp.Schema(this=owner, expressions=names).sql(dialect=location.dialect)


def schema_sql(action: str, location: DatabaseLocation) -> str:
    """Returns ``CREATE SCHEMA IF NOT EXISTS`` or the like for the schema of a location."""
    from sqlglot import exp

    name = exp.to_identifier(location.schema, quoted=True).sql(dialect=location.dialect)
    return f"{action} {name}"


def reference_table(table: str, column: str, location: DatabaseLocation) -> tuple[Any, Any]:
    """A table of the owner's, as a query names it, and one of its columns.

    Args:
        table: Its name, perhaps with its schema before it: ``prices.watchlist``. Without, it is in
            the schema of the subscriptions.
        column: The column.
        location: The database.
    """
    from sqlglot import exp

    owner, dot, name = table.rpartition(".")
    place = exp.table_(name, db=owner if dot else location.schema, quoted=True)
    return place, exp.column(column, quoted=True)
