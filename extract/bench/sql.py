"""``extract bench sql``: a database matches, as in the paper's tables, next to SQL by hand.

Alerts with an equality and four ranges, 10,000 messages of a stock each. The messages decide how
many of the alerts that name their stock match: 1,000 notifications in all, up to 1,000,000. By hand
means one statement on tables with typed columns, whose rows are there: nobody has read any XML.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np
import pyarrow as pa
from lxml import etree

from extract.bench.sql_by_hand import DuckDbByHand, HandWritten, PostgresByHand
from extract.bench.sql_shared_plan import shared_plan_seconds
from extract.bench.table import ResultTable
from extract.filtertool.sql_scheme import open_sql_scheme
from extract.limits import DEFAULTS
from extract.live_filter import Filter
from extract.preptool.prepare import prepare
from extract.schema.model import Declaration, Schema
from extract.scheme.database.location import location_of
from extract.scheme.database.store import open_store
from extract.scheme.database.tables import MEMBER
from extract.scheme.model import Scheme
from extract.subscriptions import Subscriptions

POSTGRESQL: Final = "EXTRACT_POSTGRESQL"  # the environment variable with the URL of a server
_SIZES: Final = (100_000, 1_000_000)
_NOTIFICATIONS: Final = (1_000, 10_000, 100_000, 1_000_000)
_MESSAGES: Final = 10_000
_SYMBOLS: Final = 5_000
_TURNS: Final = 3
_NAMES: Final = ("symbol", "price", "open", "high", "volume")
_ALERT: Final = (
    "/stock[symbol = 'S0' and price > 0 and open < 600 and high > 100 and volume > 9000]"
)
_PAPER: Final = (
    "The paper (DB2 8.1, Pentium IV 1.4 GHz, 512 MB, 2004): 1,000,000 subscriptions, unrolled "
    "plan, 56 s for 1,000 notifications, 61 s for 10,000, 70 s for 100,000, 161 s for 1,000,000; "
    "shared and bucketed 26 s, 45 s, 195 s, 1,210 s; both with 24 s to parse and insert.",
    "extract: from XML to rows; of it join: from values that are read to pairs in order. SQL by "
    "hand: one statement on the same values and constants; lxml: what it takes to get them. push: "
    "from XML to rows, with all subscriptions in memory. open: to read the templates and copy the "
    "constants, once. Processor time of this process for DuckDB, by the clock for PostgreSQL; best "
    "of three.",
    "Goal: to join the same rows takes at most 2 times as long as by hand (join x by hand). From "
    "XML to rows it takes more (extract x by hand), because the statement by hand begins with "
    "values that somebody has read; x lxml and hand compares with whoever reads them with lxml.",
)


@dataclass(frozen=True, slots=True)
class AlertConstants:
    """The constants of alerts, as columns."""

    symbol: Any
    bounds: tuple[Any, ...]

    @classmethod
    def of(cls, count: int) -> AlertConstants:
        """So many alerts."""
        random = np.random.default_rng(1)
        symbol = random.integers(0, _SYMBOLS, count)
        spans = ((0, 1000), (600, 1000), (0, 400), (0, 9000))
        return cls(symbol, tuple([np.round(random.uniform(*one, count), 2) for one in spans]))


def run(data: Path | None, scale: float = 1.0) -> ResultTable:
    """Measures each engine with up to 1,000,000 subscriptions."""
    del data
    return measured(_SIZES, scale)


def measured(sizes: Sequence[int], scale: float) -> ResultTable:
    """Measures each engine with each number of subscriptions."""
    rows: list[list[str | int | float]] = []
    remarks = [*_PAPER]
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            count = max(1_000, int(size * scale))
            constants = AlertConstants.of(count)
            for engine, url in engine_urls(folder, count):
                rows += _measure(engine, url, constants, scale)
            if size > _SIZES[-1]:
                limited = f"duckdb:{folder}/{count}.duckdb?memory_limit=512MB"
                rows += _measure("DuckDB, 512 MB", limited, constants, scale, push=False)
            if size == _SIZES[0]:
                remarks += _plans(folder, constants, scale)
            _forget(folder, count)
    if not os.environ.get(POSTGRESQL):
        remarks.append(f"Without PostgreSQL: name a server in {POSTGRESQL}.")
    columns = (
        *("engine", "subscriptions", "notifications", "extract s", "of it join s"),
        *("SQL by hand s", "join x by hand", "extract x by hand", "lxml s", "x lxml and hand"),
        *("push s", "open s"),
    )
    return ResultTable("A database matches 10,000 messages", columns, rows, tuple(remarks))


def engine_urls(folder: str, count: int) -> Iterator[tuple[str, str]]:
    """The engines that there are, and a database of each."""
    yield "DuckDB", f"duckdb:{folder}/{count}.duckdb"
    server = os.environ.get(POSTGRESQL)
    if server:
        yield "PostgreSQL", f"{server}{'&' if '?' in server else '?'}schema=bench{count}"


def _measure(
    engine: str, url: str, constants: AlertConstants, scale: float, push: bool = True
) -> list[list[str | int | float]]:
    rows: list[list[str | int | float]] = []
    count = len(constants.symbol)
    if "memory_limit" not in url:
        fill(url, constants)
    started = time.perf_counter()
    scheme = open_sql_scheme(url, "doc")
    assert scheme.stored is not None
    ready = Filter(scheme, matcher="sql")
    opened = time.perf_counter() - started
    joiner = scheme.stored.joiner(DEFAULTS)
    loaded = Filter(Scheme.load(url), matcher="push") if push and engine == "DuckDB" else None
    clock = time.process_time if location_of(url).engine == "duckdb" else time.perf_counter
    with _by_hand(url, constants) as hand:
        for wanted in _NOTIFICATIONS:
            values = MessageValues.of(count, max(10, int(wanted * scale)), scale)
            if values is None:
                continue
            messages = values.messages()
            ours, found = _best(partial(ready.table, messages), clock)
            values_read = joiner.values.conforming([message for _, message in messages])
            joined, _ = _best(partial(joiner.joined, values_read), clock)
            theirs, pairs = _best(partial(hand.join, values.table()), clock)
            assert found.num_rows == pairs, f"{found.num_rows} rows, and by hand {pairs}"
            read, _ = _best(partial(_read_by_hand, messages), clock)
            pushed: float | str = ""
            if loaded is not None:
                pushed, other = _best(partial(loaded.table, messages), clock)
                assert other.num_rows == pairs
            ratios = (joined / theirs, ours / theirs, read, ours / (theirs + read))
            rows.append([engine, count, pairs, ours, joined, theirs, *ratios, pushed, opened])
    scheme.stored.tables.close()
    return rows


def _read_by_hand(messages: list[tuple[str, bytes]]) -> int:
    """Reads the values of messages with lxml."""
    rows = []
    for _, message in messages:
        find = etree.fromstring(message).findtext
        rows.append((find("symbol"), *[float(find(name) or "nan") for name in _NAMES[1:]]))
    return len(rows)


def alert_schema() -> Schema:
    """The schema of messages."""
    names = tuple([Declaration(n, name) for n, name in enumerate(_NAMES, 1)])
    children = tuple(range(1, len(_NAMES) + 1))
    return Schema("stock", "dtd", (Declaration(0, "stock", children=children), *names), roots=(0,))


def fill(url: str, constants: AlertConstants) -> None:
    """Puts alerts into a database: a scheme with one of them, and then rows of members."""
    prepare(alert_schema(), Subscriptions.of({"first": _ALERT}), 1).save(url)
    count = len(constants.symbol)
    texts = [[f"S{symbol}" for symbol in constants.symbol.tolist()]]
    texts += [[repr(value) for value in one.tolist()] for one in constants.bounds]
    width = len(texts)
    flat = pa.array([text for row in zip(*texts, strict=True) for text in row])
    ends = pa.array(np.arange(0, (count + 1) * width, width, dtype=np.int32))
    doubles = np.column_stack([np.zeros(count), *constants.bounds]).reshape(-1)
    mask = np.tile(np.array([True, *[False] * (width - 1)]), count)
    rows = {
        "seq": pa.array(np.arange(1, count + 1)),
        "id": pa.array([f"alert{number}" for number in range(count)]),
        "template": pa.array(np.zeros(count, np.int32)),
        "wording": pa.nulls(count, pa.int32()),
        "constants": pa.ListArray.from_arrays(ends, flat),
        "numbers": pa.ListArray.from_arrays(ends, pa.array(doubles, mask=mask)),
        "weight": pa.array(np.ones(count)),
        "metadata": pa.nulls(count, pa.string()),
        "revision": pa.array(np.ones(count, np.int64)),
    }
    table = pa.table([rows[name] for name in MEMBER.columns.names], schema=MEMBER.columns)
    with open_store(location_of(url), write=True) as store:
        store.execute("DELETE FROM member")
        store.insert(MEMBER.name, table)


@dataclass(frozen=True, slots=True)
class MessageValues:
    """What the messages say."""

    symbol: Any
    price: Any

    @classmethod
    def of(cls, alerts: int, notifications: int, scale: float) -> MessageValues | None:
        """Messages that lead to so many notifications; None if there are not as many alerts."""
        count = max(100, int(_MESSAGES * scale))
        pairs = alerts * count / _SYMBOLS
        if notifications > pairs:
            return None
        random = np.random.default_rng(2)
        price = 1000 * notifications / pairs * random.uniform(0.95, 1.05, count)
        return cls(random.integers(0, _SYMBOLS, count), np.round(price, 4))

    def messages(self) -> list[tuple[str, bytes]]:
        """The messages as XML."""
        random = Random(3)
        made = []
        for number, (symbol, price) in enumerate(
            zip(self.symbol.tolist(), self.price.tolist(), strict=True)
        ):
            volume = random.choice(("10000", "10000.5"))
            inside = f"<symbol>S{symbol}</symbol><price>{price}</price><open>500</open>"
            inside += f"<high>500</high><volume>{volume}</volume>"
            made.append((f"m{number}", f"<stock>{inside}</stock>".encode()))
        return made

    def table(self) -> Any:
        """The same values as columns."""
        count = len(self.symbol)
        return pa.table(
            {
                "document": np.arange(count, dtype=np.int32),
                "symbol": pa.array([f"S{symbol}" for symbol in self.symbol.tolist()]),
                "price": self.price,
                "open": np.full(count, 500.0),
                "high": np.full(count, 500.0),
                "volume": np.full(count, 10_000.0),
            }
        )


def _best(work: Callable[[], Any], clock: Callable[[], float]) -> tuple[float, Any]:
    best, result = float("inf"), None
    for _ in range(_TURNS):
        started = clock()
        result = work()
        best = min(best, clock() - started)
    return best, result


@contextlib.contextmanager
def _by_hand(url: str, constants: AlertConstants) -> Iterator[HandWritten]:
    symbols = pa.array([f"S{symbol}" for symbol in constants.symbol.tolist()])
    columns = dict(zip(_NAMES[1:], constants.bounds, strict=True))
    alerts = pa.table({"seq": np.arange(len(symbols)), "symbol": symbols, **columns})
    location = location_of(url)
    made: HandWritten
    made = DuckDbByHand(location) if location.engine == "duckdb" else PostgresByHand(location)
    with contextlib.closing(made):
        made.fill(alerts)
        yield made


def _plans(folder: str, constants: AlertConstants, scale: float) -> list[str]:
    """The paper's other plan, on the engines that there are."""
    lines = []
    for wanted in (1_000, 10_000, 100_000):
        values = MessageValues.of(len(constants.symbol), max(10, int(wanted * scale)), scale)
        if values is None:
            continue
        for engine, url in engine_urls(folder, len(constants.symbol)):
            seconds, pairs = shared_plan_seconds(
                location_of(url), constants.symbol, constants.bounds, values.table()
            )
            lines.append(
                f"Shared and bucketed plan, {engine}, {len(constants.symbol):,} subscriptions, "
                f"{pairs:,} notifications: {seconds:.2f} s."
            )
    return lines


def _forget(folder: str, count: int) -> None:
    for file in Path(folder).glob(f"{count}.duckdb*"):
        file.unlink()
