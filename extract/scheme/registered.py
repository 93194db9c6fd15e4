"""What a scheme has of each subscription, as values that are made when somebody asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from extract.flwr.templates import ReadFlwr
from extract.subscriptions.flwr_queries import FLWR
from extract.subscriptions.metadata import NO_METADATA
from extract.xpath.functions import Type


@dataclass(frozen=True, slots=True)
class Subscriber:
    """A registered query as its owner sees it.

    Attributes:
        id: The name by which its matches are reported.
        xpath: The expression as written.
        absolute: The same in canonical form, from the document node and with the scheme's prefixes:
            what is evaluated where a document is evaluated whole.
        weight: How much it counts when chunks are chosen.
        metadata: What else is known of it, as `Subscription.metadata`.
    """

    id: str
    xpath: str
    absolute: str
    weight: float = 1.0
    metadata: Mapping[str, Any] = field(default_factory=lambda: NO_METADATA, hash=False, repr=False)


@dataclass(frozen=True, slots=True)
class Query:
    """A canonical query: evaluated once, for all subscribers whose normal form it is.

    Attributes:
        type: What it gives; only for `Type.NODES` may there be several branches.
        xpaths: Its normal form: the branches with its constants.
        subscribers: Whose query it is, at least one.
        form: The number of its normal form without constants: an index into `Scheme.forms`.
    """

    type: Type
    xpaths: tuple[str, ...]
    subscribers: tuple[Subscriber, ...]
    form: int = 0

    @property
    def id(self) -> str:
        """That of the first subscriber."""
        return self.subscribers[0].id


@dataclass(frozen=True, slots=True)
class Unsatisfiable:
    """A query that can match no document that keeps to the schema's edges, and why."""

    subscriber: Subscriber
    reason: str


@dataclass(frozen=True, slots=True)
class Later:
    """A query that is evaluated as it is written, on all of a document: in XPath 2.0 or later, by
    elementpath; or a FLWR query whose bindings no XPath selects.

    Attributes:
        subscriber: Whose it is; the query is the same in ``xpath`` and ``absolute``.
        version: Of XPath; or ``"flwr"``.
        namespaces: What its prefixes stand for; they are its own, not the scheme's.
    """

    subscriber: Subscriber
    version: str
    namespaces: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def language(self) -> str:
        """What it is written in, with the version."""
        return "FLWR" if self.version == FLWR else f"XPath {self.version}"

    @property
    def reason(self) -> str:
        """Why it needs the whole document."""
        if self.version == FLWR:
            return "a variable inside of a predicate, which is not analysed"
        return f"{self.language}, which is not analysed"


@dataclass(frozen=True, slots=True)
class CustomOutput:
    """What a FLWR subscription makes of the nodes that it binds.

    Attributes:
        flwr: The query as written.
        namespaces: What its prefixes stand for; they are its own, not the scheme's.
        read: The query as its templates, if it was read in this process.
    """

    flwr: str
    namespaces: Mapping[str, str] = field(default_factory=dict, hash=False)
    read: ReadFlwr | None = field(default=None, compare=False, repr=False)

    def __reduce__(self) -> tuple[type[CustomOutput], tuple[str, Mapping[str, str]]]:
        return CustomOutput, (self.flwr, self.namespaces)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A query that cannot be evaluated at all; the fields are those of `QuerySyntaxError`, and the
    metadata of its subscription."""

    id: str
    xpath: str
    reason: str
    hint: str = ""
    line: int = 0
    column: int = 0
    offset: int = -1
    metadata: Mapping[str, Any] = field(default_factory=lambda: NO_METADATA, hash=False, repr=False)
