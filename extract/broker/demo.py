"""``extract serve --demo``: a feed that ticks, and subscriptions to look at."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from random import Random
from typing import Final

from extract.client.client import Client
from extract.errors import BrokerError, ExtractError
from extract.scenarios import Scenario, scenario
from extract.subscriptions import Subscription, Subscriptions

FEED: Final = "stock"
QUERIES: Final = 1_000  # of the scenario, to search in
PER_SECOND: Final = 5
_SIZE: Final = 900  # bytes of a message
_BROKEN: Final = 40  # one message in so many is cut off

EXAMPLES: Final = {
    "large-volumes": "//quote[volume >= 95000]",
    "falling-fast": "/quotes/quote[change < -6]/symbol",
    "london-movers": "/quotes[@market = 'lse']"
    "/quote[translate(change, '+', '') > 6 or change < -6]",
    "cheap-in-dollars": "//quote[@currency = 'USD'][price < 20]/name",
    "winners": "<winners>{ for $q in //quote where translate($q/change, '+', '') > 4 "
    "order by number(translate($q/change, '+', '')) descending "
    'return <quote symbol="{ $q/symbol }">{ $q/price }{ $q/change }</quote> }</winners>',
}


def set_up(client: Client, queries: int = QUERIES) -> None:
    """Makes the feed and its subscriptions, unless they are there.

    Args:
        client: Of the broker.
        queries: How many of the scenario, besides the examples.
    """
    stock = scenario(FEED)
    if FEED not in {one.name for one in client.feeds()}:
        generator = stock.generator
        dtd = (stock.folder / generator.SCHEMA).read_text(encoding="utf-8")
        client.put_feed(FEED, dtd=dtd, root=generator.ROOT)
    if client.feed(FEED).subscriptions == 0:
        client.add(FEED, Subscriptions.of([*_examples(), *_many(stock, queries)]))


def _examples() -> Iterator[Subscription]:
    for name, query in EXAMPLES.items():
        yield Subscription(name, query, metadata={"owner": "demo", "tags": ["example"]})


def _many(stock: Scenario, count: int) -> Iterator[Subscription]:
    for one in stock.queries(count):
        yield Subscription(f"alert-{int(one.id):04}", one.xpath, metadata={"owner": "alerts"})


def messages(seed: int = 1) -> Iterator[tuple[str, bytes]]:
    """Yields messages for ever: quotes of one market each, some of them cut off."""
    stock, rng, number = scenario(FEED), Random(seed), 0
    while True:
        number += 1
        content = b"".join(stock.document(_SIZE, seed * 1_000_003 + number))
        if rng.randrange(_BROKEN) == 0:
            content = content[: len(content) * 2 // 3]
        yield f"quotes-{number}.xml", content


class Ticker:
    """Publishes messages in a thread of its own, until it is closed.

    The first request waits until the broker answers.

    Args:
        url: Of the broker.
        token: For it; empty for none.
        per_second: How many messages.
    """

    def __init__(self, url: str, token: str = "", per_second: float = PER_SECOND) -> None:
        self._client = Client(url, token, retries=1)
        self._pause = 1.0 / per_second
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="demo", daemon=True)

        self._thread.start()

    def close(self) -> None:
        """Ends after the message that is under way."""
        self._stopped.set()
        self._thread.join(10)

    def _run(self) -> None:
        with self._client as client:
            try:
                set_up(client)
                for name, content in messages():
                    if self._stopped.wait(self._pause):
                        return
                    _publish(client, name, content)
            except BrokerError:  # the broker stops, and so does the demo
                return


def _publish(client: Client, name: str, content: bytes) -> None:
    try:
        client.publish(FEED, content, name)
    except BrokerError:
        raise
    except ExtractError:  # a message that was cut off: the page shows why it is refused
        return
