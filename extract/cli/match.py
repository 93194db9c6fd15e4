"""``extract match``: queries and a document in, rows on standard output."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from typing import Literal

import click

from extract.chunktool.input.find import STDIN, InputFile, search_inputs
from extract.chunktool.input.messages.form import MessageOptions
from extract.chunktool.input.messages.read import message_blocks
from extract.cli.message_options import message_options
from extract.cli.options import (
    WithLimits,
    assume_valid_option,
    expressions_option,
    json_option,
    limit_options,
    matcher_option,
    on_nonconforming_option,
    only_queries_option,
    output_option,
    query_options,
    select_option,
)
from extract.cli.preparing import PrepareOptions, prepared, report_queries, report_rejected
from extract.cli.run_summary import warn_of_schema
from extract.cli.standard_output import rows_to
from extract.cli.terminal import warn
from extract.cli.verbosity import Verbosity, verbosity_options
from extract.filtertool.job import Job
from extract.filtertool.load_scheme import scheme_for
from extract.filtertool.loaded_batch import NamedDocument
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.registry import AUTO, load_matcher
from extract.filtertool.options import Options
from extract.filtertool.output.writers import StreamFormat, write_outcome
from extract.filtertool.results.report import Report, rejected_files
from extract.limits import Limits
from extract.scheme.fingerprint import shown_scheme
from extract.scheme.selection import scheme_of_queries


@click.command(cls=WithLimits)
@click.argument("documents", nargs=-1, required=True, type=click.Path(), metavar="DOC...")
@click.option(
    "--scheme",
    type=click.Path(),
    metavar="FILE|URL",
    help="What `extract prep` wrote: a file, duckdb:FILE or postgresql://….",
)
@query_options(required=False, inferred_from="the documents")
@expressions_option
@only_queries_option
@output_option
@select_option
@click.option(
    "--format",
    "form",
    default="jsonl",
    show_default=True,
    type=click.Choice(["jsonl", "tsv", "csv", "xml"]),
    help="Rows as JSON lines, tab- or comma-separated with a line of names, or one XML document.",
)
@matcher_option
@on_nonconforming_option
@assume_valid_option
@message_options
@verbosity_options
@json_option
@limit_options("document", "answer", "query")
def match(
    documents: tuple[str, ...],
    scheme: str | None,
    schema: str | None,
    queries: str | None,
    root: str | None,
    namespaces: dict[str, str],
    version: str,
    expressions: tuple[str, ...],
    query: tuple[str, ...],
    output: str,
    select: Select,
    form: StreamFormat,
    matcher: str,
    on_nonconforming: Literal["fallback", "reject"],
    assume_valid: bool,
    messages: MessageOptions,
    verbosity: Verbosity,
    as_json: bool,
    limits: Limits,
) -> int:
    """Find all matches in one document or a few, and print them.

    DOC is a file, a directory (searched for *.xml, also compressed), a glob, or - for standard
    input. Rows go to standard output or to --output, one for each query and node; everything else
    goes to standard error. A document that cannot be read is rejected, and the others go on.
    `extract help messages` is about files that hold many documents.

    Without --schema, the schema is inferred from the documents, or taken from their internal DTD.
    All is done in this process, one document after the other, so that it starts at once; `extract
    run` is for many documents, and only there the limits of time and memory for one document hold.

    \b
    Example:
      extract match -e '//order[total > 1000]' orders/
      extract match --queries queries.tsv doc.xml -o rows.jsonl
      curl -s https://example.org/feed.xml | extract match -q queries.tsv - --format tsv
      extract match --scheme scheme.json doc.xml --query q17 --select count
      extract match --queries queries.tsv feed.xml --records item --select doc
    """
    started = time.perf_counter()
    given = [scheme is not None, queries is not None, bool(expressions)]
    if given.count(True) != 1 or (scheme is not None and schema is not None):
        raise click.UsageError(
            "Give one of --queries FILE, -e XPATH and --scheme FILE; "
            "the first two with --schema if there is one."
        )
    if expressions and query:
        raise click.UsageError(
            "--query chooses among the queries of a file; give only the -e you mean."
        )
    if queries == STDIN and STDIN in documents:
        raise click.UsageError("Queries and a document cannot both be standard input.")
    found = search_inputs(documents, messages)
    if scheme is not None:
        loaded = scheme_for(AUTO if query else matcher, scheme, select)
        ready = scheme_of_queries(loaded, query, shown_scheme(scheme))
        report_rejected(ready, "", verbosity)
    else:
        ready = prepared(
            PrepareOptions(
                schema=schema,
                queries=queries,
                expressions=expressions,
                root=root,
                namespaces=namespaces,
                version=version,
                chunks=1,  # all questions are asked of one document at once
                documents=found.documents,
                only=query,
                limits=limits,
                progress=False,
            )
        )
        report_queries(ready, queries, verbosity)
    factory = load_matcher(matcher)
    options = Options(
        select, on_nonconforming, assume_valid, standalone=form == "xml", limits=limits
    )
    report = Report(ready, "local", factory.name, select)
    filter_ = Job(ready, factory, options).filter()
    unread = rejected_files(found.skipped)
    report.add_unread(unread)
    with rows_to(output, form, filter_.ids, select) as writer:
        writer.reject(unread)
        for batch in _batches(found.documents, limits):
            for done in filter_.process(batch):
                if done.error is not None:
                    warn(f"rejected: {done.error}\n")
                else:
                    write_outcome(writer, done)
                report.add(done)
    report.seconds["elapsed"] = time.perf_counter() - started
    if report.none_conforms:
        warn_of_schema(report)
    if as_json:
        click.echo(json.dumps(report.to_json()), err=True)
    elif verbosity is Verbosity.VERBOSE:
        _summary(report)
    return 0 if report.complete else 1


def _batches(files: Iterable[InputFile], limits: Limits) -> Iterator[list[NamedDocument]]:
    """Yields documents one by one, and messages in blocks, each with its name."""
    for file in files:
        if file.messages is None:
            yield [("<stdin>" if file.name == STDIN else file.name, file.name)]
        else:
            for block in message_blocks(file, limits):
                yield block.documents()


def _summary(report: Report) -> None:
    documents = report.documents
    for note, count in report.notes.most_common():
        click.echo(f"Note: {count:,} document{'s' * (count != 1)}: {note}", err=True)
    click.echo(
        f"{documents['seen']:,} document{'s' * (documents['seen'] != 1)} "
        f"in {report.seconds['elapsed']:.2f} s: {report.matches:,} rows, "
        f"{documents['rejected']:,} rejected, {documents['nonconforming']:,} "
        "not as the schema says",
        err=True,
    )
