"""The JSON bodies of requests and answers; msgspec checks them, and describes them for OpenAPI."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

# Printable, no slash: names and ids are path segments and log fields, never file names.
NAME_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9_.:@-]{0,127}$"
# Clients resolve "." and ".." in a path: whoever deleted such an id would delete its feed.
ID_PATTERN = r"^(?!\.{1,2}$)[^\x00-\x20/?#\x7f-\x9f\ud800-\udfff]{1,200}$"

FeedName = Annotated[str, Meta(pattern=NAME_PATTERN, description="The name of a feed.")]
SubscriptionId = Annotated[
    str, Meta(pattern=ID_PATTERN, description="The id of a subscription, unique in the broker.")
]
QueryText = Annotated[str, Meta(min_length=1, max_length=400_000)]
SelectName = Literal["nodes", "count", "doc"]
VersionName = Annotated[
    Literal["1.0", "2.0", "3.0", "3.1"],
    Meta(description="Of XPath, by default 1.0; FLWR and XSCL are 1.0."),
]


class FeedBody(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What a feed takes: documents of a DTD or XSD, or any (``{}``)."""

    dtd: Annotated[str, Meta(description="The DTD.")] | UnsetType = UNSET
    xsd: Annotated[str, Meta(description="The XSD.")] | UnsetType = UNSET
    files: (
        Annotated[
            dict[str, str],
            Meta(description="Other files of the schema, by the names that refer to them."),
        ]
        | UnsetType
    ) = UNSET
    root: Annotated[str, Meta(description="The document element.")] | UnsetType = UNSET
    schema: (
        Annotated[
            Literal["inferred", "none"],
            Meta(description="Without a DTD or XSD: infer a schema from the documents, or none."),
        ]
        | UnsetType
    ) = UNSET
    on_nonconforming: Annotated[
        Literal["fallback", "reject"],
        Meta(description="Documents that break the schema: match them all the same, or refuse."),
    ] = "fallback"
    accept_unsatisfiable: Annotated[
        bool,
        Meta(description="Take a schema under which present subscriptions can match nothing."),
    ] = False
    metadata: dict[str, Any] | UnsetType = UNSET


class FeedView(Struct, omit_defaults=True):
    """A feed."""

    name: str
    schema: Literal["dtd", "xsd", "inferred", "none"]
    version: int
    versions: list[int]
    subscriptions: int
    documents: int
    on_nonconforming: str
    created: str
    root: str | None = None
    metadata: dict[str, Any] | UnsetType = UNSET
    unsatisfiable: list[str] | UnsetType = UNSET


class QueryFields(Struct, omit_defaults=True):
    """The query of a subscription: one of xpath, flwr and xscl."""

    xpath: QueryText | UnsetType = UNSET
    flwr: QueryText | UnsetType = UNSET
    xscl: QueryText | UnsetType = UNSET
    namespaces: dict[str, str] | UnsetType = UNSET
    version: VersionName | UnsetType = UNSET


class SubscriptionBody(QueryFields, omit_defaults=True):
    """What is asked for, and where notifications go; other keys are metadata."""

    webhook: (
        Annotated[str, Meta(max_length=2_000, description="An http or https URL.")] | UnsetType
    ) = UNSET
    webhook_secret: (
        Annotated[
            str,
            Meta(
                min_length=16,
                max_length=200,
                pattern=r"^[^\x00]*$",
                description="Signs what is sent.",
            ),
        ]
        | UnsetType
    ) = UNSET
    select: Annotated[
        SelectName,
        Meta(description="What a notification of an XPath says: nodes, their count, or neither."),
    ] = "nodes"
    metadata: dict[str, Any] | UnsetType = UNSET


class SubscriptionLine(SubscriptionBody, kw_only=True, omit_defaults=True):
    """A subscription in a request with many."""

    id: SubscriptionId


class SetAsideView(Struct):
    """A subscription that is asked no more: too many documents took its queries too long."""

    since: str
    reason: str
    missed: Annotated[int, Meta(description="Documents that it was not asked about.")]


class SubscriptionView(Struct, omit_defaults=True):
    """A subscription."""

    id: str
    feed: str
    owner: str
    xpath: str | UnsetType = UNSET
    flwr: str | UnsetType = UNSET
    xscl: str | UnsetType = UNSET
    namespaces: dict[str, str] | UnsetType = UNSET
    version: str | UnsetType = UNSET
    webhook: str | UnsetType = UNSET
    webhook_secret: str | UnsetType = UNSET
    select: str | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET
    unsatisfiable: str | UnsetType = UNSET
    last_seq: int | UnsetType = UNSET
    set_aside: SetAsideView | UnsetType = UNSET


class DocumentLine(Struct):
    """One document of many."""

    document: str
    name: str = ""
    time: float | str | None = None
    schema: Annotated[int, Meta(ge=0)] = 0


class DocumentReceipt(Struct, omit_defaults=True):
    """A document that is on disk, or why it is not."""

    name: str
    status: int
    number: int | UnsetType = UNSET
    feed: str | UnsetType = UNSET
    schema: int | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    line: int | UnsetType = UNSET
    column: int | UnsetType = UNSET


class BulkReceipt(Struct):
    """One result for each line, in order."""

    accepted: int
    rejected: int
    results: list[DocumentReceipt]


class NotificationView(Struct, omit_defaults=True):
    """One notification."""

    seq: int
    feed: str
    document: str
    time: str
    number: int | UnsetType = UNSET
    matches: list[dict[str, Any]] | UnsetType = UNSET
    count: int | UnsetType = UNSET
    truncated: bool | UnsetType = UNSET
    output: str | UnsetType = UNSET
    left: dict[str, Any] | UnsetType = UNSET
    right: dict[str, Any] | UnsetType = UNSET
    bindings: dict[str, str] | UnsetType = UNSET


class NotificationPage(Struct):
    """Notifications, the oldest first."""

    notifications: list[NotificationView]
    last_seq: int


class ProblemView(Struct, omit_defaults=True):
    """Why a request failed."""

    reason: str
    hint: str | UnsetType = UNSET
    line: int | UnsetType = UNSET
    column: int | UnsetType = UNSET
    oldest: int | UnsetType = UNSET


class DeadLetterView(Struct):
    """A notification that a webhook did not take."""

    seq: int
    reason: str
    attempts: int
    time: str


class RejectionView(Struct):
    """A document, or a query on a document, that was rejected."""

    document: str
    query: str
    stage: str
    reason: str
    line: int
    column: int
    time: str


_CORE = frozenset({*SubscriptionLine.__struct_fields__})


def gather_metadata(raw: dict[str, Any], metadata: dict[str, Any] | UnsetType) -> dict[str, Any]:
    """What a subscription's body says besides its own keys.

    >>> gather_metadata({"xpath": "//a", "team": "x"}, UNSET)
    {'team': 'x'}
    """
    own = {} if metadata is UNSET else dict(metadata)
    return {**{key: value for key, value in raw.items() if key not in _CORE}, **own}


encode = msgspec.json.Encoder().encode
