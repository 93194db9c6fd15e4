"""``extract run``: documents and queries in, all matches out."""

from __future__ import annotations

import json
import os
import time
from functools import lru_cache
from typing import Any, Literal

import click

from extract.chunktool.find import InputFile, find_inputs
from extract.cli.config import config_option, no_config_option, wins
from extract.cli.options import (
    WithLimits,
    assume_valid_option,
    chunk_number,
    json_option,
    limit_options,
    matcher_option,
    namespaces_option,
    on_nonconforming_option,
    root_option,
    select_option,
    xpath_version_option,
)
from extract.cli.preparing import prepared, tell, tell_rejected
from extract.cli.progress import Display, progress_option
from extract.cli.progress import progress as display
from extract.cli.tables import Table
from extract.cli.terminal import warn
from extract.errors import DocumentError
from extract.filtertool.filtering import Options
from extract.filtertool.local import available_cores
from extract.filtertool.matcher import Select
from extract.filtertool.progress import Progress
from extract.filtertool.report import Report
from extract.filtertool.result_directory import REPORT, check_target
from extract.filtertool.spark.driver.explain import explain_run
from extract.filtertool.spark.java import require_spark
from extract.filtertool.spark.master import require_master
from extract.filtertool.writers import Format
from extract.limits import Limits
from extract.pipeline import run as run_pipeline
from extract.pipeline import run_on_spark
from extract.preptool.explain import harmless
from extract.scheme import Scheme

_NOTES = 3  # reasons that are told; all are in the report


