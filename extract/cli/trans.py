"""``extract trans``: queries and a schema in, normal forms out."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import click

from extract.cli.options import (
    Command,
    WithLimits,
    json_option,
    limit_options,
    output_option,
    query_options,
    sample_option,
)
from extract.cli.output import open_output
from extract.cli.preparing import load_queries, load_schema
from extract.cli.progress import Display, progress_option
from extract.cli.progress import progress as display
from extract.cli.verbosity import Verbosity, verbosity_options
from extract.limits import Limits
from extract.transtool import Expansion, NormalQuery, normalise_all

_SHOWN = 20  # rejected queries shown one by one; the others are in the output
_DEFAULT = Expansion()


def _size_option(name: str, default: int, about: str) -> Callable[[Command], Command]:
    return click.option(
        name, default=default, show_default=True, type=click.IntRange(min=1), help=about
    )


@click.command(cls=WithLimits)
@query_options(required=True, inferred_from="--sample")
@sample_option(
    "Without --schema, a document to infer the schema from; also gzipped; may be repeated."
)
@output_option
@progress_option
@verbosity_options
@json_option
@_size_option(
    "--max-branches", _DEFAULT.branches, "Branches of one query; past that it keeps its //."
)
@_size_option("--max-size", _DEFAULT.size, "Characters of one normal form, filters included.")
@_size_option(
    "--max-filter-branches", _DEFAULT.filter_branches, "Branches of one path inside a filter."
)
@limit_options("query")
def trans(
    schema: str | None,
    queries: str,
    root: str | None,
    namespaces: dict[str, str],
    version: str,
    sample: tuple[str, ...],
    output: str,
    progress: bool | None,
    verbosity: Verbosity,
    as_json: bool,
    max_branches: int,
    max_size: int,
    max_filter_branches: int,
    limits: Limits,
) -> int:
    """Rewrite queries into their normal form under a DTD or XSD.

    Without --schema, the schema is inferred from the --sample documents, or taken from their
    internal DTD.

    Writes one JSON object a line: the normal form and its branches, the rules that fired, why a
    branch keeps a residual tail, and for a query that cannot match anything the edge that the
    schema lacks. A summary goes to standard error.

    \b
    Example:
      extract trans --schema schemas/figure4.dtd --queries queries.tsv -o normal.jsonl
      echo '//c' | extract trans --schema schemas/figure4.dtd --queries -
    """
    started = time.perf_counter()
    model = load_schema(schema, root, namespaces, sample, limits)
    subscriptions = load_queries(queries, namespaces, limits, version)
    expansion = Expansion(max_branches, max_size, max_filter_branches)
    wanted = verbosity.progress(progress)
    with open_output(output) as stream, display(len(subscriptions), wanted, "queries") as shown:
        tally = _Tally(shown, 0 if as_json else verbosity.few(_SHOWN))
        for query in normalise_all(model, subscriptions, expansion, limits):
            json.dump(query.to_json(), stream, ensure_ascii=False)
            stream.write("\n")
            tally.add(query)
    facts = tally.facts() | {
        "notes": list(model.notes),
        "seconds": round(time.perf_counter() - started, 3),
    }
    if as_json:
        click.echo(json.dumps(facts), err=True)
    elif verbosity is not Verbosity.QUIET:
        click.echo(_summary(facts, verbosity), err=True)
    return 1 if tally.statuses["rejected"] else 0


class _Tally:
    """Counts the outcomes of the queries, and shows the first rejections."""

    def __init__(self, shown: Display, most: int | None) -> None:
        self.shown = shown
        # With --json, standard error is one JSON object and nothing else.
        self.most = float("inf") if most is None else most
        self.statuses: Counter[str] = Counter()
        self.duplicates = 0
        self.branches = 0
        self.residual = 0

    def add(self, query: NormalQuery) -> None:
        self.statuses[query.status] += 1
        self.duplicates += query.same_as is not None
        if query.form is not None:
            self.branches += len(query.form.branches)
            self.residual += any(part.reason for part in query.form.branches)
        if query.error and self.statuses["rejected"] <= self.most:
            self.shown.say(f"query {query.subscription.id!r} rejected: {query.error}\n")
        self.shown.advance(rejected=query.status == "rejected")

    def facts(self) -> dict[str, Any]:
        """The counts; registered is the sum of normal, unsatisfiable, later and rejected."""
        return {
            "queries": {
                "registered": self.statuses.total(),
                "normal": self.statuses["normal"],
                "canonical": self.statuses["normal"] - self.duplicates,
                "with_residual": self.residual,
                "unsatisfiable": self.statuses["unsatisfiable"],
                "later": self.statuses["later"],
                "rejected": self.statuses["rejected"],
            },
            "branches": self.branches,
        }


def _summary(facts: dict[str, Any], verbosity: Verbosity) -> str:
    counts = facts["queries"]
    lines = [f"Note: {note}" for note in facts["notes"]]
    if counts["rejected"] > _SHOWN and verbosity is not Verbosity.VERBOSE:
        lines.append(f"… and {counts['rejected'] - _SHOWN:,} more rejected, all in the output")
    lines.append(
        f"{counts['registered']:,} queries in {facts['seconds']:.1f} s: "
        f"{counts['normal']:,} normalised ({counts['canonical']:,} different, "
        f"{facts['branches']:,} branches; {counts['with_residual']:,} keep a residual tail), "
        f"{counts['unsatisfiable']:,} unsatisfiable, {counts['rejected']:,} rejected"
        + (
            f"; {counts['later']:,} in XPath 2.0 or later, or in FLWR, as they are"
            if counts["later"]
            else ""
        )
    )
    return "\n".join(lines)
