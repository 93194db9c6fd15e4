"""``extract filter``: chunks in files in, matches out."""

from __future__ import annotations

import json
import time

import click

from extract.cli.options import (
    WithLimits,
    json_option,
    limit_options,
    matcher_option,
    only_queries_option,
    output_option,
    scheme_option,
    select_option,
)
from extract.cli.preparing import load_with_digest, rejected_facts, report_rejected
from extract.cli.progress import progress as display
from extract.cli.progress import progress_option
from extract.cli.standard_output import rows_to
from extract.cli.terminal import warn
from extract.cli.verbosity import Verbosity, verbosity_options
from extract.filtertool.chunk_files import chunk_directories, chunk_file_filter
from extract.filtertool.chunk_outputs import ChunkOutputFilter
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.output.writers import StreamFormat
from extract.filtertool.results.progress import ProgressStep
from extract.filtertool.results.report import Report
from extract.limits import Limits
from extract.scheme.fingerprint import shown_scheme
from extract.scheme.selection import scheme_of_queries

_SHOWN = 20  # rejections shown one by one


@click.command("filter", cls=WithLimits)
@scheme_option
@click.argument("directory", metavar="DIR", type=click.Path())
@matcher_option
@only_queries_option
@select_option
@click.option(
    "--format",
    "form",
    default="jsonl",
    show_default=True,
    type=click.Choice(["jsonl", "tsv", "csv"]),
    help="Rows as JSON lines, or tab- or comma-separated with a line of names.",
)
@limit_options("document", "answer")
@output_option
@progress_option
@verbosity_options
@json_option
def filter(  # noqa: A001 (it is the name of the command)
    scheme: str,
    directory: str,
    matcher: str,
    query: tuple[str, ...],
    select: Select,
    form: StreamFormat,
    limits: Limits,
    output: str,
    progress: bool | None,
    verbosity: Verbosity,
    as_json: bool,
) -> int:
    """Evaluate the queries on the chunks that `extract chunk` wrote to DIR.

    Writes the matches as rows, with byte offsets of the original documents. A summary goes to
    standard error.

    \b
    Example:
      extract chunk --scheme scheme.json news/ -o chunks
      extract filter --scheme scheme.json chunks -o matches.jsonl
    """
    started = time.perf_counter()
    loaded, digest = load_with_digest(scheme)
    loaded = scheme_of_queries(loaded, query, shown_scheme(scheme))
    factory = load_matcher(matcher)
    make = ChunkOutputFilter if select == "output" else chunk_file_filter
    ready = make(loaded, factory, Options(select, limits=limits), digest)
    report = Report(loaded, "local", factory.name, select)
    rejected: list[str] = []
    directories = chunk_directories(directory)
    with (
        rows_to(output, form, ready.ids, select) as writer,
        display(len(directories), verbosity.progress(progress)) as shown,
    ):
        for each in directories:
            for done in ready.process([(str(each), each)]):
                writer.write(done.document, done.findings)
                report.add(done)
                shown.advance(*ProgressStep.of(done))
                if done.error is not None:
                    rejected.append(str(done.error))
                rejected += [
                    f"{done.document}: query {one.query!r}: {one.reason}"
                    for one in done.rejections
                    if one.query is not None
                ]
    report.seconds["elapsed"] = time.perf_counter() - started
    for message in rejected[: verbosity.few(_SHOWN)]:
        warn(f"rejected: {message}\n")
    if as_json:
        facts = report.to_json() | {"rejected": rejected_facts(loaded)}
        click.echo(json.dumps(facts), err=True)
    else:
        report_rejected(loaded, "", verbosity)
    if not as_json and verbosity is not Verbosity.QUIET:
        counts = report.documents
        click.echo(
            f"{counts['seen']:,} document{'s' * (counts['seen'] != 1)} "
            f"in {report.seconds['elapsed']:.1f} s: {report.matches:,} rows, "
            f"{counts['rejected']:,} documents and "
            f"{report.rejected_evaluations:,} evaluations rejected",
            err=True,
        )
    return 0 if report.complete else 1
