"""``extract join``: queries and documents of streams in, joined rows out."""

from __future__ import annotations

import json
import os
import re
import time as clock
from pathlib import Path
from typing import Final, TypedDict

import click

from extract.chunktool.input.find import InputFile, search_inputs
from extract.chunktool.input.messages.form import MessageOptions
from extract.cli.message_options import message_options
from extract.cli.options import (
    WithLimits,
    json_option,
    limit_options,
    namespaces_option,
    output_directory_option,
)
from extract.cli.output import lies_inside, open_output
from extract.cli.standard_output import in_words
from extract.cli.terminal import warn
from extract.cli.verbosity import Verbosity, verbosity_options
from extract.errors import SubscriptionsError
from extract.filtertool.joins.inputs import ARRIVAL, in_order
from extract.filtertool.joins.writers import JoinedLines
from extract.filtertool.output.directory import check_target
from extract.filtertool.output.writers import Format
from extract.filtertool.results.outcome import Rejection
from extract.filtertool.results.report import rejected_files
from extract.join_run import (
    JoinReport,
    join_into,
    join_on_spark,
    run_joins,
    run_joins_on_spark,
)
from extract.joins import Joins, WhenFull
from extract.limits import Limits
from extract.schema.model import Schema
from extract.subscriptions.model import Subscriptions
from extract.xscl.ast import EVERY_STREAM
from extract.xscl.times import duration

_NAMED: Final = re.compile(r"([^\W\d][\w.\-]*)=(.+)", re.DOTALL)
_UNITS: Final = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}
_SIZE: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMG]?)B?", re.IGNORECASE)
_SHOWN: Final = 10


