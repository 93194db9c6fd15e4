"""What ``extract run`` says at its end: notes and rejections, then a table of the report."""

from __future__ import annotations

import os
from typing import Any, Final

import click

from extract.cli.run_options import STDOUT
from extract.cli.tables import Table
from extract.cli.terminal import warn
from extract.cli.verbosity import Verbosity
from extract.filtertool.output.directory import REPORT
from extract.filtertool.output.writers import Format
from extract.filtertool.results.report import Report
from extract.preptool.explain.labels import printable

_NOTES: Final = 3  # reasons that are shown; all are in the report
_LARGE_SHARE: Final = 0.1  # of documents or queries
_WORTH_COMPARING: Final = 10.0  # seconds of all tasks; of less, their speed says nothing


def show_notes(report: Report, verbosity: Verbosity) -> None:
    """Prints why documents went another way than most, to standard error."""
    if report.none_conforms:
        warn_of_schema(report)
    most = 0 if verbosity is Verbosity.QUIET else verbosity.few(_NOTES)
    for note, count in report.notes.most_common(most):
        click.echo(printable(f"Note: {count:,} document{'s' * (count != 1)}: {note}"), err=True)


def show_rejections(report: Report, output: str) -> None:
    """Prints the first rejections to standard error.

    Args:
        report: The report of the run.
        output: Where the results are.
    """
    for message in report.examples:
        warn(f"rejected: {message}\n")
    if report.rejections > len(report.examples):
        where = os.path.join(output, "rejected")
        click.echo(f"… and more of {report.rejections:,} rejections, all in {where}\n", err=True)


def warn_of_schema(report: Report) -> None:
    """Says that no document keeps the schema, where the first one breaks it, and what to do."""
    breaking = report.documents["nonconforming"]
    edge, count = next(iter(report.violations.items()))
    every = "none of the {:,} documents keeps" if breaking > 1 else "the document does not keep"
    hint = (
        "it may be the wrong schema, or the wrong --root; "
        "`extract infer DOCS -o FILE.xsd` writes a schema that documents keep"
    )
    number = f"{count:,} document{'s' * (count != 1)}"
    warn(f"warning: {every.format(breaking)} the schema; {number}: {edge}\nHint: {hint}\n")


def show_summary(
    report: Report, output: str, form: Format, seconds: float, verbosity: Verbosity
) -> None:
    """Prints what was done, and where the results are; if these are rows, to standard error.

    Args:
        report: The report of the run.
        output: Where the results are.
        form: Their format.
        seconds: How long all of it took.
        verbosity: How much to say.
    """
    if verbosity is Verbosity.QUIET:
        return
    err = output == STDOUT
    facts: dict[str, Any] = report.to_json()
    documents, queries = facts["documents"], facts["queries"]
    what = {
        "nodes": "matches",
        "count": "queries with matches",
        "doc": "queries with matches",
        "output": "outputs",
    }
    fates = (
        f"{documents['conforming']:,} read in one pass, {documents['whole']:,} evaluated whole, "
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
        ("rows", f"{facts['matches']:,}", what.get(report.select, "queries with matches")),
        ("bytes", f"{facts['bytes']:,}", f"in {seconds:.1f} s ({ran})"),
    ]
    if report.parallel:
        rows.append(("tasks", f"{report.parallel['tasks']:,}", _on_spark(report)))
    if verbosity is Verbosity.VERBOSE:
        stages = [f"{name} {n:.2f}" for name, n in facts["seconds"].items()]
        rows.append(("seconds", "", ", ".join(stages)))
        rows += _push_rows(report)
    Table(("", "", ""), rows, frozenset({1})).show(err=err)
    if err:
        return
    click.echo(f"\nResults are in {output} ({form}), figures in {os.path.join(output, REPORT)}")


def _push_rows(report: Report) -> list[tuple[str, str, str]]:
    """How much of the work the push engine has done, where it ran."""
    figures = {name: int(number) for name, number in report.figures().items()}
    documents, refused = figures.get("push_documents", 0), figures.get("push_refused_documents", 0)
    if not documents + refused:
        return []
    others = figures["push_refused_questions"]
    rest = f"other matchers: documents {refused:,}, queries {others:,}"
    work = f"{figures['push_candidates']:,} candidates, {figures['push_checks']:,} checks"
    rows = [("push", f"{documents:,}", f"documents: {work}; {rest}")]
    queries = others + figures["push_questions"]
    if refused > _LARGE_SHARE * (documents + refused) or others > _LARGE_SHARE * queries:
        why = "`extract explain --scheme FILE` says which queries, docs/matchers.md which documents"
        rows.append(("", "", f"a large part did not go through the push engine: {why}"))
    return rows


def _on_spark(report: Report) -> str:
    """How long the tasks of a Spark job took, and what running them side by side has gained.

    The gain is left out where it says nothing: for a single task, and for tasks that take so short
    a time that Spark's own work decides.
    """
    side = report.parallel
    took = f"{report.seconds['job']:.1f} s on {side['cores']} cores"
    if side["tasks"] > 1 and side["one_after_the_other_s"] >= _WORTH_COMPARING:
        took += f", {side['gain']:.1f} times as fast as one task after the other"
    return f"{took}; start of Spark {report.seconds['start_spark']:.1f} s"


def show_other_ways(report: Report) -> None:
    """Says on standard error, after a job for which Spark was too much, what does without it.

    Args:
        report: The report of the run.
    """
    if not report.parallel:
        return
    start, work = report.seconds["start_spark"], report.parallel["one_after_the_other_s"]
    if work < start:
        click.echo(
            f"Note: Spark took {start:.1f} s to start, for {work:.1f} s of work. Without it: "
            "--engine local, or `extract match` for a few documents; the rows are the same",
            err=True,
        )
