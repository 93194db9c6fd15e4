"""``extract subs``: subscriptions come and go, and the scheme is revised for the next document."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import click

from extract.cli.broker_subs import (
    BROKER,
    BrokerOptions,
    add_remotely,
    list_remotely,
    remove_remotely,
    replace_remotely,
)
from extract.cli.options import (
    Command,
    WithLimits,
    json_option,
    limit_options,
    namespaces_option,
    optional_queries_option,
    optional_scheme_option,
    xpath_version_option,
)
from extract.cli.preparing import given_queries, load_queries
from extract.cli.revising import revise_scheme
from extract.cli.revision import Revision
from extract.cli.tables import Table
from extract.cli.terminal import is_terminal
from extract.cli.transfer import SCHEME, export, import_, scheme_of, upgrade
from extract.errors import SubscriptionsError
from extract.limits import Limits
from extract.preptool.explain.labels import printable
from extract.preptool.registry import RegisteredQuery
from extract.preptool.revise import Reviser
from extract.scheme import Rejected, Scheme, Subscriber, Unsatisfiable
from extract.scheme.database import is_database
from extract.scheme.model import DOCUMENT
from extract.subscriptions import Subscription, Subscriptions
from extract.subscriptions.metadata import NO_METADATA, Condition, has_key, near_keys

_FILE = click.Path()

output_option = click.option(
    "--output",
    "-o",
    type=_FILE,
    metavar="FILE",
    help="Where the revised scheme goes; by default it replaces the old one. - is standard output.",
)


@click.group()
@optional_scheme_option
@click.option(
    "--url",
    metavar="URL",
    help="In place of a scheme, a broker (`extract serve`): http://host:8080, or with the feed, "
    "http://host:8080/feeds/NAME.",
)
@click.option("--feed", metavar="NAME", help="The broker's feed; by default the only one.")
@click.option(
    "--token-file",
    type=_FILE,
    metavar="FILE",
    help="The token for the broker, on the file's first line; by default in EXTRACT_TOKEN, or in "
    "the file that EXTRACT_TOKEN_FILE names.",
)
@click.pass_context
def subs(
    ctx: click.Context,
    scheme: str | None,
    url: str | None,
    feed: str | None,
    token_file: str | None,
) -> None:
    """Add subscriptions to a scheme, replace or remove some, list, import or export them.

    The scheme is revised, not made again: that costs as much as the change. The result is the same
    as that of `extract prep` with all queries. The scheme may be a file, or in a database. With
    --url the subscriptions are those of a broker's feed: a change holds for its next document.

    \b
    Example:
      extract subs --scheme scheme.json add big '//order[total > 1000]'
      extract subs --scheme scheme.json add --queries more.jsonl
      extract subs --scheme scheme.json replace big '//order[total > 5000]'
      extract subs --scheme scheme.json remove big
      extract subs --scheme scheme.json list --where owner=sales
      extract subs --scheme duckdb:subs.duckdb import alerts.parquet
      extract subs --url http://127.0.0.1:8080 --feed orders add big '//order[total > 1000]'
    """
    if url is not None and scheme is not None:
        raise click.UsageError("Give --scheme or --url, not both.")
    if url is None:
        if feed is not None or token_file is not None:
            raise click.UsageError("--feed and --token-file are for --url.")
        ctx.meta[SCHEME] = scheme
    else:
        ctx.meta[BROKER] = BrokerOptions(url, feed, token_file)


subs.add_command(import_)
subs.add_command(export)
subs.add_command(upgrade)


def _query_parameters(command: Command) -> Command:
    """The parameters of `add` and `replace`."""
    for parameter in (
        json_option,
        output_option,
        limit_options("query"),
        click.option(
            "--weight",
            type=click.FloatRange(min=0, min_open=True),
            metavar="W",
            help="How much a query given here counts when chunks are chosen, by default 1; in a "
            "file it says so itself.",
        ),
        xpath_version_option,
        namespaces_option,
        optional_queries_option,
        click.argument("query", nargs=-1, metavar="[ID XPATH]..."),
    ):
        command = parameter(command)
    return command


@subs.command(cls=WithLimits)
@_query_parameters
@click.pass_context
def add(
    ctx: click.Context,
    query: tuple[str, ...],
    queries: str | None,
    namespaces: dict[str, str],
    version: str,
    weight: float | None,
    limits: Limits,
    output: str | None,
    as_json: bool,
) -> int:
    """Add subscriptions, given here or in a file.

    Prefixes mean what the file or --ns says, else what they mean in the scheme. A query that does
    not parse is recorded in the scheme as rejected, and the exit status is 1; its id can be added
    again. If another id is taken already, nothing is done.

    \b
    Example:
      extract subs --scheme scheme.json add big '//po:order[po:total > 1000]'
      extract subs --scheme scheme.json add --queries more.jsonl --ns inv=urn:example:invoices
    """
    added = _given(query, queries, namespaces, version, weight, limits)
    if BROKER in ctx.meta:
        _no_output(output)
        return add_remotely(ctx.meta[BROKER], added, as_json)

    def change(reviser: Reviser, revision: Revision) -> None:
        revision.source = added.source
        outcome = reviser.add_all(added.with_defaults(reviser.namespaces))
        revision.added, revision.rejected, revision.unsatisfiable = outcome

    return revise_scheme(scheme_of(ctx), output, as_json, "add", change, limits)


@subs.command(cls=WithLimits)
@_query_parameters
@click.pass_context
def replace(
    ctx: click.Context,
    query: tuple[str, ...],
    queries: str | None,
    namespaces: dict[str, str],
    version: str,
    weight: float | None,
    limits: Limits,
    output: str | None,
    as_json: bool,
) -> int:
    """Replace subscriptions by others with the same ids, given here or in a file.

    An XPATH given here replaces the query; weight and metadata stay. A line of a file replaces
    everything: query, weight and metadata. Prefixes are looked up as for `add`.

    If an id is not there, or a query does not parse, nothing is done. A query that was rejected
    before can be replaced, too.

    \b
    Example:
      extract subs --scheme scheme.json replace big '//po:order[po:total > 5000]'
      extract subs --scheme scheme.json replace --queries corrected.jsonl
    """
    new = _given(query, queries, namespaces, version, weight, limits)
    if BROKER in ctx.meta:
        _no_output(output)
        return replace_remotely(ctx.meta[BROKER], new, queries is not None, as_json)

    def change(reviser: Reviser, revision: Revision) -> None:
        revision.source = new.source
        for one in new.with_defaults(reviser.namespaces):
            if queries is None:
                one = _as_before(one, reviser.get(one.id), weight)
            outcome = reviser.replace(one, new.source)
            revision.replaced += 1
            if isinstance(outcome, Unsatisfiable):
                revision.unsatisfiable.append(outcome)

    return revise_scheme(scheme_of(ctx), output, as_json, "replace", change, limits)


def _no_output(output: str | None) -> None:
    if output is not None:
        raise click.UsageError("--output is for a scheme: a broker keeps its subscriptions itself.")


def _given(
    query: tuple[str, ...],
    file: str | None,
    namespaces: dict[str, str],
    version: str,
    weight: float | None,
    limits: Limits,
) -> Subscriptions:
    """The subscriptions that are given as arguments, or in a file.

    Raises:
        click.UsageError: They are given in both ways or in none, or an XPath is missing.
    """
    if len(query) % 2 or bool(query) == bool(file):
        raise click.UsageError(
            "Give an ID and an XPATH, several of these pairs, or --queries FILE."
        )
    if file is not None:
        return load_queries(file, namespaces, limits, version)
    pairs = zip(query[::2], query[1::2], strict=True)
    return given_queries(pairs, namespaces, version, weight or 1)


def _as_before(new: Subscription, old: RegisteredQuery, weight: float | None) -> Subscription:
    """A subscription with the metadata of the one that it replaces; its weight unless given."""
    if isinstance(old, Rejected):
        return dataclasses.replace(new, metadata=old.metadata)
    before = old if isinstance(old, Subscriber) else old.subscriber
    kept = before.weight if weight is None else weight
    return dataclasses.replace(new, metadata=before.metadata, weight=kept)


@subs.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option(
    "--ids",
    "file",
    type=_FILE,
    metavar="FILE",
    help="A file of ids, one a line; what follows a tab is left alone. - is standard input.",
)
@output_option
@json_option
@click.pass_context
def remove(
    ctx: click.Context, ids: tuple[str, ...], file: str | None, output: str | None, as_json: bool
) -> int:
    """Remove subscriptions by their ids. If one of them is not there, nothing is done."""
    if bool(ids) == bool(file):
        raise click.UsageError("Give the ID of a subscription, several of them, or --ids FILE.")
    names = list(dict.fromkeys(ids if file is None else _ids(file)))
    if BROKER in ctx.meta:
        _no_output(output)
        return remove_remotely(ctx.meta[BROKER], names, as_json)

    def change(reviser: Reviser, revision: Revision) -> None:
        for name in names:
            reviser.remove(name)
        revision.removed = len(names)

    return revise_scheme(scheme_of(ctx), output, as_json, "remove", change)


def _conditions(
    ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> tuple[Condition, ...]:
    try:
        return tuple([Condition.parse(text) for text in texts])
    except ValueError as error:
        raise click.BadParameter(f"{error}. For example, --where owner=sales", ctx, param) from None


@subs.command("list")
@click.option(
    "--where",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_conditions,
    help="Only subscriptions with this metadata: a string, a number, true, false or null, or a "
    "list that has it; team.name=x is the name inside team. Repeated, all must hold.",
)
@click.option(
    "--sql",
    is_flag=True,
    help="Instead, print the tables and views of a scheme in a database, as SQL makes them.",
)
@json_option
@click.pass_context
def list_(ctx: click.Context, where: tuple[Condition, ...], sql: bool, as_json: bool) -> None:
    """List the subscriptions: id, where it is evaluated or why not, and the query.

    A table on a terminal; in a pipe, lines with tabs.

    With --json each is an object on a line of its own, with which `extract prep` could prepare them
    all again: the query in canonical form, the prefixes that it uses, its weight and its metadata.

    \b
    Example:
      extract subs --scheme scheme.json list --where owner=sales --where tags=urgent
      extract subs --scheme scheme.json list --json | jq -r .owner
    """
    if sql:
        _print_tables(ctx.meta.get(SCHEME) or "")
        return
    if BROKER in ctx.meta:
        list_remotely(ctx.meta[BROKER], where, as_json)
        return
    scheme = Scheme.load(scheme_of(ctx))
    rows = listed(scheme, where)
    if as_json:
        for row in rows:
            click.echo(json.dumps(row, ensure_ascii=False))
        return
    lines = (
        (row["id"], ",".join(row["chunks"]) or row["status"], row.get("written", row["xpath"]))
        for row in rows
    )
    if is_terminal():
        Table(("id", "chunk", "query"), list(lines)).show()
    else:  # for cut and awk
        for fields in lines:
            click.echo("\t".join(map(printable, fields)))


def _print_tables(url: str) -> None:
    if not is_database(url):
        raise click.UsageError("--sql is for a scheme in a database: duckdb:FILE or postgresql://…")
    from extract.scheme.database.describe import describe_tables

    for statement in describe_tables(url):
        click.echo(f"{statement};")


def listed(scheme: Scheme, where: Sequence[Condition] = ()) -> Iterator[dict[str, Any]]:
    """Yields the subscriptions for which all conditions hold, as plain values."""
    metadata = scheme.metadata
    for one in where:
        if not any(has_key(values, one.key) for values in metadata.values()):
            hint = near_keys(one.key, metadata.values())
            click.echo(f"Note: no subscription has the metadata {one.key!r}; {hint}", err=True)
    for row in _rows(scheme):
        own = metadata.get(row["id"], NO_METADATA)
        if all(one.holds(own) for one in where):
            yield {**row, **own}


def _rows(scheme: Scheme) -> Iterator[dict[str, Any]]:
    directory = scheme.directory
    inside = [(chunk.id, directory.forms_in(chunk.branches)) for chunk in scheme.every_chunk]
    forms = directory.forms.tolist()
    for number, form in enumerate(forms):
        one = directory.subscriber(number)
        used = {p: uri for p, uri in scheme.namespaces.items() if f"{p}:" in one.absolute}
        row = _row(one, used)
        if form >= 0:
            chunks = [name for name, here in inside if here[form]]
            yield row | {"status": "satisfiable", "chunks": chunks}
        else:
            reason = directory.reason(number)
            yield row | {"status": "unsatisfiable", "chunks": [], "reason": reason}
    for later in scheme.later:
        row = _row(later.subscriber, later.namespaces) | {"version": later.version}
        yield row | {"status": "satisfiable", "chunks": [DOCUMENT]}
    for wrong in scheme.rejected:
        row = {"id": wrong.id, "xpath": wrong.xpath, "status": "rejected", "chunks": []}
        yield row | {"reason": wrong.reason}


def _row(one: Subscriber, namespaces: Mapping[str, str]) -> dict[str, Any]:
    """What is listed of every query that can be evaluated."""
    row: dict[str, Any] = {"id": one.id, "xpath": one.absolute}
    if one.xpath != one.absolute:
        row["written"] = one.xpath
    if namespaces:
        row["namespaces"] = dict(namespaces)
    if one.weight != 1:
        row["weight"] = one.weight
    return row


def _ids(file: str) -> Iterable[str]:
    try:
        with click.open_file(file, encoding="utf-8-sig") as stream:
            lines = [line.partition("\t")[0].strip() for line in stream]
    except UnicodeDecodeError as error:
        raise SubscriptionsError(
            f"is not UTF-8: {error.reason}", "save it as UTF-8", file
        ) from None
    names = [line for line in lines if line and not line.startswith("#")]
    if not names:
        raise SubscriptionsError("there is no id in the file", "write one id a line", file)
    return names
