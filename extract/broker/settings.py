"""The options of a broker, as one value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

from extract.errors import ExtractError
from extract.limits import Limits

LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
_MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class BrokerLimits:
    """How much clients may send, ask for, and keep.

    Attributes:
        document_bytes: Of one document.
        body_bytes: Of one request, unpacked.
        bulk_lines: Documents or subscriptions in one request.
        gzip_ratio: How many times its size a packed body may unpack to.
        subscriptions: That one client may have.
        requests_per_second: Of one client, on average; 0 for any number.
        bytes_per_second: Of one client's documents, on average; 0 for any number.
        connections: Long polls and event streams of one client at a time.
        sockets: Connections of one address at a time, whatever they do.
        request_seconds: That a request may take to come.
        pending_bytes: Of documents that are not matched yet; more are refused for a while.
        pending_documents: That are not matched yet.
        notification_matches: Nodes in one notification.
        notification_bytes: Of the values of nodes in one notification, beyond the first node.
        answer_bytes: That one query may select or make in one document.
        query_seconds: That a query may take in one document, where it may take very long.
        matching_bytes: That rows may take while documents are matched, about.
        matching_pairs: Documents times subscriptions that are matched in one call.
        unwritten_bytes: Of notifications that are matched and not yet on disk.
        page_bytes: Of notifications, documents or subscriptions in one answer, beyond the first.
        leaving_bytes: Of answers that clients have not taken yet; more are refused for a while.
        leaving_seconds: That a client may take nothing of its answer.
        arriving_bytes: Of bodies that are not answered yet; more are refused for a while.
        header_bytes: Of the line and the headers of a request.
        wait_seconds: Of a long poll.
        join_bytes: Of documents that joins remember; the oldest are dropped, and noted.
        published: Documents that joins publish, and read, on the way from one document.
        future_seconds: How far ahead the time of a document may be.
        inferred_names: Elements of an inferred schema; beyond, it widens no more.
        inferred_bytes: Of documents that an inferred schema is made of.
        idempotency_bytes: Of answers that are kept for `Idempotency-Key`; the oldest go first.
        schema_bytes: Of all files of a schema.
        schema_seconds: To compile a schema.
        schema_memory: To compile a schema.
    """

    document_bytes: int = 16 * _MIB
    body_bytes: int = 64 * _MIB
    bulk_lines: int = 100_000
    gzip_ratio: int = 100
    subscriptions: int = 1_000_000
    requests_per_second: float = 0
    bytes_per_second: float = 0
    connections: int = 200
    sockets: int = 10_000
    request_seconds: float = 300
    pending_bytes: int = 256 * _MIB
    pending_documents: int = 200_000
    notification_matches: int = 1_000
    notification_bytes: int = _MIB
    answer_bytes: int = 16 * _MIB
    query_seconds: float = 2
    matching_bytes: int = 256 * _MIB
    matching_pairs: int = 16_000_000
    unwritten_bytes: int = 64 * _MIB
    page_bytes: int = 4 * _MIB
    leaving_bytes: int = 256 * _MIB
    leaving_seconds: float = 60
    arriving_bytes: int = 256 * _MIB
    header_bytes: int = 65_536
    wait_seconds: float = 60
    join_bytes: int = 512 * _MIB
    published: int = 1_000
    future_seconds: float = 60
    inferred_names: int = 2_000
    inferred_bytes: int = 64 * _MIB
    idempotency_bytes: int = 1 << 30
    schema_bytes: int = 8 * _MIB
    schema_seconds: float = 30
    schema_memory: int = 2 << 30


def limit_descriptions() -> dict[str, str]:
    """What each limit is about, as the class says it."""
    found = re.findall(r"^ {8}(\w+): (.+)$", BrokerLimits.__doc__ or "", re.MULTILINE)
    return dict(found)


def limits_from(settings: Sequence[str]) -> BrokerLimits:
    """The limits, some of them set by ``name=number``.

    Raises:
        ExtractError: There is no such limit, or it is no number.

    >>> limits_from(["connections=9"]).connections
    9
    """
    defaults = BrokerLimits()
    types = {one.name: type(getattr(defaults, one.name)) for one in fields(BrokerLimits)}
    values: dict[str, Any] = {}
    for text in settings:
        name, _, value = text.partition("=")
        if name not in types:
            raise ExtractError(f"there is no limit {name!r}", "--limit help lists them")
        try:
            values[name] = types[name](value)
        except ValueError:
            raise ExtractError(f"the limit {name} is a number, not {value!r}") from None
        if values[name] < 0:
            raise ExtractError(f"the limit {name} cannot be negative")
    return BrokerLimits(**values)


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """How webhooks are called.

    Attributes:
        attempts: Before a notification becomes a dead letter.
        first_delay: Seconds before the second attempt; each further wait is twice as long.
        longest_delay: Seconds between two attempts at most.
        failure_delay: Seconds before the next look, where the broker itself could not go on.
        timeout: Seconds for one attempt.
        response_bytes: Of an answer that are read.
        allow_private: Whether addresses of private networks may be called.
        concurrency: Calls at the same time.
    """

    attempts: int = 8
    first_delay: float = 1.0
    longest_delay: float = 300.0
    failure_delay: float = 5.0
    timeout: float = 10.0
    response_bytes: int = 65_536
    allow_private: bool = False
    concurrency: int = 32


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """The options of ``extract serve``.

    Attributes:
        max_delay_ms: How long a document may wait for others to be matched with.
        retain_seconds: How long documents and notifications are kept; 0 for ever.
        retain_bytes: How many bytes of them are kept; 0 for all.
        idempotency_seconds: How long an ``Idempotency-Key`` is remembered.
        allowed_hosts: Names that the ``Host`` header may have, besides the address served on.
    """

    max_delay_ms: float = 2.0
    retain_seconds: float = 7 * 86_400
    retain_bytes: int = 10 << 30
    idempotency_seconds: float = 86_400
    allowed_hosts: tuple[str, ...] = LOOPBACK
    limits: BrokerLimits = field(default_factory=BrokerLimits)
    webhooks: WebhookSettings = field(default_factory=WebhookSettings)

    def engine_limits(self) -> Limits:
        """The limits of the matching for what strangers send."""
        return Limits(
            document_bytes=self.limits.document_bytes,
            whole_bytes=self.limits.document_bytes,
            value_bytes=1 << 20,
            query_seconds=self.limits.query_seconds,
            query_rows=1_000_000,
            query_bytes=self.limits.answer_bytes,
            published=self.limits.published,
        )
