"""What a broker answers, as values."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from extract.client.transport import refusal_of
from extract.errors import ExtractError
from extract.xpath.later import FIRST


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed.

    Attributes:
        name: Its name.
        schema: ``dtd``, ``xsd``, ``inferred`` or ``none``.
        subscriptions: How many it has.
        documents: How many it has taken.
        facts: All that the broker says of it.
    """

    name: str
    schema: str
    subscriptions: int
    documents: int
    facts: Mapping[str, Any] = field(repr=False, hash=False)

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Feed:
        """From the broker's JSON."""
        subscriptions, documents = facts.get("subscriptions", 0), facts.get("documents", 0)
        return cls(facts["name"], facts.get("schema", "none"), subscriptions, documents, facts)


@dataclass(frozen=True, slots=True)
class RemoteSubscription:
    """A subscription that a broker has.

    Attributes:
        id: Its id, unique in the broker.
        feed: Its feed.
        kind: ``xpath``, ``flwr`` or ``xscl``.
        query: Its text.
        namespaces: Prefix to namespace URI.
        webhook: Where its notifications are sent; empty if they are fetched.
        metadata: What else is known of it.
        unsatisfiable: Why it matches nothing; empty if it may.
        version: Of XPath.
    """

    id: str
    feed: str
    kind: str
    query: str
    namespaces: Mapping[str, str] = field(default_factory=dict, hash=False)
    webhook: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    unsatisfiable: str = ""
    version: str = FIRST

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> RemoteSubscription:
        """From the broker's JSON."""
        kind = next((key for key in ("xpath", "flwr", "xscl") if facts.get(key)), "xpath")
        return cls(
            facts["id"],
            facts.get("feed", ""),
            kind,
            facts.get(kind, ""),
            facts.get("namespaces") or {},
            facts.get("webhook") or "",
            facts.get("metadata") or {},
            facts.get("unsatisfiable") or "",
            facts.get("version") or FIRST,
        )


@dataclass(frozen=True, slots=True)
class FeedDocument:
    """A document of a feed.

    Attributes:
        number: Its number in the feed; resume with the last one that you have.
        name: As it is called in notifications.
        content: The document, as it was published.
        time: When it arrived, or the time that it was given, ISO 8601.
    """

    number: int
    name: str
    content: bytes
    time: str = ""

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> FeedDocument:
        """From the broker's JSON."""
        packed = facts.get("base64")
        content = facts["document"].encode() if packed is None else base64.b64decode(packed)
        return cls(int(facts["number"]), facts.get("name", ""), content, facts.get("time", ""))


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of one document that was published.

    Attributes:
        name: As it is called in notifications.
        number: Its number in the feed; 0 if it was refused.
        error: Why it was refused; None if it is on the broker's disk.
    """

    name: str
    number: int = 0
    error: ExtractError | None = None

    @property
    def accepted(self) -> bool:
        """Whether the broker has it."""
        return self.error is None

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Receipt:
        """From the broker's JSON."""
        status = int(facts.get("status", 202))
        name = str(facts.get("name", ""))
        if status < 400:
            return cls(name, int(facts.get("number", 0)))
        return cls(name, 0, refusal_of({**facts, "document": name}, status))


@dataclass(frozen=True, slots=True)
class Notification:
    """A document that matched a subscription.

    Attributes:
        seq: Its number; resume with the last one that you have dealt with.
        feed: The feed of the document.
        document: The document's name.
        time: When the document arrived, ISO 8601.
        matches: The nodes that an XPath selects, with the keys of a match: node, name, path, ...
        output: What a FLWR or XSCL query has made; None for an XPath.
        facts: All that the broker says, as of the two documents of a join.
    """

    seq: int
    feed: str
    document: str
    time: str = ""
    matches: tuple[Mapping[str, Any], ...] = ()
    output: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Notification:
        """From the broker's JSON."""
        return cls(
            int(facts["seq"]),
            facts.get("feed", ""),
            facts.get("document", ""),
            facts.get("time", ""),
            tuple(facts.get("matches") or ()),
            facts.get("output"),
            facts,
        )
