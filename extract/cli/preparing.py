"""Preparation as several commands do it: read the queries, make a scheme, report odd queries."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal

import click

from extract.cli.progress import progress as display
from extract.cli.terminal import warn
from extract.errors import QuerySyntaxError, SubscriptionsError
from extract.limits import DEFAULTS, Limits
from extract.preptool.explain.labels import printable
from extract.preptool.explain.spelling import Spelling
from extract.preptool.prepare import prepare
from extract.schema.model import Schema
from extract.scheme import Scheme
from extract.scheme.model import Unsatisfiable
from extract.subscriptions import Subscriptions
from extract.xpath.later import FIRST

_REJECTED: Final = 20  # queries shown one by one
_UNSATISFIABLE: Final = 5
_SLIPS: Final = 5
_FEW: Final = 1_000  # queries that are looked at for slips


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareOptions:
    """The options from which a scheme is made.

    Attributes:
        schema: The file of the DTD or XSD.
        queries: The file of the queries.
        root: The document element; None where the schema leaves no doubt.
        namespaces: What prefixes of the queries and of the root are bound to.
        version: The XPath version of queries that do not say it themselves.
        chunks: Into how many chunks to cut documents.
        sample: Documents to estimate sizes from.
        workers: How many chunks of one document are filtered at the same time.
        weights: How queries are counted.
        limits: How large queries may be.
        progress: Whether to show how far it is; None for what is usual.
    """

    schema: str
    queries: str
    root: str | None = None
    namespaces: dict[str, str] = field(default_factory=dict)
    version: str = FIRST
    chunks: int | Literal["auto"] = "auto"
    sample: tuple[str, ...] = ()
    workers: int = 1
    weights: str = "one"
    limits: Limits = DEFAULTS
    progress: bool | None = None


def load_queries(
    file: str, namespaces: dict[str, str], limits: Limits, version: str
) -> Subscriptions:
    """Loads the queries of a file.

    Raises:
        SubscriptionsError: They cannot be loaded, or there are none.
    """
    queries = Subscriptions.load(file, namespaces, limits, version)
    if not queries:
        hint = "write one query a line: id<TAB>xpath, or just the XPath"
        raise SubscriptionsError("there is no query in the file", hint, queries.source)
    return queries


def prepared(options: PrepareOptions) -> Scheme:
    """Makes a scheme from files.

    Raises:
        SchemaError: The schema cannot be loaded.
        SubscriptionsError: The queries cannot be loaded, or there are none.
    """
    schema = Schema.load(options.schema, options.root, options.namespaces)
    queries = load_queries(options.queries, options.namespaces, options.limits, options.version)
    with display(len(queries), options.progress, "queries") as shown:
        return prepare(
            schema,
            queries,
            options.chunks,
            weights=options.weights,
            sample=options.sample,
            workers=options.workers,
            limits=options.limits,
            progress=shown.advance,
        )


def load_with_digest(path: str) -> tuple[Scheme, str]:
    """Loads a scheme; also gives the digest of its file, by which chunks name their scheme.

    Raises:
        SchemeError: It cannot be loaded.
    """
    return Scheme.load(path), hashlib.sha256(Path(path).read_bytes()).hexdigest()


def report_rejected(scheme: Scheme, file: str = "") -> None:
    """Says on standard error which queries are rejected, with a caret under the place.

    Args:
        scheme: The scheme.
        file: Where the queries are; empty if that is unknown, as for a scheme that was loaded.
    """
    for one in scheme.rejected[:_REJECTED]:
        place = (file, one.line, one.column) if file else ("", 0, 0)
        error = QuerySyntaxError(one.reason, one.hint, *place, one.xpath, one.offset)
        warn(f"query {one.id!r} rejected: {error}\n")
    if len(scheme.rejected) > _REJECTED:
        more = len(scheme.rejected) - _REJECTED
        click.echo(f"… and {more:,} more rejected, all in the scheme\n", err=True)


def rejected_facts(scheme: Scheme) -> list[dict[str, Any]]:
    """The same as plain values, of all queries that are rejected."""
    return [
        {
            "id": one.id,
            "xpath": one.xpath,
            "reason": one.reason,
            "line": one.line or None,
            "offset": one.offset if one.offset >= 0 else None,
        }
        for one in scheme.rejected
    ]


def report_queries(scheme: Scheme, file: str) -> None:
    """Says on standard error which queries are rejected, cannot match, or look like a slip.

    Args:
        scheme: The scheme.
        file: Where the queries are, as the user named it.
    """
    report_rejected(scheme, "<stdin>" if file == "-" else file)
    lines = [*unsatisfiable_lines(scheme, scheme.unsatisfiable[:_UNSATISFIABLE])]
    if len(scheme.unsatisfiable) > _UNSATISFIABLE:
        more = len(scheme.unsatisfiable) - _UNSATISFIABLE
        lines.append(f"… and {more:,} more that cannot match, all in the scheme")
    lines += islice(_slips(scheme), _SLIPS)
    for line in lines:
        click.echo(line, err=True)
    if lines:
        click.echo(err=True)
    for note in scheme.schema.notes:
        click.echo(f"Note: {note}", err=True)


def unsatisfiable_lines(scheme: Scheme, some: Iterable[Unsatisfiable]) -> Iterator[str]:
    """Why queries cannot match, and how they may have been meant."""
    names = Spelling(scheme.schema, scheme.namespaces)
    for dead in some:
        one = dead.subscriber
        yield printable(f"query {one.id!r} cannot match: {dead.reason}")
        hint = names.of(one.absolute)
        if hint:
            yield printable(f"Hint: {hint}")


def _slips(scheme: Scheme) -> Iterator[str]:
    """Notes on queries that can match only because the schema is open somewhere, and whose names
    are much like its own. If there are very many queries, they were generated: no notes."""
    names = Spelling(scheme.schema, scheme.namespaces)
    few = scheme.queries if len(scheme.queries) <= _FEW else ()
    for one in (query.subscribers[0] for query in few):
        hint = names.of(one.absolute)
        if hint:
            yield printable(f"Note: query {one.id!r} may be a slip: {hint}")
