"""Preparation as several commands do it: read the queries, make a scheme, report odd queries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, Literal

import click

from extract.chunktool.input.find import InputFile
from extract.cli.progress import progress as display
from extract.cli.standard_input import repeatable_stdin
from extract.cli.terminal import warn
from extract.cli.verbosity import Verbosity
from extract.errors import QuerySyntaxError, SubscriptionsError
from extract.limits import DEFAULTS, Limits
from extract.preptool.explain.labels import printable
from extract.preptool.explain.spelling import Spelling
from extract.schema.model import Schema
from extract.scheme import Scheme
from extract.scheme.fingerprint import scheme_fingerprint
from extract.scheme.registered import Unsatisfiable
from extract.scheme.selection import check_ids
from extract.subscriptions import Subscription, Subscriptions
from extract.xpath.later import FIRST

NO_SCHEMA: Final = "none"
_REJECTED: Final = 20  # queries shown one by one
_UNSATISFIABLE: Final = 5
_SLIPS: Final = 5
_FEW: Final = 1_000  # queries that are looked at for slips


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareOptions:
    """The options from which a scheme is made.

    Attributes:
        schema: The file of the DTD or XSD; ``none`` for any document; None to infer it.
        queries: The file of the queries; None if they are given as expressions.
        expressions: XPath or FLWR; their ids are 1, 2, ….
        root: The document element; None where the schema leaves no doubt.
        namespaces: What prefixes of the queries and of the root are bound to.
        version: The XPath version of queries that do not say it themselves.
        chunks: Into how many chunks to cut documents.
        sample: Documents to estimate sizes from.
        documents: Files to infer a schema from if there is none; by default the sample.
        only: The ids of the queries to take; none for all.
        workers: How many chunks of one document are filtered at the same time.
        weights: How queries are counted.
        limits: How large queries may be.
        target: Where the scheme goes: queries may join the tables of a database.
        progress: Whether to show how far it is; None for what is usual.
    """

    schema: str | None
    queries: str | None
    expressions: tuple[str, ...] = ()
    root: str | None = None
    namespaces: dict[str, str] = field(default_factory=dict)
    version: str = FIRST
    chunks: int | Literal["auto"] = "auto"
    sample: tuple[str, ...] = ()
    documents: tuple[InputFile, ...] = ()
    only: tuple[str, ...] = ()
    workers: int = 1
    weights: str = "one"
    limits: Limits = DEFAULTS
    target: str = ""
    progress: bool | None = None


def load_schema(
    schema: str | None,
    root: str | None,
    namespaces: dict[str, str],
    documents: Sequence[str | InputFile],
    limits: Limits,
) -> Schema:
    """Loads the schema that ``--schema`` names, or makes one.

    Args:
        schema: The file; ``none`` for any document; None to infer it from documents.
        root: The document element; None where the schema leaves no doubt.
        namespaces: What the prefix of the root is bound to.
        documents: The documents, or files of many; ``"-"`` is standard input, which can be read
            again afterwards.
        limits: How large the documents may be.

    Raises:
        SchemaError: The schema cannot be loaded.
        DocumentError: No document can be read.
        click.UsageError: There is neither a schema nor a document.
    """
    if schema is not None and schema != NO_SCHEMA:
        return Schema.load(schema, root, namespaces)
    if root is not None:
        raise click.UsageError("--root names the document element of a schema: give --schema FILE.")
    if schema == NO_SCHEMA:
        return Schema.none()
    if not documents:
        raise click.UsageError(
            "There is no schema. Give --schema FILE; or --sample DOC, to infer one from documents "
            "that are like those to come; or --schema none, for any document."
        )
    from extract.chunktool.inference.default_schema import default_schema
    from extract.chunktool.input.messages.read import SingleDocuments

    singles = SingleDocuments(documents, limits)
    with repeatable_stdin(singles.on_stdin):
        return default_schema(singles, limits)


def load_queries(
    file: str,
    namespaces: dict[str, str],
    limits: Limits,
    version: str,
    only: Collection[str] = (),
) -> Subscriptions:
    """Loads the queries of a file.

    Args:
        file: The file; ``"-"`` is standard input.
        namespaces: Bindings for prefixes that the file itself does not bind.
        limits: How large the file may be, and how many queries it may have.
        version: Of XPath, for queries of which the file itself does not say it.
        only: The ids of the queries to take; none for all.

    Raises:
        SubscriptionsError: They cannot be loaded, there are none, or none has such an id.
    """
    queries = Subscriptions.load(file, namespaces, limits, version)
    if not queries:
        hint = "write one query a line: id<TAB>xpath, or just the XPath"
        raise SubscriptionsError("there is no query in the file", hint, queries.source)
    if only:
        check_ids(only, [one.id for one in queries], queries.source)
        chosen = frozenset(only)
        entries = tuple([one for one in queries if one.id in chosen])
        queries = Subscriptions(entries, queries.source)
    return queries


def given_queries(
    texts: Iterable[tuple[str, str]], namespaces: dict[str, str], version: str, weight: float = 1
) -> Subscriptions:
    """Makes queries of ids and expressions that the command line has."""
    some = [Subscription(id_, text.strip(), {}, weight, version=version) for id_, text in texts]
    return Subscriptions.of(some, namespaces)


def prepared(options: PrepareOptions) -> Scheme:
    """Makes a scheme from files.

    Raises:
        SchemaError: The schema cannot be loaded.
        DocumentError: There is no schema, and no document that one can be inferred from.
        SubscriptionsError: The queries cannot be loaded, or there are none.
    """
    namespaces, version = options.namespaces, options.version
    if options.queries is None:
        numbered = ((str(number), text) for number, text in enumerate(options.expressions, 1))
        queries = given_queries(numbered, namespaces, version)
    else:
        queries = load_queries(options.queries, namespaces, options.limits, version, options.only)
    documents = options.documents or options.sample
    schema = load_schema(
        options.schema, options.root, options.namespaces, documents, options.limits
    )
    from extract.preptool.prepare import prepare  # takes long to import

    with display(len(queries), options.progress, "queries") as shown:
        return prepare(
            schema,
            queries,
            options.chunks,
            weights=options.weights,
            sample=options.sample,
            workers=options.workers,
            limits=options.limits,
            database=options.target,
            progress=shown.advance,
        )


def load_with_digest(path: str) -> tuple[Scheme, str]:
    """Loads a scheme; also gives its fingerprint, by which chunks name their scheme.

    Raises:
        SchemeError: It cannot be loaded.
    """
    return Scheme.load(path), scheme_fingerprint(path)


def report_rejected(scheme: Scheme, file: str = "", verbosity: Verbosity = Verbosity.USUAL) -> None:
    """Says on standard error which queries are rejected, with a caret under the place.

    Args:
        scheme: The scheme.
        file: Where the queries are; empty if that is unknown, as for a scheme that was loaded.
        verbosity: How much to say.
    """
    shown = scheme.rejected[: verbosity.few(_REJECTED)]
    for one in shown:
        place = (file, one.line, one.column) if file else ("", 0, 0)
        error = QuerySyntaxError(one.reason, one.hint, *place, one.xpath, one.offset)
        warn(f"query {one.id!r} rejected: {error}\n")
    if len(scheme.rejected) > len(shown):
        more = len(scheme.rejected) - len(shown)
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


def report_queries(
    scheme: Scheme, file: str | None, verbosity: Verbosity = Verbosity.USUAL
) -> None:
    """Says on standard error which queries are rejected, cannot match, or look like a slip.

    Args:
        scheme: The scheme.
        file: Where the queries are, as the user named it; None if they are in no file.
        verbosity: How much to say; if little, only which are rejected.
    """
    report_rejected(scheme, "<stdin>" if file == "-" else file or "", verbosity)
    if verbosity is Verbosity.QUIET:
        return
    dead = scheme.unsatisfiable[: verbosity.few(_UNSATISFIABLE)]
    lines = [*unsatisfiable_lines(scheme, dead)]
    if len(scheme.unsatisfiable) > len(dead):
        more = len(scheme.unsatisfiable) - len(dead)
        lines.append(f"… and {more:,} more that cannot match, all in the scheme")
    lines += islice(_slips(scheme), verbosity.few(_SLIPS))
    for line in lines:
        click.echo(line, err=True)
    if lines:
        click.echo(err=True)
    report_schema(scheme.schema)


def report_schema(schema: Schema) -> None:
    """Says on standard error what is to be said of a schema, such as that it was inferred."""
    for note in schema.notes:
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
    few = scheme.queries if len(scheme.members) <= _FEW else ()
    for one in (query.subscribers[0] for query in few):
        hint = names.of(one.absolute)
        if hint:
            yield printable(f"Note: query {one.id!r} may be a slip: {hint}")
