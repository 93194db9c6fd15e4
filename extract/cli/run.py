"""``extract run``: documents and queries in, all matches out."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence

import click

from extract.chunktool.input.find import FoundInputs, InputFile, search_inputs
from extract.cli.config import options_as
from extract.cli.message_options import message_options
from extract.cli.options import (
    WithLimits,
    assume_valid_option,
    chunks_option,
    engine_option,
    json_option,
    limit_options,
    matcher_option,
    on_nonconforming_option,
    only_queries_option,
    output_directory_option,
    query_options,
    select_option,
)
from extract.cli.output import lies_inside
from extract.cli.preparing import prepared, report_queries, report_rejected
from extract.cli.progress import progress as display
from extract.cli.progress import progress_option
from extract.cli.run_options import GIVES_WAY, STDOUT, RunOptions
from extract.cli.run_summary import show_notes, show_other_ways, show_rejections, show_summary
from extract.cli.standard_output import rows_to
from extract.cli.verbosity import Verbosity, verbosity_options
from extract.errors import DocumentError
from extract.filtertool.load_scheme import scheme_for
from extract.filtertool.local import available_cores
from extract.filtertool.matchers.registry import AUTO, load_matcher
from extract.filtertool.output.directory import check_target
from extract.filtertool.output.joined import joined_columns
from extract.filtertool.results.progress import Progress, ProgressStep
from extract.filtertool.results.report import Report
from extract.filtertool.spark.driver.explain import explain_run
from extract.filtertool.spark.java import require_spark
from extract.filtertool.spark.master import require_master
from extract.pipeline import run as run_pipeline
from extract.pipeline import run_into, run_on_spark
from extract.scheme import Scheme
from extract.scheme.fingerprint import shown_scheme
from extract.scheme.selection import scheme_of_queries


@click.command(cls=WithLimits)
@click.option(
    "--scheme",
    type=click.Path(),
    metavar="FILE|URL",
    help="What `extract prep` wrote: a file, duckdb:FILE or postgresql://….",
)
@query_options(required=False, inferred_from="the documents")
@only_queries_option
@chunks_option("; answers do not depend on it.")
@click.argument("documents", nargs=-1, required=True, type=click.Path(), metavar="DOCS...")
@output_directory_option(
    "Where the results go; results that are there are replaced. - prints rows on standard output."
)
@engine_option(
    "Run on Spark, or in processes of this machine without it; the rows are the same.",
    default=None,
    show_default="spark; local for -o -",
)
@click.option(
    "--master",
    metavar="URL",
    help="The Spark master, such as spark://host:7077; by default all cores of this machine.",
)
@click.option(
    "--conf",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of Spark, such as spark.executor.memory=2g; may be repeated.",
)
@click.option(
    "--jobs",
    "-j",
    default=0,
    type=click.IntRange(min=0),
    metavar="N",
    help="How many processes or cores to use here; by default all.",
)
@matcher_option
@on_nonconforming_option
@assume_valid_option
@select_option
@click.option(
    "--format",
    "form",
    show_default="parquet; jsonl for -o -",
    type=click.Choice(["parquet", "jsonl", "csv", "tsv", "xml"]),
    help="Rows as Parquet, JSON lines, CSV or TSV, or one XML document for each query.",
)
@click.option(
    "--with",
    "joined",
    multiple=True,
    metavar="[COLUMN=]KEY",
    help="Add metadata of the subscription to each row, as a column of its name or another; "
    "team.name is the name inside team. May be repeated.",
)
@progress_option
@click.option(
    "--priority",
    is_flag=True,
    help="Evaluate those chunks first whose subscribers weigh most; the report says how many "
    "milliseconds after the start of a document the results of each chunk were there, at the "
    "earliest and at the latest.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Say which Spark jobs would run, which task would get which documents, and do nothing.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Keep what is finished if it is interrupted; called again, it goes on from there.",
)
@message_options
@limit_options("document", "answer", "query")
@verbosity_options
@json_option
@options_as(RunOptions, *GIVES_WAY)
def run(options: RunOptions) -> int:
    """Find all matches of all queries in all documents.

    Every option can stand in a file extract.toml, under its name; DOCS are `docs` there:

    \b
      schema = "schemas/university.dtd"
      queries = "queries.tsv"
      docs = ["docs"]
      output = "results"

    DOCS are files, directories (searched for *.xml, also compressed), globs, or - for standard
    input; `extract help messages` is about files that hold many documents. DIR gets matches/ (one
    row for each document, query and node), rejected/ (documents and queries that were not
    processed, and why) and report.json; all of it when everything is done, or nothing at all. A
    summary goes to standard output. With -o - rows go to standard output as they come, and
    everything else to standard error.

    Without --schema, the schema is inferred from the documents, or taken from their internal DTD;
    --schema none takes any document.

    \b
    Example:
      extract run --schema schemas/university.dtd --root db --queries queries.tsv docs/ -o results
      extract run --queries queries.tsv docs/ -o - --format csv > matches.csv
      extract run --scheme scheme.json 'news/*.xml.gz' --select count --format jsonl -o results
      extract run --scheme scheme.json docs/ --with owner --with label=name -o results
      extract run --scheme scheme.json feed.xml --records item --select doc -o results
    """
    options.check()
    if not options.local:
        require_spark()  # before anything that takes long
        require_master(options.master)
    if not options.on_stdout:
        check_target(options.output)
    started = time.perf_counter()
    _launch_spark(options)
    found = _without_results(search_inputs(options.documents, options.messages), options.output)
    scheme = _scheme(options, found.documents)
    prepared_s = time.perf_counter() - started
    if options.explain:
        cores = options.jobs or available_cores()
        click.echo(explain_run(scheme, found.documents, cores, options.select, options.format))
        return 0
    report = _run(options, scheme, found, prepared_s)
    show_notes(report, options.verbosity)
    if not options.on_stdout:  # else they were shown as they came
        show_rejections(report, options.output)
    if options.verbosity is not Verbosity.QUIET:
        show_other_ways(report)
    if options.as_json:
        click.echo(json.dumps(report.to_json()), err=options.on_stdout)
    else:
        seconds = time.perf_counter() - started
        show_summary(report, options.output, options.format, seconds, options.verbosity)
    return 0 if report.complete else 1


def _launch_spark(options: RunOptions) -> None:
    """Launches Spark, so that it starts while the scheme is made."""
    if not options.local and not options.explain:
        from extract.filtertool.spark.session import launch_ahead

        launch_ahead(options.spark_master, options.spark_conf)


def _scheme(options: RunOptions, documents: Sequence[InputFile]) -> Scheme:
    """Loads the scheme, or makes it; reports its odd queries."""
    if options.scheme is not None:
        matcher = AUTO if options.query or options.explain else options.matcher
        loaded = scheme_for(matcher, options.scheme, options.select, not options.local)
        scheme = scheme_of_queries(loaded, options.query, shown_scheme(options.scheme))
        report_rejected(scheme, "", options.verbosity)
        return scheme
    preparation = options.preparation(_readable_here(options, documents))
    assert preparation is not None  # `RunOptions.check`
    scheme = prepared(preparation)
    if options.as_json:
        report_rejected(scheme, preparation.queries or "", options.verbosity)
    else:
        report_queries(scheme, preparation.queries, options.verbosity)
    return scheme


def _readable_here(options: RunOptions, documents: Sequence[InputFile]) -> tuple[InputFile, ...]:
    """The documents, which a schema may have to be inferred from.

    Raises:
        click.UsageError: It has to, and there is a document that only workers can open.
    """
    remote = next((one.name for one in documents if one.is_remote), None)
    if options.schema is None and remote is not None:
        raise click.UsageError(
            f"A schema is inferred only from documents of this machine, not from {remote}: give "
            "--schema, or --schema none."
        )
    return tuple(documents)


def _run(options: RunOptions, scheme: Scheme, found: FoundInputs, prepared_s: float) -> Report:
    """Filters the documents on the engine that was asked for."""
    wanted = options.verbosity.progress(options.progress)
    documents = found.documents
    seconds = {"prepare": prepared_s}
    with display(len(documents), wanted) as shown:

        def progress(step: ProgressStep) -> None:
            shown.advance(*step)

        if options.on_stdout:
            return _run_to_stdout(options, scheme, found, progress, seconds)
        if options.local:
            return run_pipeline(
                scheme,
                documents,
                options.output,
                matcher=options.matcher,
                options=options.filtering,
                form=options.format,
                jobs=options.jobs,
                progress=progress,
                seconds=seconds,
                skipped=found.skipped,
            )
        return run_on_spark(
            scheme,
            documents,
            options.output,
            master=options.spark_master,
            matcher=options.matcher,
            options=options.filtering,
            form=options.format,
            resume=options.resume,
            conf=options.spark_conf,
            progress=progress,
            seconds=seconds,
            skipped=found.skipped,
        )


def _run_to_stdout(
    options: RunOptions,
    scheme: Scheme,
    found: FoundInputs,
    progress: Progress,
    seconds: Mapping[str, float],
) -> Report:
    """Filters the documents, and writes their rows to standard output as they come."""
    form = options.format
    assert form in ("jsonl", "csv", "tsv")  # `RunOptions.check`
    factory, filtering = load_matcher(options.matcher), options.filtering
    ids = scheme.directory.ids
    joined = joined_columns(scheme, options.joined)
    with rows_to(options.output, form, ids, options.select, joined) as writer:
        report = run_into(
            writer,
            scheme,
            found.documents,
            factory,
            filtering,
            options.jobs,
            progress,
            found.skipped,
        )
    report.seconds.update_by(seconds)
    return report


def _without_results(found: FoundInputs, output: str) -> FoundInputs:
    """The documents without results of ours, which may lie in a directory of documents."""
    if output == STDOUT:
        return found
    inside = lies_inside(output)
    documents = tuple(one for one in found.documents if not inside(one.name))
    if not documents:
        reason = "all documents found are results of extract in this directory"
        raise DocumentError(reason, "name other documents, or another output directory", output)
    return FoundInputs(documents, tuple(one for one in found.skipped if not inside(one.path)))
