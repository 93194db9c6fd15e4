"""``extract bench sql_import``: 1,000,000 subscriptions into a database, next to its bulk load.

Imported are queries as text, in a Parquet file: they are read, checked and put under their
template. The database's own bulk load takes the finished rows of the same subscriptions, into a
table with the same columns and indexes.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from extract.bench.sql import AlertConstants, alert_schema, engine_urls
from extract.bench.table import ResultTable
from extract.limits import DEFAULTS
from extract.preptool.prepare import prepare
from extract.preptool.revise import Reviser
from extract.scheme.database.duckdb_store import temporary_connection
from extract.scheme.database.location import DatabaseLocation, location_of
from extract.scheme.database.postgresql_store import PostgresStore, connect
from extract.scheme.database.sql import target_sql
from extract.scheme.database.store import open_store
from extract.scheme.database.tables import MEMBER
from extract.scheme.database.write import scheme_change
from extract.subscriptions import Subscriptions
from extract.subscriptions.table_files import read_table_file

_ALERT = "/stock[symbol = 'S{}' and price > {} and open < {} and high > {} and volume > {}]"
_REMARKS = (
    "import: from a Parquet file with ids and queries to what is committed. bulk load: finished "
    "rows of the same subscriptions, from Parquet in DuckDB, by binary COPY into a table with the "
    "same indexes in PostgreSQL. Processor time of this process for DuckDB, by the clock for "
    "PostgreSQL.",
    "Goal: at most 3 times as long as the bulk load.",
)


def run(data: Path | None, scale: float = 1.0) -> ResultTable:
    """Measures the import into each engine."""
    del data
    count = max(1_000, int(1_000_000 * scale))
    rows: list[list[str | int | float]] = []
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "alerts.parquet")
        constants = AlertConstants.of(count)
        columns = [constants.symbol, *constants.bounds]
        texts = [
            _ALERT.format(*row) for row in zip(*[one.tolist() for one in columns], strict=True)
        ]
        ids = [f"alert{number}" for number in range(count)]
        parquet.write_table(pa.table({"id": ids, "xpath": texts}), file)
        del texts, ids
        for engine, url in engine_urls(folder, count):
            clock = time.process_time if engine == "DuckDB" else time.perf_counter
            prepare(
                alert_schema(), Subscriptions.of({"first": _ALERT.format(0, 0, 1, 0, 0)}), 1
            ).save(url)
            imported = _timed(partial(_import, url, file), clock)
            loaded = _bulk_load(location_of(url), folder, clock)
            rows.append([engine, count, imported, loaded, imported / loaded])
    names = ("engine", "subscriptions", "import s", "bulk load s", "x bulk load")
    return ResultTable("Subscriptions into a database", names, rows, _REMARKS)


def _import(url: str, file: str) -> None:
    """What ``extract subs import`` does."""
    with scheme_change(url) as database:
        reviser = Reviser(database.stored.scheme)
        reviser.add_all(
            read_table_file(file, {}, DEFAULTS, "1.0").with_defaults(reviser.namespaces)
        )
        rows = reviser.rows()
        kept = rows[rows < len(database.stored.scheme.members)]
        database.write(reviser.scheme(), kept, "import")


def _bulk_load(location: DatabaseLocation, folder: str, clock: Callable[[], float]) -> float:
    with open_store(location) as store:
        if isinstance(store, PostgresStore):
            owner = target_sql(MEMBER.name, (), location)
            data = store.copied(f"SELECT * FROM {owner}")
        else:
            parquet.write_table(store.fetch(MEMBER.name, MEMBER.columns), f"{folder}/members")
    if location.engine == "duckdb":
        with temporary_connection() as connection:
            text = "CREATE TABLE bulk AS FROM read_parquet(?)"
            return _timed(partial(connection.execute, text, [f"{folder}/members"]), clock)
    with contextlib.closing(connect(location)) as connection:
        connection.execute(f"CREATE TABLE bulk (LIKE {owner} INCLUDING INDEXES)")
        connection.commit()
        seconds = _timed(partial(_copy, connection, data), clock)
        connection.execute("DROP TABLE bulk")
        connection.commit()
    return seconds


def _copy(connection: Any, data: bytes) -> None:
    with (
        connection.cursor() as cursor,
        cursor.copy("COPY bulk FROM STDIN (FORMAT binary)") as copy,
    ):
        copy.write(data)
    connection.commit()


def _timed(work: Callable[[], Any], clock: Callable[[], float]) -> float:
    started = clock()
    work()
    return clock() - started
