"""The subscriptions as values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from extract.errors import SubscriptionsError
from extract.limits import DEFAULTS, Limits
from extract.subscriptions.bindings import check_bindings
from extract.subscriptions.metadata import NO_METADATA, MetadataError, checked_metadata
from extract.xpath.later import FIRST, PREDEFINED, VERSIONS

if TYPE_CHECKING:
    from extract.subscriptions.blocks import QueryBlock


@dataclass(frozen=True, slots=True)
class Subscription:
    """One registered query.

    Attributes:
        id: The name by which its matches are reported.
        xpath: The expression as written, without the white space around it.
        namespaces: Prefix to namespace URI; shared between subscriptions, so never change it.
        weight: How much it counts when chunks are chosen.
        line: Its line in the query file, from 1; 0 if it comes from no file.
        column: Where the XPath starts in that line, from 1; 0 if unknown.
        version: Of XPath: ``"1.0"``; or ``"2.0"``, ``"3.0"`` or ``"3.1"``, which elementpath
            evaluates on whole documents.
        metadata: What else is known of it, such as an owner or tags: keys and JSON values. It may
            be shared between subscriptions, so never change it.
    """

    id: str
    xpath: str
    namespaces: Mapping[str, str] = field(default_factory=dict, hash=False)
    weight: float = 1.0
    line: int = 0
    column: int = 0
    version: str = FIRST
    metadata: Mapping[str, Any] = field(default_factory=lambda: NO_METADATA, hash=False)


@dataclass(frozen=True, slots=True, repr=False)
class Subscriptions(Sequence[Subscription]):
    """An unchangeable list of subscriptions with unique ids. Make one with `load` or `of`.

    Attributes:
        entries: The subscriptions, in the order of the file; those of a large file are made when
            they are asked for.
        source: The file as the user named it; empty if there is none.
    """

    entries: Sequence[Subscription]
    source: str = ""

    @classmethod
    def load(
        cls,
        path: str | Path,
        namespaces: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        version: str = FIRST,
    ) -> Subscriptions:
        """Loads a query file: tab-separated text or JSON lines, gzipped or not.

        Args:
            path: The file; ``"-"`` reads standard input.
            namespaces: Bindings for prefixes that the file itself does not bind.
            limits: How large the file may be, and how many queries it may have.
            version: Of XPath, for queries of which the file itself does not say it.

        Raises:
            SubscriptionsError: The file cannot be read or is malformed, or two queries have one id.
        """
        from extract.subscriptions.reader import read_subscriptions  # which needs this module

        source = "<stdin>" if path == "-" else str(path)
        limits = limits or DEFAULTS
        bound, version = _checked(namespaces), checked_version(version)
        return cls(read_subscriptions(path, source, bound, limits, version), source)

    @classmethod
    def of(
        cls,
        queries: Mapping[str, str] | Iterable[str | tuple[str, str] | Subscription],
        namespaces: Mapping[str, str] | None = None,
        version: str = FIRST,
    ) -> Subscriptions:
        """Makes subscriptions from Python values.

        Args:
            queries: A mapping of id to XPath; or XPaths, ``(id, xpath)`` pairs or `Subscription`
                values, also mixed. A bare XPath gets its position as id, counted from 1.
            namespaces: Bindings for the prefixes that a `Subscription` value does not bind itself.
            version: Of XPath, for those that are no `Subscription` values.

        Raises:
            SubscriptionsError: Two queries have one id, an id has half a character, a binding is
                not possible, there is no such version, or metadata cannot be kept.

        >>> Subscriptions.of(["//a", ("b", "//b")])[1].id
        'b'
        """
        shared = _checked(namespaces)
        checked_version(version)
        if isinstance(queries, Mapping):
            queries = queries.items()
        elif isinstance(queries, str):  # one query, not one for each of its characters
            queries = [queries]
        entries: dict[str, Subscription] = {}
        known: dict[int, Mapping[str, str]] = {}  # many share their bindings
        for position, query in enumerate(queries, 1):
            if isinstance(query, Subscription):
                entry = with_checked_metadata(query)
                if entry.namespaces and id(entry.namespaces) not in known:
                    known[id(entry.namespaces)] = entry.namespaces
                    _checked(entry.namespaces)
                own = entry.namespaces or shared
                if shared and entry.namespaces:
                    own = {**shared, **entry.namespaces}
                if own is not entry.namespaces:
                    entry = replace(entry, namespaces=own)
                checked_version(entry.version)
            else:
                name, xpath = (str(position), query) if isinstance(query, str) else query
                if not isinstance(name, str) or not isinstance(xpath, str):
                    raise TypeError(f"the id and the XPath of a query are strings: {query!r}")
                entry = Subscription(name, xpath.strip(), shared, version=version)
            if not entry.id.isascii():
                _check_whole(entry.id)
            if entries.setdefault(entry.id, entry) is not entry:
                hint = "give every query an id of its own; one without takes its position"
                raise SubscriptionsError(f"two queries have the id {entry.id!r}", hint)
        return cls(tuple(entries.values()))

    def blocks(self) -> Iterable[QueryBlock]:
        """The same queries as columns: for what looks at texts, and needs no values."""
        from extract.subscriptions.blocks import FileQueries, QueryBlock  # which need this module

        entries = self.entries
        return entries.blocks if isinstance(entries, FileQueries) else QueryBlock.of(entries)

    def with_defaults(self, namespaces: Mapping[str, str]) -> Subscriptions:
        """Returns the same subscriptions, with bindings for the prefixes that they do not bind.

        Args:
            namespaces: The bindings. Prefixes that XPath 2.0 and later bind themselves, such as
                ``fn``, keep their meaning in queries of these versions.

        >>> queries = Subscriptions.of(["//p:a"], namespaces={"p": "urn:own"})
        >>> queries.with_defaults({"p": "urn:p", "q": "urn:q"})[0].namespaces
        {'p': 'urn:own', 'q': 'urn:q'}
        """
        from extract.subscriptions.blocks import FileQueries  # which needs this module

        later = {prefix: uri for prefix, uri in namespaces.items() if prefix not in PREDEFINED}
        if isinstance(self.entries, FileQueries):
            blocks = [
                one.with_defaults(namespaces if one.version == FIRST else later)
                for one in self.entries.blocks
            ]
            return Subscriptions(FileQueries(tuple(blocks)), self.source)
        # Thousands of queries with the same bindings share one dictionary, before and after.
        merged: dict[tuple[int, bool], dict[str, str]] = {}
        entries = []
        for one in self.entries:
            is_first = one.version == FIRST
            key = (id(one.namespaces), is_first)
            if key not in merged:
                merged[key] = {**(namespaces if is_first else later), **one.namespaces}
            entries.append(replace(one, namespaces=merged[key]))
        return Subscriptions(tuple(entries), self.source)

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Subscription]:
        return iter(self.entries)

    @overload
    def __getitem__(self, index: int) -> Subscription: ...
    @overload
    def __getitem__(self, index: slice) -> Subscriptions: ...
    def __getitem__(self, index: int | slice) -> Subscription | Subscriptions:
        if isinstance(index, slice):
            return Subscriptions(self.entries[index], self.source)
        return self.entries[index]

    def __repr__(self) -> str:
        return f"<Subscriptions: {len(self)} from {self.source or 'memory'}>"


def checked_version(version: str) -> str:
    """The version of XPath, if there is one of that name.

    Raises:
        SubscriptionsError: There is none.
    """
    if version not in VERSIONS:
        reason = f"there is no XPath {version!r} here"
        raise SubscriptionsError(reason, f"there are: {', '.join(VERSIONS)}")
    return version


def with_checked_metadata(
    query: Subscription, limits: Limits = DEFAULTS, source: str = ""
) -> Subscription:
    """Returns a subscription with metadata that can be kept, in order, and of its own.

    Args:
        query: The subscription.
        limits: How much metadata it may have.
        source: The file that it comes from, for errors.

    Raises:
        SubscriptionsError: Its metadata cannot be kept.
    """
    if not query.metadata:
        return query
    try:
        return replace(query, metadata=checked_metadata(query.metadata, limits))
    except MetadataError as error:
        reason = f"query {query.id!r}: {error.reason}"
        raise SubscriptionsError(reason, error.hint, source, query.line) from None


def _check_whole(name: str) -> None:
    """Makes sure that an id can be written as UTF-8: in results, and in a scheme."""
    try:
        name.encode()
    except UnicodeEncodeError:
        hint = "use whole characters; files and messages are decoded from UTF-8"
        raise SubscriptionsError(f"the id {name!r} has half a character", hint) from None


def _checked(namespaces: Mapping[str, str] | None) -> dict[str, str]:
    """A copy of the caller's bindings, each of them possible."""
    copy = dict(namespaces or {})
    try:
        check_bindings(copy)
    except ValueError as error:
        raise SubscriptionsError(str(error), "correct the namespaces given") from None
    return copy
