"""``extract subs --url``: the subscriptions of a broker's feed, as those of a file."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import click

from extract.cli.tables import Table
from extract.cli.terminal import is_terminal
from extract.client.address import divided
from extract.client.answers import RemoteSubscription
from extract.client.client import Client
from extract.errors import BrokerError
from extract.preptool.explain.labels import printable
from extract.subscriptions import Subscription, Subscriptions
from extract.subscriptions.metadata import Condition
from extract.xpath.later import FIRST

BROKER: Final = "extract.subs.broker"  # key in click's context.meta


@dataclasses.dataclass(frozen=True, slots=True)
class BrokerOptions:
    """Which feed of which broker, and who asks.

    Attributes:
        url: Of the broker, or of one of its feeds: ``http://host:8080/feeds/stock``.
        feed: The feed; by default that of the URL, else the only one that there is.
        token_file: A file with the token; by default the environment says it.
    """

    url: str
    feed: str | None = None
    token_file: str | None = None

    @contextmanager
    def open(self) -> Iterator[tuple[Client, str]]:
        """A client, and the name of the feed.

        Raises:
            BrokerError: The broker does not answer, or it is not clear which feed is meant.
        """
        url, named = divided(self.url)
        if named and self.feed and named != self.feed:
            raise click.UsageError(f"--url names the feed {named}, --feed names {self.feed}.")
        with Client(url, token_file=self.token_file) as client:
            yield client, self.feed or named or _only_feed(client)


def _only_feed(client: Client) -> str:
    names = [one.name for one in client.feeds()]
    if len(names) == 1:
        return names[0]
    if not names:
        hint = "make one: curl -X PUT -H 'Content-Type: application/json' -d '{}' URL/feeds/NAME"
        raise BrokerError(f"{client.url} has no feed", hint)
    some = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
    raise BrokerError(f"{client.url} has {len(names)} feeds", f"choose one with --feed: {some}")


def add_remotely(options: BrokerOptions, queries: Subscriptions, as_json: bool) -> int:
    """Adds subscriptions to a feed: all of them, or none."""
    with options.open() as (client, feed):
        return _report(client, feed, "added", as_json, lambda: client.add(feed, queries))


def replace_remotely(
    options: BrokerOptions, queries: Subscriptions, whole: bool, as_json: bool
) -> int:
    """Replaces subscriptions of a feed: all of them, or none.

    Args:
        options: Which feed.
        queries: The new ones.
        whole: Whether everything is replaced, or the query alone.
        as_json: Whether to report as JSON.
    """
    with options.open() as (client, feed):
        some: Sequence[Subscription] = queries
        if not whole:
            some = [_as_before(one, client.subscription(feed, one.id)) for one in queries]
        return _report(client, feed, "replaced", as_json, lambda: client.replace(feed, some))


def _as_before(new: Subscription, old: RemoteSubscription) -> Subscription:
    """A subscription with the prefixes and the metadata of the one that it replaces."""
    namespaces = {**old.namespaces, **new.namespaces}
    metadata = {**old.metadata, **({"webhook": old.webhook} if old.webhook else {})}
    return dataclasses.replace(new, namespaces=namespaces, metadata=metadata)


def remove_remotely(options: BrokerOptions, ids: Iterable[str], as_json: bool) -> int:
    """Removes subscriptions of a feed by their ids."""
    with options.open() as (client, feed):
        return _report(client, feed, "removed", as_json, lambda: client.remove(feed, ids))


def _report(client: Client, feed: str, what: str, as_json: bool, change: Callable[[], int]) -> int:
    started = time.perf_counter()
    number = change()
    seconds = time.perf_counter() - started
    now = client.feed(feed).subscriptions
    if as_json:
        facts = {what: number, "feed": feed, "queries": {"registered": now}, "seconds": seconds}
        click.echo(json.dumps(facts), err=True)
    else:
        queries = "query" if number == 1 else "queries"
        text = f"{number:,} {queries} {what} in {seconds:.1f} s, now {now:,} in the feed {feed}"
        click.echo(text, err=True)
    return 0


def list_remotely(options: BrokerOptions, where: Sequence[Condition], as_json: bool) -> None:
    """Lists the subscriptions of a feed, those for which all conditions hold."""
    with options.open() as (client, feed):
        found = (
            one
            for one in client.subscriptions(feed)
            if all(condition.holds(one.metadata) for condition in where)
        )
        if as_json:
            for one in found:
                click.echo(json.dumps(as_line(one), ensure_ascii=False))
            return
        lines = ((one.id, one.kind, one.query) for one in found)
        if is_terminal():
            Table(("id", "kind", "query"), list(lines)).show()
        else:
            for fields in lines:
                click.echo("\t".join(map(printable, fields)))


def as_line(one: RemoteSubscription) -> dict[str, Any]:
    """A subscription as a line of a query file."""
    line: dict[str, Any] = {"id": one.id, one.kind: one.query}
    if one.namespaces:
        line["namespaces"] = dict(one.namespaces)
    if one.webhook:
        line["webhook"] = one.webhook
    if one.version != FIRST or "version" in one.metadata:  # which older brokers took for metadata
        line["version"] = one.version
    return {**one.metadata, **line}


def exported_table(options: BrokerOptions) -> Any:
    """All subscriptions of a feed as the table that ``extract subs export`` writes."""
    import pyarrow as pa

    from extract.scheme.query_table import COLUMNS

    with options.open() as (client, feed):
        rows = [_exported(one) for one in client.subscriptions(feed)]
    return pa.Table.from_pylist(rows, schema=COLUMNS)


def _exported(one: RemoteSubscription) -> dict[str, Any]:
    metadata = {**one.metadata, **({"webhook": one.webhook} if one.webhook else {})}
    return {
        "id": one.id,
        "xpath": one.query,
        "weight": 1.0,
        "version": one.version,
        "namespaces": json.dumps(dict(one.namespaces)) if one.namespaces else None,
        "metadata": json.dumps(metadata, ensure_ascii=False) if metadata else None,
        "status": "unsatisfiable" if one.unsatisfiable else "satisfiable",
    }
