"""``extract prep``: queries and a schema in, a chunking scheme out."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import Any, Literal

import click

from extract.cli.options import (
    WithLimits,
    chunk_number,
    json_option,
    limit_options,
    namespaces_option,
    output_option,
    queries_option,
    root_option,
    schema_option,
    xpath_version_option,
)
from extract.cli.output import open_output
from extract.cli.progress import progress as display
from extract.cli.progress import progress_option
from extract.cli.tables import chunk_table
from extract.cli.terminal import warn
from extract.errors import QuerySyntaxError, SubscriptionsError
from extract.limits import Limits
from extract.preptool.explain import chunk_reports
from extract.preptool.prepare import WEIGHTS, prepare
from extract.schema.model import Schema
from extract.scheme import Rejected, Scheme
from extract.subscriptions import Subscriptions

_SHOWN = 20  # rejected queries shown one by one; the others are in the scheme


@click.command(cls=WithLimits)
@schema_option
@queries_option
@root_option
@namespaces_option
@xpath_version_option
@click.option(
    "--chunks",
    "-n",
    required=True,
    callback=chunk_number,
    metavar="N|auto",
    help="Into how many chunks to cut documents, next to the potpourri; auto finds the cheapest.",
)
@click.option(
    "--sample",
    "samples",
    multiple=True,
    type=click.Path(),
    metavar="DOC",
    help="A document to estimate sizes from; also gzipped; may be repeated.",
)
@click.option(
    "--workers",
    default=1,
    show_default=True,
    metavar="N",
    help="For auto: how many chunks of one document are filtered at the same time.",
)
@click.option(
    "--weights",
    default="one",
    show_default=True,
    type=click.Choice(list(WEIGHTS)),
    help="Count each different query once, or by the weights of its subscribers.",
)
@limit_options("query")
@output_option
@progress_option
@json_option
def prep(
    schema: str,
    queries: str,
    root: str | None,
    namespaces: dict[str, str],
    version: str,
    chunks: int | Literal["auto"],
    samples: tuple[str, ...],
    workers: int,
    weights: str,
    limits: Limits,
    output: str,
    progress: bool | None,
    as_json: bool,
) -> int:
    """Decide how documents are cut, so that each chunk answers its share of the queries.

    Writes the chunking scheme, which stands alone: nothing else is needed to filter documents. A
    summary goes to standard error. `extract explain` says why a query is where it is.

    \b
    Example:
      extract prep --schema schemas/university.dtd --queries queries.tsv --chunks 5 -o scheme.json
      extract prep -s university.dtd -q queries.tsv --chunks auto --sample doc.xml -o scheme.json
    """
    started = time.perf_counter()
    model = Schema.load(schema, root, namespaces)
    subscriptions = Subscriptions.load(queries, namespaces, limits, version)
    if not subscriptions:
        hint = "write one query a line: id<TAB>xpath, or just the XPath"
        raise SubscriptionsError("there is no query in the file", hint, subscriptions.source)
    weigh = WEIGHTS[weights]
    with display(len(subscriptions), progress, "queries") as shown:
        scheme = prepare(
            model,
            subscriptions,
            chunks,
            weigh,
            samples=samples,
            workers=workers,
            progress=shown.advance,
            limits=limits,
        )
    with open_output(output) as stream:
        stream.writelines(scheme.lines())
    seconds = time.perf_counter() - started
    if as_json:
        click.echo(json.dumps(_facts(scheme, seconds)), err=True)
    else:
        for rejected in scheme.rejected[:_SHOWN]:
            warn(f"query {rejected.id!r} rejected: {_error(rejected, queries)}\n")
        _summary(scheme, seconds)
    return 1 if scheme.rejected else 0


def _error(one: Rejected, file: str) -> QuerySyntaxError:
    place = ("<stdin>" if file == "-" else file, one.line, one.column)
    return QuerySyntaxError(one.reason, one.hint, *place, one.xpath, one.offset)


def _facts(scheme: Scheme, seconds: float) -> dict[str, Any]:
    return {
        "queries": scheme.counts(),
        "chunks": [asdict(one) for one in chunk_reports(scheme)],
        "notes": [*scheme.schema.notes, *scheme.notes],
        "seconds": round(seconds, 3),
    }


def _summary(scheme: Scheme, seconds: float) -> None:
    counts = scheme.counts()
    lines = [f"Note: {note}" for note in (*scheme.schema.notes, *scheme.notes)]
    if counts["rejected"] > _SHOWN:
        lines.append(f"… and {counts['rejected'] - _SHOWN:,} more rejected, all in the scheme")
    for line in lines:
        click.echo(line, err=True)
    chunk_table(scheme).show(err=True)
    click.echo(err=True)
    for one in scheme.unsatisfiable[:_SHOWN] if not counts["satisfiable"] else ():
        click.echo(f"query {one.subscriber.id!r} cannot match: {one.reason}", err=True)
    click.echo(
        f"{counts['registered']:,} queries in {seconds:.1f} s: "
        f"{counts['satisfiable']:,} can match ({counts['canonical']:,} different, "
        f"{len(scheme.branches):,} branches; {counts['potpourri']:,} in the potpourri), "
        f"{counts['unsatisfiable']:,} unsatisfiable, {counts['rejected']:,} rejected",
        err=True,
    )
