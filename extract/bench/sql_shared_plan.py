"""The paper's shared and bucketed plan, as one recursive statement, for a comparison.

A predicate is a row: from a chain to the next one. The equality with a symbol is shared by all
subscriptions that have it; so is a coarse bound of the price, a bucket; the other predicates follow
one by one. `extract.filtertool.matchers.sql` uses the unrolled plan.
"""

from __future__ import annotations

import contextlib
import time
from typing import Any, Final

import numpy as np
import pyarrow as pa

from extract.scheme.database.binary_copy import END, HEAD, copy_data
from extract.scheme.database.duckdb_store import temporary_connection
from extract.scheme.database.location import DatabaseLocation
from extract.scheme.database.postgresql_store import connect

_BUCKETS: Final = 20
_WIDTH: Final = 1000 / _BUCKETS
_PATHS: Final = ("symbol", "price", "open", "high", "volume")
_LESS: Final = 2  # the path that is compared by <
_PLAN: Final = """
WITH RECURSIVE reached (document, chain, final) AS (
  SELECT v.document, p.chain, p.final FROM parts v
  JOIN predicate p ON p.before = 0 AND p.path = v.path AND p.text = v.text
  UNION ALL
  SELECT r.document, p.chain, p.final FROM reached r
  JOIN predicate p ON p.before = r.chain
  JOIN parts v ON v.document = r.document AND v.path = p.path
    AND CASE WHEN p.path = 2 THEN v.number < p.number ELSE v.number > p.number END
  WHERE NOT r.final
) SELECT COUNT(*) FROM reached WHERE final
"""
_COLUMNS: Final = "before BIGINT, path INTEGER, text TEXT, number DOUBLE PRECISION, chain BIGINT, "


def shared_plan_seconds(
    location: DatabaseLocation, symbol: Any, bounds: tuple[Any, ...], values: Any
) -> tuple[float, int]:
    """How long the plan takes for a batch of values, and how many notifications it finds."""
    predicates, parts = _predicates(symbol, bounds), _parts(values)
    if location.engine == "duckdb":
        with temporary_connection(location.settings) as connection:
            connection.register("predicate", predicates)
            connection.execute("CREATE TABLE kept AS SELECT * FROM predicate ORDER BY before")
            connection.unregister("predicate")
            connection.execute("ALTER TABLE kept RENAME TO predicate")
            connection.register("parts", parts)
            return _timed(lambda: connection.execute(_PLAN).fetchall()[0][0])
    with contextlib.closing(connect(location)) as connection:
        connection.autocommit = True
        connection.execute(f"CREATE TEMP TABLE predicate ({_COLUMNS} final BOOLEAN)")
        kinds = "document INTEGER, path INTEGER, text TEXT, number DOUBLE PRECISION"
        connection.execute(f"CREATE TEMP TABLE parts ({kinds})")
        for name, rows in (("predicate", predicates), ("parts", parts)):
            with (
                connection.cursor() as cursor,
                cursor.copy(f"COPY {name} FROM STDIN (FORMAT binary)") as copy,
            ):
                copy.write(HEAD)
                for part in copy_data(rows):
                    copy.write(part)
                copy.write(END)
        connection.execute("CREATE INDEX ON predicate (before, path, text)")
        connection.execute("CREATE INDEX ON parts (document, path)")
        connection.execute("ANALYZE predicate")
        connection.execute("ANALYZE parts")
        return _timed(lambda: connection.execute(_PLAN).fetchall()[0][0])


def _timed(work: Any) -> tuple[float, int]:
    started = time.perf_counter()
    found = int(work())
    return time.perf_counter() - started, found


def _predicates(symbol: Any, bounds: tuple[Any, ...]) -> Any:
    """The chains of all subscriptions: symbol, bucket, and the four bounds."""
    count = len(symbol)
    symbols = np.unique(symbol)
    after_symbol = 1 + symbols  # chains of symbols
    first_bucket = int(after_symbol.max()) + 1
    bucket = (bounds[0] // _WIDTH).astype(np.int64)
    keys, of_alert = np.unique(symbol * _BUCKETS + bucket, return_inverse=True)
    first_alert = first_bucket + len(keys)
    none = np.full(len(symbols), np.nan)
    parts = [
        (np.zeros(len(symbols), np.int64), 0, symbols, none, after_symbol, False),
        (
            1 + keys // _BUCKETS,
            1,
            None,
            (keys % _BUCKETS) * _WIDTH - 1e-9,
            first_bucket + np.arange(len(keys)),
            False,
        ),
    ]
    before = first_bucket + of_alert
    for place, bound in enumerate(bounds):
        chain = first_alert + np.arange(count) * len(bounds) + place
        parts.append((before, place + 1, None, bound, chain, place == len(bounds) - 1))
        before = chain
    tables = []
    for start, path, texts, number, chain, final in parts:
        size = len(start)
        names = [None] * size if texts is None else [f"S{one}" for one in texts.tolist()]
        tables.append(
            pa.table(
                {
                    "before": pa.array(start, pa.int64()),
                    "path": pa.array(np.full(size, path, np.int32)),
                    "text": pa.array(names, pa.string()),
                    "number": pa.array(number, pa.float64()),
                    "chain": pa.array(chain, pa.int64()),
                    "final": pa.array(np.full(size, final)),
                }
            )
        )
    return pa.concat_tables(tables).combine_chunks()


def _parts(values: Any) -> Any:
    """The values of messages, one a row."""
    count, tables = values.num_rows, []
    for path, name in enumerate(_PATHS):
        column = values[name]
        texts = column if name == "symbol" else pa.nulls(count, pa.string())
        numbers = pa.nulls(count, pa.float64()) if name == "symbol" else column
        tables.append(
            pa.table(
                {
                    "document": values["document"],
                    "path": pa.array(np.full(count, path, np.int32)),
                    "text": texts,
                    "number": numbers,
                }
            )
        )
    return pa.concat_tables(tables).combine_chunks()
