"""Makes three streams of documents, joins them, and says what came out.

    python scenarios/deliveries/deliveries.py [--orders N] [--keep DIR]

Orders are delivered after hours or days, some never; invoices come before or after the delivery,
some with a wrong amount, some twice. All of that is drawn from a seed, so that what must come out
is known, and checked.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from extract import Joins

QUERIES = Path(__file__).parent / "joins.tsv"
START = datetime(2026, 3, 2, 8, tzinfo=UTC)
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Message:
    """A document of a stream, and its time."""

    stream: str
    name: str
    time: datetime
    xml: str


def messages(count: int, expected: Counter[str], seed: int = 1) -> Iterator[Message]:
    """Yields the documents of so many orders, and counts what must be joined."""
    rng = Random(seed)
    for number in range(1001, 1001 + count):
        placed = START + timedelta(minutes=7 * (number - 1001))
        total = f"{rng.randrange(500, 90_000) / 100:.2f}"
        customer = f"<customer>C{rng.randrange(200)}</customer>"
        order = f"<number>{number}</number>{customer}<total>{total}</total>"
        yield _message("orders", "order", number, placed, order)
        arrived = placed + timedelta(hours=rng.randrange(4, 9 * 24))  # a week is 168 hours
        delivered = rng.random() < 0.95
        if delivered:
            parcel = f"<order>{number}</order><parcel>P-{rng.randrange(10**6):06}</parcel>"
            yield _message("deliveries", "delivery", number, arrived, parcel)
        in_time = delivered and arrived - placed <= 7 * DAY
        expected["delivered"] += in_time
        times = 2 if rng.random() < 0.05 else 1
        billed = placed + timedelta(hours=rng.randrange(1, 12 * 24))
        for copy in range(times):
            right = rng.random() < 0.97
            amount = total if right else f"{float(total) + 1:.2f}"
            moment = billed + copy * timedelta(hours=30)
            bill = f"<order>{number}</order><amount>{amount}</amount>"
            yield _message("invoices", "invoice", number + 100_000 * copy, moment, bill)
            if delivered and moment < arrived <= moment + 14 * DAY:
                expected["billed-first"] += 1
            if in_time and right and abs(moment - arrived) <= 14 * DAY:
                expected["settled"] += 1
        expected["billed-twice"] += times - 1


def _message(stream: str, tag: str, number: int, time: datetime, inside: str) -> Message:
    moment = time.isoformat().replace("+00:00", "Z")
    xml = f"<{tag}>{inside}<time>{moment}</time></{tag}>\n"
    return Message(stream, f"{stream}/{number}.xml", time, xml)


def main(args: list[str] | None = None) -> int:
    """Runs the example; returns 1 if something else comes out than must."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=500, help="how many orders there are")
    parser.add_argument("--keep", type=Path, help="write the documents into this directory")
    options = parser.parse_args(args)
    expected: Counter[str] = Counter()
    documents = sorted(messages(options.orders, expected), key=lambda one: (one.time, one.name))
    with ExitStack() as stack:
        folder = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for one in documents:
            path = folder / one.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(one.xml, encoding="utf-8")
        joins = Joins.load(QUERIES)
        found: Counter[str] = Counter()
        most = 0
        for one in documents:
            rows = joins.process(one.stream, one.name, folder / one.name, one.time)
            found.update([row.query for row in rows])
            most = max(most, joins.state.documents)
    say = sys.stdout.write
    say(f"{len(documents)} documents; at most {most} kept at a time, published ones included\n")
    for query in joins.queries:
        say(f"{query}: {found[query]} of {expected[query]}\n")
    return 0 if +found == +expected else 1


if __name__ == "__main__":
    raise SystemExit(main())
