"""``extract prep``: queries and a schema in, a chunking scheme out."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import Any

import click

from extract.cli.options import (
    WithLimits,
    chunks_option,
    json_option,
    limit_options,
    output_option,
    query_options,
    sample_option,
)
from extract.cli.output import write_scheme
from extract.cli.preparing import PrepareOptions, prepared, rejected_facts, report_queries
from extract.cli.progress import progress_option
from extract.cli.tables import chunk_table
from extract.cli.verbosity import Verbosity, verbosity_options
from extract.preptool.explain.chunk_report import chunk_reports
from extract.preptool.prepare import WEIGHTS
from extract.scheme import Scheme


@click.command(cls=WithLimits)
@query_options(required=True, inferred_from="--sample")
@chunks_option(", next to the potpourri; auto finds the cheapest.")
@sample_option(
    "A document to estimate sizes from, and, without --schema, to infer the schema from; also "
    "gzipped; may be repeated."
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
@verbosity_options
@json_option
def prep(
    output: str,
    as_json: bool,
    verbosity: Verbosity,
    progress: bool | None,
    **preparation: Any,
) -> int:
    """Decide how documents are cut, so that each chunk answers its share of the queries.

    Without --schema, the schema is inferred from the --sample documents, or taken from their
    internal DTD. Writes the chunking scheme, which stands alone: nothing else is needed to filter
    documents. A summary goes to standard error. `extract explain` says why a query is where it is.

    \b
    Example:
      extract prep --schema schemas/university.dtd --queries queries.tsv -o scheme.json
      extract prep -s university.dtd -q queries.tsv --chunks 5 --sample doc.xml -o scheme.json
      extract prep --sample docs/1.xml --sample docs/2.xml -q queries.tsv -o scheme.json
      extract prep -s university.dtd -q queries.tsv -o duckdb:subs.duckdb
    """
    started = time.perf_counter()
    shown = verbosity.progress(progress)
    options = PrepareOptions(target=output, progress=shown, **preparation)
    scheme = prepared(options)
    write_scheme(scheme, output)
    seconds = time.perf_counter() - started
    if as_json:
        click.echo(json.dumps(_facts(scheme, seconds)), err=True)
    else:
        report_queries(scheme, options.queries, verbosity)
        if verbosity is not Verbosity.QUIET:
            _summary(scheme, seconds)
    return 1 if scheme.rejected else 0


def _facts(scheme: Scheme, seconds: float) -> dict[str, Any]:
    return {
        "queries": scheme.counts(),
        "chunks": [asdict(one) for one in chunk_reports(scheme)],
        "rejected": rejected_facts(scheme),
        "notes": [*scheme.schema.notes, *scheme.notes],
        "seconds": round(seconds, 3),
    }


def _summary(scheme: Scheme, seconds: float) -> None:
    counts = scheme.counts()
    for note in scheme.notes:
        click.echo(f"Note: {note}", err=True)
    chunk_table(scheme).show(err=True)
    click.echo(err=True)
    templates = _counted(counts["templates"], "template", "templates")
    click.echo(
        f"{_counted(counts['registered'], 'query', 'queries')} in {seconds:.1f} s: "
        f"{counts['satisfiable']:,} can match ({counts['canonical']:,} different of "
        f"{templates}; {counts['potpourri']:,} in the potpourri), "
        f"{counts['unsatisfiable']:,} unsatisfiable, {counts['rejected']:,} rejected",
        err=True,
    )


def _counted(number: int, one: str, several: str) -> str:
    """A number of things, in words.

    >>> _counted(1, "query", "queries"), _counted(2_000, "query", "queries")
    ('1 query', '2,000 queries')
    """
    return f"{number:,} {one if number == 1 else several}"