@click.command(cls=WithLimits)
@config_option
@no_config_option
@click.option("--scheme", type=click.Path(), metavar="FILE", help="What `extract prep` wrote.")
@click.option("--schema", "-s", type=click.Path(), metavar="FILE", help="The DTD or XSD.")
@click.option(
    "--queries",
    "-q",
    type=click.Path(),
    metavar="FILE",
    help="The queries: lines of id<TAB>xpath, or .jsonl; also gzipped.",
)
@root_option
@namespaces_option
@xpath_version_option
@click.option(
    "--chunks",
    "-n",
    default="auto",
    callback=chunk_number,
    metavar="N|auto",
    help="Into how many chunks to cut documents; answers do not depend on it.",
)
@click.argument("documents", nargs=-1, required=True, type=click.Path(), metavar="DOCS...")
@click.option(
    "--output",
    "-o",
    required=True,
    type=click.Path(),
    metavar="DIR",
    help="Where the results go; results that are there are replaced.",
)
@click.option(
    "--engine",
    default="spark",
    show_default=True,
    type=click.Choice(["spark", "local"]),
    help="Run on Spark, or in processes of this machine without it; the rows are the same.",
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
@click.pass_context
def run(
    ctx: click.Context,
    config: str | None,
    no_config: bool,
    scheme: str | None,
    schema: str | None,
    queries: str | None,
    root: str | None,
    namespaces: dict[str, str],
    version: str,
    chunks: int | Literal["auto"],
    documents: tuple[str, ...],
    output: str,
    engine: str,
    master: str | None,
    conf: tuple[str, ...],
    jobs: int,
    matcher: str,
    on_nonconforming: Literal["fallback", "reject"],
    assume_valid: bool,
    select: Select,
    form: Format,
    progress: bool | None,
    priority: bool,
    explain: bool,
    resume: bool,
    limits: Limits,
    as_json: bool,
) -> int:
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
    if config is not None and not wins(ctx, "config"):
        click.echo(f"Note: options are taken from {config}", err=True)
    if wins(ctx, "scheme") and not wins(ctx, "schema", "queries"):
        schema = queries = None
    elif wins(ctx, "schema", "queries") and not wins(ctx, "scheme"):
        scheme = None
    if engine == "local" and wins(ctx, "engine"):
        master = master if wins(ctx, "master") else None
        resume = resume and wins(ctx, "resume")
        conf = conf if wins(ctx, "conf") else ()
    if wins(ctx, "jobs") and not wins(ctx, "master"):
        master = None
    elif wins(ctx, "master") and not wins(ctx, "jobs"):
        jobs = 0
    if engine == "spark":
        require_spark()  # before anything that takes long
        require_master(master)
    elif master or resume or conf:
        raise click.UsageError("--master, --conf and --resume are for --engine spark.")
    if bad := next((one for one in conf if not one.partition("=")[2]), None):
        raise click.UsageError(f"--conf {bad}: write NAME=VALUE, as for spark-submit.")
    if jobs and master:
        raise click.UsageError("Give --master or --jobs, but not both.")
    check_target(output)
    started = time.perf_counter()
    loaded = _scheme(scheme, schema, queries, root, namespaces, version, chunks, limits, progress)
    spent = {"prepare": time.perf_counter() - started}
    if queries is None:
        tell_rejected(loaded)
    elif not as_json:
        tell(loaded, queries)
    else:
        tell_rejected(loaded, queries)
    listed = _without_results(find_inputs(documents), output)
    if explain:
        cores = jobs or available_cores()
        click.echo(explain_run(loaded, listed, cores, select, form))
        return 0
    options = Options(
        select,
        on_nonconforming,
        assume_valid,
        standalone=form == "xml",
        limits=limits,
        priority=priority,
    )
    with display(len(listed), progress) as shown:
        told = _teller(shown)
        if engine == "spark":
            report = run_on_spark(
                loaded,
                listed,
                output,
                master=master or (f"local[{jobs}]" if jobs else None),
                matcher=matcher,
                options=options,
                form=form,
                resume=resume,
                conf={name: value for name, _, value in (one.partition("=") for one in conf)},
                progress=told,
                seconds=spent,
            )
        else:
            report = run_pipeline(
                loaded,
                [one.name for one in listed],
                output,
                matcher=matcher,
                options=options,
                form=form,
                jobs=jobs,
                progress=told,
                seconds=spent,
            )
    for note, count in report.notes.most_common(_NOTES):
        click.echo(harmless(f"Note: {count:,} document{'s' * (count != 1)}: {note}"), err=True)
    for message in report.examples:
        warn(f"rejected: {message}\n")
    if report.rejections > len(report.examples):
        where = os.path.join(output, "rejected")
        click.echo(f"… and more of {report.rejections:,} rejections, all in {where}\n", err=True)
    if as_json:
        click.echo(json.dumps(report.to_json()))
    else:
        _summary(report, output, form, time.perf_counter() - started)
    return 0 if report.complete else 1


def _teller(shown: Display) -> Progress:
    return lambda step: shown.advance(*step)


def _scheme(
    scheme: str | None,
    schema: str | None,
    queries: str | None,
    root: str | None,
    namespaces: dict[str, str],
    version: str,
    chunks: int | Literal["auto"],
    limits: Limits,
    progress: bool | None,
) -> Scheme:
    """The scheme of the file, or one that is made now."""
    if scheme is not None:
        if schema is not None or queries is not None:
            raise click.UsageError("Give --scheme, or --schema and --queries, but not both.")
        return Scheme.load(scheme)
    if schema is None or queries is None:
        raise click.UsageError("Give --scheme, or --schema and --queries.")
    return prepared(schema, queries, root, namespaces, version, chunks, limits, progress)


def _without_results(listed: list[InputFile], output: str) -> list[InputFile]:
    """The documents without results of ours, which may lie in a directory of documents."""
    inside = os.path.join(os.path.realpath(output), "")
    folder = lru_cache(maxsize=None)(os.path.realpath)  # a million documents lie in few

    def place(name: str) -> str:
        if os.path.islink(name):
            return os.path.realpath(name)
        return os.path.join(folder(os.path.dirname(name)), os.path.basename(name))

    left = [one for one in listed if not place(one.name).startswith(inside)]
    if not left:
        raise DocumentError("there is no document but results of extract", "", output)
    return left


def _summary(report: Report, output: str, form: Format, seconds: float) -> None:
    facts: dict[str, Any] = report.to_json()
    documents, queries = facts["documents"], facts["queries"]
    what = {"nodes": "matches", "count": "queries with matches", "doc": "queries with matches"}
    fates = (
        f"{documents['conforming']:,} cut into chunks, {documents['whole']:,} evaluated whole, "
        f"{documents['rejected']:,} rejected"
    )
    if documents["nonconforming"]:
        broken = documents["nonconforming"]
        fates += f"; {broken:,} break{'s' * (broken == 1)} the schema"
    kinds = (
        f"{queries['canonical']:,} different, {queries['unsatisfiable']:,} unsatisfiable, "
        f"{queries['rejected']:,} rejected"
    )
    if queries["failing"]:
        kinds += f", {queries['failing']:,} failing"
    ran = f"scanner {report.kernel}, matcher {report.matcher}, engine {report.engine}"
    rows = [
        ("documents", f"{documents['seen']:,}", fates),
        ("queries", f"{queries['registered']:,}", kinds),
        ("rows", f"{facts['matches']:,}", what[report.select]),
        ("bytes", f"{facts['bytes']:,}", f"in {seconds:.1f} s ({ran})"),
    ]
    if side := report.parallel:
        gain = f"{side['gain']:.1f} times as fast as one by one"
        work = f"{facts['seconds']['job']:.1f} s of work on {side['cores']} cores"
        start = f"{facts['seconds'].get('start_spark', 0):.1f} s"
        rows.append(("tasks", f"{side['tasks']:,}", f"{work}, {gain}; start of Spark {start}"))
    Table(("", "", ""), rows, frozenset({1})).show()
    click.echo(f"\nResults are in {output} ({form}), figures in {os.path.join(output, REPORT)}")
