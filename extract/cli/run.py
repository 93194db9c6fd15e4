"""``extract run``: documents and queries in, all matches out."""

from __future__ import annotations

import json
import time

import click

from extract.chunktool.input.find import FoundInputs, search_inputs
from extract.cli.config import config_option, no_config_option, options_as
from extract.cli.options import (
    WithLimits,
    assume_valid_option,
    chunks_option,
    engine_option,
    json_option,
    limit_options,
    matcher_option,
    on_nonconforming_option,
    output_directory_option,
    query_options,
    select_option,
)
from extract.cli.output import lies_inside
from extract.cli.preparing import prepared, report_queries, report_rejected
from extract.cli.progress import progress as display
from extract.cli.progress import progress_option
from extract.cli.run_options import GIVES_WAY, RunOptions
from extract.cli.run_summary import show_rejections, show_summary
from extract.errors import DocumentError
from extract.filtertool.local import available_cores
from extract.filtertool.output.directory import check_target
from extract.filtertool.results.progress import ProgressStep
from extract.filtertool.results.report import Report
from extract.filtertool.spark.driver.explain import explain_run
from extract.filtertool.spark.java import require_spark
from extract.filtertool.spark.master import require_master
from extract.pipeline import run as run_pipeline
from extract.pipeline import run_on_spark
from extract.scheme import Scheme


@click.command(cls=WithLimits)
@config_option
@no_config_option
@click.option("--scheme", type=click.Path(), metavar="FILE", help="What `extract prep` wrote.")
@query_options(required=False)
@chunks_option("; answers do not depend on it.")
@click.argument("documents", nargs=-1, required=True, type=click.Path(), metavar="DOCS...")
@output_directory_option("Where the results go; results that are there are replaced.")
@engine_option("Run on Spark, or in processes of this machine without it; the rows are the same.")
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
    default="parquet",
    show_default=True,
    type=click.Choice(["parquet", "jsonl", "xml"]),
    help="Rows as Parquet or JSON lines, or one XML document for each query.",
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
@limit_options("document", "answer", "query")
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

    DOCS are files, directories (searched for *.xml and *.xml.gz), globs, or - for standard input.
    DIR gets matches/ (one row for each document, query and node), rejected/ (documents and queries
    that were not processed, and why) and report.json; all of it when everything is done, or nothing
    at all. A summary goes to standard output.

    \b
    Example:
      extract run --schema schemas/university.dtd --root db --queries queries.tsv docs/ -o results
      extract run --scheme scheme.json 'news/*.xml.gz' --select count --format jsonl -o results
    """
    options.check()
    if options.engine == "spark":
        require_spark()  # before anything that takes long
        require_master(options.master)
    check_target(options.output)
    started = time.perf_counter()
    scheme = _scheme(options)
    prepared_s = time.perf_counter() - started
    found = _without_results(search_inputs(options.documents), options.output)
    if options.explain:
        cores = options.jobs or available_cores()
        click.echo(explain_run(scheme, found.documents, cores, options.select, options.form))
        return 0
    report = _run(options, scheme, found, prepared_s)
    show_rejections(report, options.output)
    if options.as_json:
        click.echo(json.dumps(report.to_json()))
    else:
        show_summary(report, options.output, options.form, time.perf_counter() - started)
    return 0 if report.complete else 1


def _scheme(options: RunOptions) -> Scheme:
    """Loads the scheme, or makes it; reports its odd queries."""
    if options.scheme is not None:
        scheme = Scheme.load(options.scheme)
        report_rejected(scheme)
        return scheme
    preparation = options.preparation
    assert preparation is not None  # `RunOptions.check`
    scheme = prepared(preparation)
    if options.as_json:
        report_rejected(scheme, preparation.queries)
    else:
        report_queries(scheme, preparation.queries)
    return scheme


def _run(options: RunOptions, scheme: Scheme, found: FoundInputs, prepared_s: float) -> Report:
    """Filters the documents on the engine that was asked for."""
    documents = found.documents
    with display(len(documents), options.progress) as shown:

        def progress(step: ProgressStep) -> None:
            shown.advance(*step)

        if options.engine == "spark":
            return run_on_spark(
                scheme,
                documents,
                options.output,
                master=options.spark_master,
                matcher=options.matcher,
                options=options.filtering,
                form=options.form,
                resume=options.resume,
                conf=options.spark_conf,
                progress=progress,
                seconds={"prepare": prepared_s},
                skipped=found.skipped,
            )
        return run_pipeline(
            scheme,
            [one.name for one in documents],
            options.output,
            matcher=options.matcher,
            options=options.filtering,
            form=options.form,
            jobs=options.jobs,
            progress=progress,
            seconds={"prepare": prepared_s},
            skipped=found.skipped,
        )


def _without_results(found: FoundInputs, output: str) -> FoundInputs:
    """The documents without results of ours, which may lie in a directory of documents."""
    inside = lies_inside(output)
    documents = tuple(one for one in found.documents if not inside(one.name))
    if not documents:
        reason = "all documents found are results of extract in this directory"
        raise DocumentError(reason, "name other documents, or another output directory", output)
    return FoundInputs(documents, tuple(one for one in found.skipped if not inside(one.path)))
