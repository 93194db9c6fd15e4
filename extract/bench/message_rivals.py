"""What one would do without extract, message by message: parsers, and a join by hand."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final
from xml.parsers import expat

from lxml import etree

from extract.bench.stock import FIGURES, stock_constants

_TURNS: Final = 5
JOIN: Final = "lxml + DuckDB"


def best_seconds(work: Callable[[], object], turns: int = _TURNS) -> float:
    """The least processor time of some turns."""
    best = float("inf")
    for _ in range(turns):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best


def lxml_parse(messages: Iterable[bytes]) -> None:
    """Parses messages with lxml, one tree at a time."""
    for message in messages:
        etree.fromstring(message)


def expat_parse(messages: Iterable[bytes]) -> None:
    """Parses messages with expat, and does nothing with their elements and texts."""
    for message in messages:
        parser = expat.ParserCreate()
        parser.StartElementHandler = parser.EndElementHandler = _ignore
        parser.CharacterDataHandler = _ignore
        parser.Parse(message, True)


def _ignore(*_: object) -> None:
    """An event."""


def duckdb_join(subscriptions: int) -> Callable[[Sequence[bytes]], Any] | None:
    """A join by hand, for stock alerts: lxml reads five values of each message, and DuckDB joins
    them with a table of the alerts' constants, a batch at a time.

    Args:
        subscriptions: How many alerts: those that `alerts` yields.

    Returns:
        A function from messages to a table of numbers of messages and ids of alerts; None if DuckDB
        is not installed.
    """
    try:
        import duckdb
    except ImportError:
        return None
    import pyarrow as pa

    names = ("id", "symbol", *FIGURES)
    alerts = pa.table(
        dict(zip(names, zip(*stock_constants(subscriptions), strict=True), strict=True))
    )
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.register("given", alerts)
    connection.execute("CREATE TABLE alerts AS SELECT * FROM given ORDER BY symbol")

    def join(messages: Sequence[bytes]) -> Any:
        rows = []
        for number, message in enumerate(messages):
            find = etree.fromstring(message).findtext
            rows.append((number, find("symbol"), *[float(find(name) or "nan") for name in FIGURES]))
        connection.register(
            "messages", pa.table(dict(zip(names, zip(*rows, strict=True), strict=True)))
        )
        return connection.sql(
            "SELECT m.id, a.id FROM messages m JOIN alerts a ON m.symbol = a.symbol AND "
            "m.price > a.price AND m.volume > a.volume AND m.high < a.high AND m.low > a.low"
        ).to_arrow_table()

    return join
