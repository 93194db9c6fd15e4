"""``extract bench messages``: small messages and very many queries, next to a parse of them.

Each row compares what `extract.Filter` takes for a message, from bytes to a table of rows, with a
rival in the same run: processor time of one core, best of some turns. Stock quotes are here, other
messages in `extract.bench.news` and `extract.bench.proteins`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final

from lxml import etree

from extract.bench.message_rivals import JOIN, best_seconds, duckdb_join
from extract.bench.message_rows import COLUMNS, REMARKS, Measured, Row, filter_of, held
from extract.bench.process import resident_bytes
from extract.bench.stock import alerts, messages, stock_schema
from extract.bench.table import ResultTable
from extract.live_filter import Filter

_STOCK: Final = (100_000, 1_000_000)  # subscriptions
_LONG_RUN: Final = 1_000_000  # messages
_BATCH: Final = 20_000
_CALLS: Final = 2_000  # messages one at a time, and queries that come and go


def run(data: Path | None, scale: float = 1.0) -> ResultTable:
    """Stock quotes; one message a call, changes, growth, and memory."""
    remarks = [
        *REMARKS,
        f"{JOIN}: lxml reads five values, DuckDB joins a batch with a table of constants.",
    ]
    rows = [*_stock(scale, remarks), *_growth(scale)]
    remarks += [
        "Plain C for the five predicates of stock alone: 1,700,000 a second for 100,000 queries,",
        "720,000 for 1,000,000.",
    ]
    return ResultTable("Messages, one core", COLUMNS, rows, tuple(remarks))


def _stock(scale: float, remarks: list[str]) -> Iterator[Row]:
    """One equality and four ranges, as in the relational paper."""
    quotes = list(messages(max(100, int(_BATCH * scale))))
    before: Measured | None = None
    for size in _STOCK:
        count = max(100, int(size * scale))
        ready = filter_of(stock_schema(), dict(alerts(count)))
        done = Measured.of("stock", ready, quotes)
        join = duckdb_join(count)
        if join is not None:
            rows, seconds = _joined(join, quotes)
            if rows != round(done.matches * len(quotes)):
                raise AssertionError("the join by hand finds other rows")
            yield done.row(JOIN, seconds, 1 / 3)
        if before is None:
            yield from done.next_to_parsers()
            yield from _one_at_a_time(ready, quotes, scale)
            remarks.append(_memory(ready, quotes, max(1_000, int(_LONG_RUN * scale))))
        else:
            yield done.row(f"{before.queries:,} queries", before.seconds, 3.0)
        before = done
    if join is None:
        remarks.append(f"Without {JOIN}: DuckDB is not installed.")


def _joined(join: Callable[[Sequence[bytes]], Any], quotes: Sequence[bytes]) -> tuple[int, float]:
    """How many rows a join by hand finds, and its seconds for a message."""
    return join(quotes).num_rows, best_seconds(lambda: join(quotes), 3) / len(quotes)


def _one_at_a_time(ready: Filter, quotes: Sequence[bytes], scale: float) -> Iterator[Row]:
    """One message a call, and queries that come and go one by one."""
    calls = max(50, int(_CALLS * scale))
    some = list(islice(cycle(quotes), calls))
    named = [(str(number), message) for number, message in enumerate(some)]
    xpaths = [xpath for _, xpath in alerts(calls, seed=5)]

    def one_by_one() -> None:
        for one in named:
            ready.table([one])

    def add() -> None:
        for number, xpath in enumerate(xpaths):
            ready.add({f"new{number}": xpath})

    def remove() -> None:
        for number in range(calls):
            ready.remove([f"new{number}"])

    def by_hand() -> None:
        for message in some:
            query(etree.fromstring(message))

    def compile_all() -> None:
        for xpath in xpaths:
            etree.XPath(xpath)

    query = etree.XPath(xpaths[0])
    matches = ready.table(named).num_rows / calls
    seconds = best_seconds(one_by_one) / calls
    done = Measured("stock, one a call", len(ready), some, matches, seconds)
    yield done.row("parse and XPath", best_seconds(by_hand) / calls, 10.0)
    times: dict[str, list[float]] = {"add a query": [], "remove a query": []}
    for _ in range(3):
        times["add a query"].append(best_seconds(add, 1) / calls)
        times["remove a query"].append(best_seconds(remove, 1) / calls)
    compiling = best_seconds(compile_all) / calls
    for name, turns in times.items():
        ratio = min(turns) / compiling
        figures: Row = [int(1 / min(turns)), min(turns) * 1e6, "etree.XPath", compiling * 1e6]
        yield [name, len(ready), "", "", *figures, ratio, *held(ratio, 20.0)]


def _memory(ready: Filter, quotes: Sequence[bytes], count: int) -> str:
    """The memory of this process over many messages, in words."""
    named = [(str(number), message) for number, message in enumerate(quotes)]
    sizes = []
    for _ in range(10):
        for _ in range(max(1, count // 10 // len(named))):
            ready.table(named)
        sizes.append(resident_bytes() / 1e6)
    return (
        f"Memory over {count:,} messages: {sizes[0]:,.1f} MB after a tenth of them, "
        f"{sizes[-1]:,.1f} MB after all."
    )


def _growth(scale: float) -> Iterator[Row]:
    """How the speed changes with one figure at a time, next to lxml's parse."""
    quotes = list(messages(max(100, int(_BATCH * scale))))
    for size in (1_000, 10_000):  # those above are in `_stock`
        ready = filter_of(stock_schema(), dict(alerts(max(10, int(size * scale)))))
        yield next(Measured.of("stock, few queries", ready, quotes).next_to_parsers())
    count = max(100, int(10_000 * scale))
    for share in (0.0001, 0.001, 0.01, 0.1):
        different = max(1, int(1 / share))
        queries = {f"q{n}": f"/stock[symbol = 'S{n % different}']" for n in range(count)}
        short = [
            b"<stock><symbol>S%d</symbol></stock>" % (n % different) for n in range(len(quotes))
        ]
        done = Measured.of(f"matching: {share:.2%}", filter_of(stock_schema(), queries), short)
        yield next(done.next_to_parsers())