@click.command(cls=WithLimits)
@click.option(
    "--queries", "-q", required=True, type=click.Path(), metavar="FILE",
    help="The queries: lines of id<TAB>XSCL, or .jsonl with xscl; also gzipped.",
)  # fmt: skip
@click.option(
    "--schema", "-s", "schemas", multiple=True, metavar="[STREAM=]FILE",
    help="The DTD or XSD of a stream, or of all; rows do not depend on it. May be repeated.",
)  # fmt: skip
@namespaces_option
@click.argument("documents", nargs=-1, required=True, metavar="[STREAM=]DOCS...")
@output_directory_option(
    "Where the results go; results that are there are replaced. - prints rows on standard output."
)
@click.option(
    "--time", default=ARRIVAL, show_default=True, metavar="arrival|mtime|XPATH",
    help="The time of a document: when it is read, that of its file, or what the XPath leads to: "
    "a number of seconds, or ISO 8601.",
)  # fmt: skip
@click.option(
    "--lateness", metavar="SECONDS",
    help="By how much a document may be behind the latest time of the streams that a query reads; "
    "by default the longest window.",
)  # fmt: skip
@click.option(
    "--max-state", metavar="BYTES",
    help="About how much memory documents may take that are kept for later ones, as in 500MB.",
)  # fmt: skip
@click.option(
    "--when-full", default="stop", show_default=True, type=click.Choice(["stop", "drop"]),
    help="What happens then: stop with an error, or drop the oldest documents, each a rejection.",
)  # fmt: skip
@click.option(
    "--state", type=click.Path(), metavar="DIR",
    help="Go on from the state in this directory, if there is one, and save it there at the end.",
)  # fmt: skip
@click.option(
    "--engine", default="local", show_default=True, type=click.Choice(["local", "spark"]),
    help="This process, or tasks of Spark; the rows are the same.",
)  # fmt: skip
@click.option(
    "--jobs", type=click.IntRange(1), default=1, show_default=True, metavar="N",
    help="How many processes join, by value; the rows and their order are the same.",
)  # fmt: skip
@click.option(
    "--format", "form", show_default="parquet; jsonl for -o -",
    type=click.Choice(["parquet", "jsonl", "csv", "tsv", "xml"]),
    help="Rows as Parquet, JSON lines, CSV or TSV, or one XML document for each query.",
)  # fmt: skip
@message_options
@limit_options("document", "answer", "query")
@verbosity_options
@json_option
def join(
    queries: str,
    schemas: tuple[str, ...],
    namespaces: dict[str, str],
    documents: tuple[str, ...],
    output: str,
    time: str,
    lateness: str | None,
    max_state: str | None,
    when_full: WhenFull,
    state: str | None,
    engine: str,
    jobs: int,
    form: Format | None,
    messages: MessageOptions,
    limits: Limits,
    verbosity: Verbosity,
    as_json: bool,
) -> int:
    """Join documents of streams by value, within windows.

    Queries are XSCL: two tree patterns, equalities between their variables, and a window in seconds
    or in events. DOCS are files, directories or globs, of the stream whose name stands before them;
    without a name they are of a stream S. They are read by time, then by path.

    DIR gets joined/ (one row for each query, pair of documents and combination of bindings),
    rejected/ (documents and queries that were not processed, and why) and report.json; all of it
    when everything is done, or nothing at all.

    \b
    Example:
      extract join --queries joins.tsv orders=orders/ bills=bills/ --time //@date -o results
      extract join --queries joins.tsv feed/ --time mtime --state state/ -o today
    """
    started = clock.perf_counter()
    if engine == "spark" and (state or max_state):
        raise click.UsageError("--state and --max-state are for --engine local.")
    if engine == "spark" and jobs > 1:
        raise click.UsageError("--jobs is for --engine local; of Spark, the master says how many.")
    form = form or ("jsonl" if output == "-" else "parquet")
    if output == "-" and form in ("parquet", "xml"):
        raise click.UsageError(f"--format {form} needs a directory: name one with -o.")
    if output != "-":
        check_target(output)
    joins = _joins(
        queries, _schemas(schemas), namespaces, state, limits,
        lateness=_seconds(lateness), max_state=_bytes(max_state), when_full=when_full,
    )  # fmt: skip
    files, skipped = _files(documents, messages, output)
    _warn_of_streams(joins, {stream for stream, _ in files}, all_at_once=state is None)
    inputs = in_order(files, time, namespaces, limits)
    timed: _TimeOptions = {"time": time, "namespaces": namespaces}
    if output == "-":
        with open_output(output) as stream:
            writer = JoinedLines(stream, None, form)
            if engine == "spark":
                report = join_on_spark(writer, joins, files, skipped, **timed)
            else:
                report = join_into(writer, joins, inputs, skipped, jobs, state is not None)
    elif engine == "spark":
        report = run_joins_on_spark(joins, files, output, form, skipped, **timed)
    else:
        report = run_joins(joins, inputs, output, form, skipped, jobs, state is not None)
    if state is not None:  # after the rows: a crash in between gives them again, with the same keys
        joins.save(state)
    report.seconds["elapsed"] = clock.perf_counter() - started
    _show(report, output, verbosity, as_json)
    return 0 if report.complete else 1


class _TimeOptions(TypedDict):
    time: str
    namespaces: dict[str, str]


def _joins(
    queries: str,
    schemas: dict[str, Schema],
    namespaces: dict[str, str],
    state: str | None,
    limits: Limits,
    *,
    lateness: str | None,
    max_state: int | None,
    when_full: WhenFull,
) -> Joins:
    """The queries of the file; with the state of the run before, if there is one."""
    subscriptions = Subscriptions.load(queries, namespaces, limits)
    if not subscriptions:
        hint = "write one query a line: id<TAB>S//a->x JOIN{x=y, 60} S//b->y"
        raise SubscriptionsError("there is no query in the file", hint, subscriptions.source)
    if state is None or not os.path.isdir(state) or not os.listdir(state):
        joins = Joins(
            subscriptions, schemas, lateness=lateness, max_state=max_state, when_full=when_full,
            limits=limits,
        )  # fmt: skip
    else:
        joins = Joins.restore(
            state, schemas, lateness=lateness, max_state=max_state, when_full=when_full,
            limits=limits,
        )  # fmt: skip
        joins.replace_all(subscriptions)
    for one in joins.rejected_queries:
        warn(f"rejected: query {one.query!r}: {one.reason}\n")
    if not len(joins):
        raise SubscriptionsError("no query can be evaluated", "", subscriptions.source)
    return joins


