"""Feeds and their schemas: made, changed, read again at a start, widened by documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from extract.broker.bodies import FeedBody, SubscriptionBody
from extract.broker.changes import put_feed
from extract.broker.feed_filters import select_of, stored_body
from extract.broker.feed_schemas import FeedSchemas, InferredFeed
from extract.broker.journal import Operation, Transaction
from extract.broker.problems import Problem
from extract.broker.registry import FeedEntry, Registry
from extract.broker.schemas import SchemaFilesBody, check_queries, compile_in_child, schema_files
from extract.broker.settings import BrokerSettings
from extract.broker.store import feeds as feed_rows
from extract.broker.store import subscriptions as subscription_rows
from extract.broker.store.database import Connection
from extract.broker.store.rows import ArrivedDocument
from extract.errors import SchemaError
from extract.limits import Limits
from extract.schema.infer import InferredSchema
from extract.schema.model import Schema

_LISTED = 100  # ids in an answer


class FeedCatalog:
    """The schemas of all feeds.

    Args:
        registry: What is known of the feeds.
        settings: The options.
        submit: Has an operation of the journal written.
    """

    def __init__(
        self, registry: Registry, settings: BrokerSettings, submit: Callable[[Operation], None]
    ) -> None:
        self._registry = registry
        self._settings = settings
        self._limits: Limits = settings.engine_limits()
        self._submit = submit
        self._given: dict[int, dict[int, Schema]] = {}
        self.checks: dict[int, FeedSchemas] = {}
        self._inferred: dict[int, InferredFeed] = {}

    def load(self, connection: Connection) -> None:
        """Compiles all schemas again."""
        for feed in self._registry.feeds.values():
            given = {}
            for version, body in feed_rows.feed_schemas(connection, feed.key):
                files = msgspec.json.decode(body, type=SchemaFilesBody)
                given[version] = self._compiled(files)
            self._hold(feed, given)
            if feed.key in self._inferred:
                self._inferred[feed.key].widen(feed_rows.evidence(connection, feed.key))

    def _compiled(self, files: SchemaFilesBody) -> Schema:
        limits = self._settings.limits
        return compile_in_child(files, limits.schema_seconds, limits.schema_memory)

    def _hold(self, feed: FeedEntry, given: dict[int, Schema]) -> None:
        """Lets schemas hold for a feed, from the next document on."""
        self._given[feed.key] = given
        reject = feed.body.on_nonconforming == "reject"
        self.checks[feed.key] = FeedSchemas(given, reject, self._limits)
        if feed.kind == "inferred":
            limits = self._settings.limits
            fresh = InferredFeed(self._limits, limits.inferred_names, limits.inferred_bytes)
            self._inferred.setdefault(feed.key, fresh)
        else:
            self._inferred.pop(feed.key, None)

    def forget(self, feed: int) -> None:
        """Drops what was known of a feed that is gone."""
        for known in (self._given, self.checks, self._inferred):
            known.pop(feed, None)

    def schema(self, feed: FeedEntry) -> Schema | None:
        """The schema that new queries are checked against; None for any document."""
        if feed.key in self._inferred:
            return None  # it will widen
        checks = self.checks.get(feed.key)
        return None if checks is None else checks.latest

    def prepared_feed(
        self,
        name: str,
        body: FeedBody,
        read: Callable[[int], Mapping[str, SubscriptionBody]],
    ) -> tuple[Callable[[Transaction], bool], list[str]]:
        """Compiles the schema of a feed and checks its subscriptions; in a thread.

        Args:
            name: Of the feed.
            body: What a client puts.
            read: The subscriptions of a feed that is there.

        Returns:
            The operation, which says whether the feed is new; and the ids of subscriptions that
            can match nothing under the new schema.

        Raises:
            Problem: The schema cannot be used, or subscriptions would match nothing.
        """
        files = schema_files(body)
        schema = None if files is None else self._compiled(files)
        feed = self._registry.feeds.get(name)
        unsatisfiable: list[str] = []
        if feed is not None and schema is not None:
            bodies = read(feed.key)
            _, reasons = check_queries(list(bodies.values()), schema, self._limits)
            unsatisfiable = [name for place, name in enumerate(bodies) if place in reasons]
            if unsatisfiable and not body.accept_unsatisfiable:
                count = len(unsatisfiable)
                raise Problem(
                    409,
                    f"under the new schema {count:,} subscriptions can match nothing",
                    "change them, or put the schema with accept_unsatisfiable",
                    unsatisfiable=unsatisfiable[:_LISTED],
                )
        kept = msgspec.structs.replace(
            body,
            dtd=msgspec.UNSET,
            xsd=msgspec.UNSET,
            files=msgspec.UNSET,
            accept_unsatisfiable=False,
        )
        encoded = None if files is None else msgspec.json.encode(files)
        operation = put_feed(name, kept, encoded, None if files is None else files.kind)

        def apply(transaction: Transaction) -> bool:
            is_new: bool = operation(transaction)
            entry = transaction.registry.feeds[name]
            given = dict(self._given.get(entry.key, {}))
            if schema is not None:
                given[entry.versions[-1]] = schema
            elif not entry.versions:
                given = {}
            self._hold(entry, given)
            return is_new

        return apply, unsatisfiable[:_LISTED]

    def saw(self, feed: int, documents: Sequence[ArrivedDocument]) -> None:
        """Widens an inferred schema by documents; in the thread of the matcher."""
        inferred = self._inferred.get(feed)
        if inferred is None:
            return
        evidence = inferred.widen([one.content for one in documents])
        if evidence:

            def apply(transaction: Transaction) -> Any:
                if feed in transaction.registry.feeds_by_key:
                    feed_rows.add_evidence(transaction.connection, feed, evidence)

            self._submit(Operation(apply, lasting=True))

    def schema_text(self, connection: Connection, feed: FeedEntry) -> dict[str, Any]:
        """A feed's schema as clients read it: the files that were given, or what was inferred."""
        inferred = self._inferred.get(feed.key)
        if inferred is not None:
            result = inferred.result
            if result is None:
                return {"kind": "inferred", "about": "no document has come yet"}
            full = {"full": True} if inferred.is_full else {}
            return {"kind": "inferred", "about": str(result), **_inferred_text(result), **full}
        rows = feed_rows.feed_schemas(connection, feed.key)
        if not rows:
            return {"kind": "none"}
        version, body = rows[-1]
        files = msgspec.json.decode(body, type=SchemaFilesBody)
        more = {"files": files.files} if files.files else {}
        return {"kind": files.kind, "version": version, files.kind: files.text, **more}


def _inferred_text(result: InferredSchema) -> dict[str, Any]:
    try:
        return {"xsd": result.xsd()}
    except SchemaError as error:  # several namespaces
        return {"note": error.reason}


def present_queries(
    connection: Connection, registry: Registry, feed: int
) -> dict[str, SubscriptionBody]:
    """The queries of a feed without joins, by the ids of the subscriptions."""
    rows = [one for one in list(registry.by_key.values()) if one.feed == feed]
    texts = subscription_rows.present_bodies(connection, [one.key for one in rows])
    bodies = {one.id: stored_body(texts[one.key]) for one in rows if one.key in texts}
    return {
        name: body
        for name, body in bodies.items()
        if body is not None and select_of(body) is not None
    }
