"""A scheme in a database: durable, shared by processes, changed while jobs run.

Usage:
    ``Scheme.load("duckdb:subs.duckdb")`` and ``scheme.save("postgresql://host/db?schema=news")``,
    wherever the name of a file is taken. `scheme_change` changes subscriptions, `load_stored` and
    `changes_since` follow the changes of others.

Which to use:
    `location` reads URLs, `store` opens a database for one transaction; `duckdb_store` and
    `postgresql_store` are the engines. `sql` puts statements into their dialects, `tables` has the
    tables and views, `migrations` their versions. `head` and `member_rows` make rows of a scheme
    and back; `read`, `write` and `changes` are what is done with them.

Always holds:
    A reader sees one whole revision. Writers come one after the other, and a change is committed
    whole or not at all; what was reported is committed. A change writes the rows that are different
    and no others. Values are bound, never written into SQL.

To add a column:
    It goes into `extract.scheme.database.tables` with another `VERSION`, into `migrations` as a
    step, and into ``docs/database.md``.
"""

from __future__ import annotations

from extract.scheme.database.location import is_database

__all__ = ["is_database"]