def _schemas(texts: tuple[str, ...]) -> dict[str, Schema]:
    """The schema of each stream; the one under `EVERY_STREAM` is for patterns of all."""
    schemas: dict[str, Schema] = {}
    for text in texts:
        stream, path = _named_stream(text)
        if path != "none":
            schemas[stream] = Schema.load(path)
    return schemas


def _named_stream(text: str) -> tuple[str, str]:
    """The stream and the rest of ``stream=rest``; a file of that name is no stream."""
    named = None if os.path.lexists(text) else _NAMED.fullmatch(text)
    return (named[1], named[2]) if named else (EVERY_STREAM, text)


def _files(
    documents: tuple[str, ...], messages: MessageOptions, output: str
) -> tuple[list[tuple[str, InputFile]], list[Rejection]]:
    """The files of each stream in the order of the arguments, and what could not be read."""
    files: list[tuple[str, InputFile]] = []
    skipped: list[Rejection] = []
    inside = (lambda _: False) if output == "-" else lies_inside(output)
    for text in documents:
        stream, name = _named_stream(text)
        found = search_inputs([name], messages)
        files += [(stream, one) for one in found.documents if not inside(one.name)]
        skipped += rejected_files(one for one in found.skipped if not inside(one.path))
    return files, skipped


def _warn_of_streams(joins: Joins, given: set[str], all_at_once: bool) -> None:
    """Tells of streams that no query reads, and of those without documents: they may be misspelt.

    Args:
        joins: The queries.
        given: The streams of the documents.
        all_at_once: Whether no other run goes on from this one, with documents of more streams.
    """
    read = {stream for query in joins.queries.values() for stream in query.streams}
    inputs = read - joins.published
    for stream in sorted(given - read if EVERY_STREAM not in read else ()):
        names = ", ".join(sorted(inputs))
        warn(f"no query reads the stream {stream!r}; queries read {names}\n")
    for stream in sorted(inputs - given - {EVERY_STREAM} if all_at_once else ()):
        warn(f"queries read the stream {stream!r}, of which there are no documents\n")


def _seconds(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        duration(text)
    except ValueError as error:
        raise click.BadParameter(
            f"{error}. Write seconds, as in 3600.", None, None, "--lateness"
        ) from None
    return text


def _bytes(text: str | None) -> int | None:
    if text is None:
        return None
    size = _SIZE.fullmatch(text)
    if not size:
        raise click.BadParameter(
            f"{text!r} is no number of bytes. Write for example 500MB.", None, None, "--max-state"
        )
    return int(float(size[1]) * _UNITS[size[2].upper()])


def _show(report: JoinReport, output: str, verbosity: Verbosity, as_json: bool) -> None:
    to_stderr = output == "-"
    few = verbosity.few(_SHOWN)
    for one in report.rejected[:few]:
        warn(f"rejected: {in_words(one)}\n")
    if len(report.rejected) > len(report.rejected[:few]):
        warn(f"and {len(report.rejected) - _SHOWN:,} more; --verbose shows all\n")
    if as_json:
        click.echo(json.dumps(report.to_json()), err=to_stderr)
        return
    if verbosity is Verbosity.QUIET:
        return
    documents, state = report.documents, report.state
    lines = [
        f"{documents['seen']:,} documents, {report.queries['registered']:,} queries "
        f"({report.queries['join_graphs']:,} join graphs): {report.rows:,} rows "
        f"in {report.seconds['elapsed']:.2f} s",
    ]
    if not report.complete:
        stages = ", ".join(f"{count:,} {stage}" for stage, count in report.rejections.items())
        lines.append(f"rejected: {stages}")
    if state:
        lines.append(f"state: {state['documents']:,} documents, about {state['bytes']:,} bytes")
    if not to_stderr:
        lines.append(f"results: {Path(output)}")
    click.echo("\n".join(lines), err=to_stderr)
