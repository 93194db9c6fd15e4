"""`Client`: a broker in Python, used as a file or database of subscriptions is.

broker = extract.Client("http://127.0.0.1:8080")
broker.put_feed("stock")
broker.add("stock", {"ibm": "/stock[symbol = 'IBM']"})
broker.publish("stock", b"<stock><symbol>IBM</symbol></stock>")
for one in broker.follow("ibm"):
    print(one.document, one.matches)
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from extract.client.answers import Feed, FeedDocument, Notification, Receipt, RemoteSubscription
from extract.client.bodies import (
    Publishable,
    Queries,
    as_subscriptions,
    content_of,
    document_blocks,
    subscription_lines,
)
from extract.client.events import read_events
from extract.client.token import find_token
from extract.client.transport import Transport, refusal_of
from extract.errors import BrokerError, DocumentError

_JSON: Final = {"Content-Type": "application/json"}
_LINES: Final = {"Content-Type": "application/x-ndjson"}
_PAGE: Final = 1_000
_WAIT: Final = 30.0  # seconds of one long poll


class Client:
    """A broker (``extract serve``), over HTTP. Several threads may use one client.

    Args:
        url: Where it is: ``http://host:port``.
        token: Says who you are, where the broker wants that. By default the environment variable
            ``EXTRACT_TOKEN``, else the first line of the file that ``EXTRACT_TOKEN_FILE`` names.
        token_file: In place of `token`, a file with it.
        timeout: Seconds to wait for an answer.
        retries: How often a request is sent again while the broker is busy or away. No request
            is repeated that the broker could then take twice.

    Raises:
        BrokerError: The URL or the token cannot be used.
        ExtractError: httpx is not installed.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        token_file: str | Path | None = None,
        timeout: float = 30.0,
        retries: int = 5,
    ) -> None:
        self._transport = Transport(url, find_token(token, token_file), timeout, retries)
        self.url = self._transport.url

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections; the client cannot be used any more."""
        self._transport.close()

    def __repr__(self) -> str:
        return f"<Client of {self.url}>"

    def health(self) -> dict[str, Any]:
        """What the broker says of itself, without a token."""
        return dict(self._transport.json("GET", "health"))

    # -- feeds

    def feeds(self) -> list[Feed]:
        """The feeds that you may see."""
        return [Feed.of(one) for one in self._transport.json("GET", "feeds")["feeds"]]

    def feed(self, name: str) -> Feed:
        """One feed.

        Raises:
            BrokerError: There is none of this name, or you may not see it.
        """
        return Feed.of(self._transport.json("GET", f"feeds/{_segment(name)}"))

    def put_feed(self, name: str, **settings: Any) -> Feed:
        """Makes a feed, or gives it another schema.

        Args:
            name: The feed.
            settings: As in ``PUT /feeds/{feed}``: ``dtd`` or ``xsd`` (the text) with ``root``;
                nothing for a feed whose schema is inferred, or that has none.
        """
        body = json.dumps(settings).encode()
        return Feed.of(self._json("PUT", f"feeds/{_segment(name)}", body, _JSON))

    def remove_feed(self, name: str) -> None:
        """Removes a feed."""
        self._transport.json("DELETE", f"feeds/{_segment(name)}")

    # -- subscriptions

    def add(self, feed: str, queries: Queries, webhook: str = "") -> int:
        """Adds subscriptions, which hold for the next document; all of them, or none.

        Args:
            feed: The feed.
            queries: As for `extract.Filter.add`: a mapping of id to query, `Subscriptions`, ...
                A query may be XPath, FLWR or XSCL.
            webhook: Where their notifications are sent; by default they are fetched.

        Returns:
            How many.

        Raises:
            QuerySyntaxError: A query cannot be evaluated.
            BrokerError: An id is taken.
        """
        return self._put_many(feed, queries, webhook, "create")

    def replace(self, feed: str, queries: Queries, webhook: str = "") -> int:
        """Replaces subscriptions by others with the same ids; all of them, or none.

        Raises:
            QuerySyntaxError: A query cannot be evaluated.
            BrokerError: An id is not there.
        """
        return self._put_many(feed, queries, webhook, "replace")

    def _put_many(self, feed: str, queries: Queries, webhook: str, mode: str) -> int:
        some = as_subscriptions(queries)
        path = f"feeds/{_segment(feed)}/subscriptions?{urlencode({'mode': mode})}"
        self._json("POST", path, subscription_lines(some, webhook), _LINES)
        return len(some)

    def remove(self, feed: str, ids: Iterable[str]) -> int:
        """Removes subscriptions by their ids; returns how many.

        Raises:
            BrokerError: One of them is not there; then nothing is removed.
        """
        names = list(dict.fromkeys([ids] if isinstance(ids, str) else ids))
        for name in names:
            self.subscription(feed, name)
        for name in names:
            path = f"feeds/{_segment(feed)}/subscriptions/{_segment(name)}"
            self._transport.json("DELETE", path)
        return len(names)

    def subscription(self, feed: str, identifier: str) -> RemoteSubscription:
        """One subscription.

        Raises:
            BrokerError: There is none of this id, or you may not see it.
        """
        path = f"feeds/{_segment(feed)}/subscriptions/{_segment(identifier)}"
        return RemoteSubscription.of(self._transport.json("GET", path))

    def subscriptions(self, feed: str, search: str = "") -> Iterator[RemoteSubscription]:
        """Yields the subscriptions of a feed; with `search`, those whose id or query has it."""
        after = ""
        while True:
            values = {"search": search, "after": after, "limit": str(_PAGE)}
            query = urlencode({key: value for key, value in values.items() if value})
            page = self._transport.json("GET", f"feeds/{_segment(feed)}/subscriptions?{query}")
            yield from map(RemoteSubscription.of, page["subscriptions"])
            after = page.get("next") or ""
            if not after:
                return

    # -- documents

    def publish(self, feed: str, document: Publishable, name: str = "") -> Receipt:
        """Publishes a document; when this returns, the broker has it on disk.

        Args:
            feed: The feed.
            document: Bytes, a path or a file.
            name: As notifications call it; by default the broker gives it one.

        Raises:
            DocumentError: It is not well-formed, or breaks a limit.
        """
        return self._publish(feed, content_of(document), name, _once())

    def _publish(self, feed: str, content: bytes, name: str, once: Mapping[str, str]) -> Receipt:
        path = f"feeds/{_segment(feed)}/documents"
        query = f"?{urlencode({'name': name})}" if name else ""
        headers = {"Content-Type": "application/xml", **once}
        return Receipt.of(self._json("POST", path + query, content, headers))

    def publish_all(
        self, feed: str, documents: Iterable[tuple[str, Publishable]], key: str = ""
    ) -> Iterator[Receipt]:
        """Publishes many documents, and yields what became of each, in their order.

        They are sent in requests of some megabytes. One that is refused holds up no other. What has
        not been yielded may or may not have been taken; a request that is sent again after a broken
        connection is taken once.

        Args:
            feed: The feed.
            documents: Names and documents.
            key: A name for these documents, in this order: who publishes them again with it, after
                a crash and within a day, publishes nothing twice.
        """
        path = f"feeds/{_segment(feed)}/documents"
        for number, block in enumerate(document_blocks(documents)):
            once = {"Idempotency-Key": f"{key}.{number}"} if key else _once()
            lines = [line for _, _, line in block if line is not None]
            if len(lines) == len(block):
                body = "".join(lines).encode()
                for facts in self._json("POST", path, body, {**_LINES, **once})["results"]:
                    yield Receipt.of(facts)
                continue
            for name, content, _ in block:  # one, in an encoding that JSON has not
                try:
                    yield self._publish(feed, content, name, once)
                except DocumentError as error:
                    yield Receipt(name, 0, error)

    def documents(
        self, feed: str, after: int = 0, last: int | None = None
    ) -> Iterator[FeedDocument]:
        """Yields the documents of a feed that there are, by their numbers.

        Args:
            feed: The feed.
            after: The last number that you have; 0 begins with the oldest that is kept.
            last: The last number that you want.

        Raises:
            BrokerError: The broker no longer keeps those after this number (status 410, with the
                oldest that it keeps in ``body["oldest"]``), or there is no such feed.
        """
        while last is None or after < last:
            limit = _PAGE if last is None else min(_PAGE, last - after)
            query = urlencode({"after": after, "limit": limit})
            page = self._transport.json("GET", f"feeds/{_segment(feed)}/documents?{query}")
            for facts in page["documents"]:
                one = FeedDocument.of(facts)
                if last is not None and one.number > last:  # there is a gap, and it is behind it
                    return
                yield one
                after = one.number
            if not page["documents"]:
                return

    # -- notifications

    def notifications(
        self, subscription: str, after: int = 0, wait: float = 0, limit: int = _PAGE
    ) -> list[Notification]:
        """The notifications behind a number, the oldest first; empty if there are none.

        Args:
            subscription: Its id.
            after: The last number that you have dealt with.
            wait: Seconds to wait if there are none yet.
            limit: How many at most.

        Raises:
            BrokerError: The broker no longer keeps those after this number (status 410, with the
                oldest that it keeps in ``body["oldest"]``), or there is no such subscription.
        """
        values = {"after": after, "wait": f"{wait:g}", "limit": limit}
        path = f"subscriptions/{_segment(subscription)}/notifications?{urlencode(values)}"
        page = self._transport.json("GET", path, wait=wait)
        return [Notification.of(one) for one in page["notifications"]]

    def poll(self, subscription: str, after: int = 0) -> Iterator[Notification]:
        """Yields notifications for ever, by long polls: where streams do not pass a proxy."""
        while True:
            for one in self.notifications(subscription, after, _WAIT):
                yield one
                after = one.seq

    def follow(self, subscription: str, after: int = 0) -> Iterator[Notification]:
        """Yields notifications for ever, by server-sent events.

        A connection that breaks is opened again after the last notification that was yielded, so
        that none is missing, and none comes twice.

        Raises:
            BrokerError: The broker stays away, no longer keeps those after this number (410), or
                there is no such subscription.
        """
        failures = 0
        while True:
            path = f"subscriptions/{_segment(subscription)}/notifications?after={after}"
            try:
                with self._transport.lines(path, {"Accept": "text/event-stream"}) as lines:
                    for event in read_events(lines):
                        facts = json.loads(event.data)
                        if event.kind == "error" or "seq" not in facts:
                            raise refusal_of(facts, int(facts.get("status", 500)))
                        failures = 0
                        yield Notification.of(facts)
                        after = int(facts["seq"])
            except BrokerError as error:
                if not self._transport.pause(failures, error):
                    raise
                failures += 1

    def _json(self, method: str, path: str, content: bytes, headers: Mapping[str, str]) -> Any:
        """A request with a body. A POST without a key of its own is not sent again."""
        repeat = method != "POST" or "Idempotency-Key" in headers
        return self._transport.json(method, path, content=content, headers=headers, repeat=repeat)


def _once() -> dict[str, str]:
    """A header that makes a repeated POST harmless."""
    return {"Idempotency-Key": uuid.uuid4().hex}


def _segment(name: str) -> str:
    """A name as one segment of a path.

    Raises:
        BrokerError: No path can have it.
    """
    if name in ("", ".", ".."):
        raise BrokerError(
            f"{name!r} is no name", "a name has at least one character that is no dot"
        )
    return quote(name, safe="")
