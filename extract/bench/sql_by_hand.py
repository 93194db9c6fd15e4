"""What one would write by hand for stock alerts: a table of constants, and one join."""

from __future__ import annotations

import contextlib
import io
from typing import Any, Final, Protocol

from extract.scheme.database.binary_copy import END, HEAD, copy_data
from extract.scheme.database.duckdb_store import temporary_connection
from extract.scheme.database.location import DatabaseLocation
from extract.scheme.database.postgresql_store import connect

JOIN: Final = (
    "SELECT v.document, a.seq FROM message_values v JOIN alerts a ON v.symbol = a.symbol "
    "AND v.price > a.price AND v.open < a.open AND v.high > a.high AND v.volume > a.volume"
)
_DOUBLES: Final = ", ".join(
    [f"{name} DOUBLE PRECISION" for name in ("price", "open", "high", "volume")]
)


class HandWritten(Protocol):
    """The constants of alerts in a database, and a join."""

    def fill(self, alerts: Any) -> None:
        """Puts the alerts into a table."""

    def join(self, values: Any) -> int:
        """Joins the values of messages, and fetches the pairs; returns how many there are."""

    def close(self) -> None:
        """Ends it."""


class DuckDbByHand:
    """The same in DuckDB, in memory, or in a temporary file where memory is limited."""

    def __init__(self, location: DatabaseLocation) -> None:
        self._stack = contextlib.ExitStack()
        self._connection = self._stack.enter_context(temporary_connection(location.settings))

    def fill(self, alerts: Any) -> None:
        """See `HandWritten`."""
        self._connection.register("given", alerts)
        self._connection.execute("CREATE TABLE alerts AS SELECT * FROM given ORDER BY symbol")
        self._connection.unregister("given")

    def join(self, values: Any) -> int:
        """See `HandWritten`."""
        self._connection.register("message_values", values)
        return len(self._connection.execute(JOIN).fetchnumpy()["seq"])

    def close(self) -> None:
        """See `HandWritten`."""
        self._stack.close()


class PostgresByHand:
    """The same in PostgreSQL, in temporary tables with an index."""

    def __init__(self, location: DatabaseLocation) -> None:
        self._connection = connect(location)
        self._connection.autocommit = True

    def fill(self, alerts: Any) -> None:
        """See `HandWritten`."""
        run = self._connection.execute
        run("SET temp_buffers = '128MB'")
        run(f"CREATE TEMP TABLE alerts (seq BIGINT, symbol TEXT, {_DOUBLES})")
        run(f"CREATE TEMP TABLE message_values (document INTEGER, symbol TEXT, {_DOUBLES})")
        self._copy("alerts", alerts.sort_by("symbol").combine_chunks())
        run("CREATE INDEX ON alerts (symbol)")
        run("VACUUM (ANALYZE) alerts")

    def join(self, values: Any) -> int:
        """See `HandWritten`."""
        self._copy("message_values", values)
        self._connection.execute("ANALYZE message_values")
        data = io.BytesIO()
        with (
            self._connection.cursor() as cursor,
            cursor.copy(f"COPY ({JOIN}) TO STDOUT (FORMAT binary)") as copy,
        ):
            for part in copy:
                data.write(part)
        self._connection.execute("TRUNCATE message_values")
        return (data.tell() - len(HEAD) - len(END)) // 22  # bytes of a row

    def _copy(self, table: str, rows: Any) -> None:
        with (
            self._connection.cursor() as cursor,
            cursor.copy(f"COPY {table} FROM STDIN (FORMAT binary)") as copy,
        ):
            copy.write(HEAD)
            for part in copy_data(rows):
                copy.write(part)
            copy.write(END)

    def close(self) -> None:
        """See `HandWritten`."""
        self._connection.close()
