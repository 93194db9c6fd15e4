"""``extract explain``: why a query is where it is."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from extract.cli.options import json_option, root_option, scheme_option
from extract.cli.output import open_output
from extract.cli.tables import chunk_table
from extract.filtertool.push_report import explain_push, push_summary
from extract.filtertool.sql_report import explain_sql
from extract.preptool.explain.chunk_report import chunk_reports
from extract.preptool.explain.labels import printable
from extract.preptool.explain.query_picture import query_svg
from extract.preptool.explain.query_report import explain_query
from extract.preptool.explain.tree_picture import tree_dot, tree_svg
from extract.preptool.prepare import tree_of
from extract.schema.model import Schema
from extract.scheme import Scheme
from extract.scheme.database import is_database

_FILE = click.Path()


@click.command()
@scheme_option
@click.argument("query", metavar="[QUERY_ID]", required=False)
@click.option(
    "--schema",
    "-s",
    type=_FILE,
    metavar="FILE",
    help="Check first that the scheme was made for this DTD or XSD, as the file is now.",
)
@root_option
@click.option("--dot", type=_FILE, metavar="FILE", help="Write the query tree for graphviz.")
@click.option(
    "--svg",
    type=_FILE,
    metavar="FILE",
    help="Draw the query tree with its chunks; with an id, what that query looks at.",
)
@json_option
def explain(
    scheme: str,
    query: str | None,
    schema: str | None,
    root: str | None,
    dot: str | None,
    svg: str | None,
    as_json: bool,
) -> None:
    """Say why a query is in its chunk, what else it needs, and by which of its predicates the push
    engine finds it; without an id, list the chunks.

    \b
    Example:
      extract explain --scheme scheme.json
      extract explain --scheme scheme.json big
      extract explain --scheme scheme.json --svg tree.svg
      extract explain --scheme scheme.json big --svg big.svg
    """
    loaded = Scheme.load(scheme)
    if schema is not None:
        _check_schema(loaded, schema, root)
    elif root is not None:
        raise click.UsageError("--root is for --schema.")
    if query is not None:
        _explain(loaded, query, as_json, in_database=is_database(scheme))
    if dot is not None or svg is not None:
        _draw(loaded, query, dot, svg)
    elif query is None:
        _list_chunks(loaded, as_json)


def _explain(scheme: Scheme, query: str, as_json: bool, in_database: bool) -> None:
    report, push = explain_query(scheme, query), explain_push(scheme, query)
    sql = explain_sql(scheme, query)
    if as_json:
        facts = {
            **report.to_json(),
            "push": None if push is None else push.to_json(),
            "sql": None if sql is None else sql.to_json(),
        }
        click.echo(json.dumps(facts))
        return
    click.echo(str(report))
    if push is not None:
        click.echo("\n" + "\n".join(map(printable, push.lines())))
    if sql is not None and (in_database or sql.tables):
        click.echo("\n".join(map(printable, sql.lines())))


def _check_schema(scheme: Scheme, file: str, root: str | None) -> None:
    """Raises SchemeError unless the scheme was made for this schema; by default for its root."""
    names = [scheme.schema.declarations[key].name for key in scheme.schema.roots]
    root = root or (names[0] if len(names) == 1 else None)
    scheme.check_schema(Schema.load(file, root, scheme.namespaces))


def _list_chunks(scheme: Scheme, as_json: bool) -> None:
    if as_json:
        facts = {
            "queries": scheme.counts(),
            "chunks": [asdict(one) for one in chunk_reports(scheme)],
            "push": push_summary(scheme).to_json(),
            "notes": list(scheme.notes),
        }
        click.echo(json.dumps(facts))
        return
    chunk_table(scheme).show()
    for chunk in scheme.chunks:
        if chunk.unsplittable:
            click.echo(f"\nchunk {chunk.id} cannot be split: {chunk.unsplittable}")
    click.echo()
    click.echo(printable(str(push_summary(scheme))))


def _draw(scheme: Scheme, query: str | None, dot: str | None, svg: str | None) -> None:
    if query is not None and svg is not None:
        with open_output(svg) as stream:
            stream.write(query_svg(scheme, query))
        svg = None
    tree = tree_of(scheme)
    chunks = {tuple(chunk.prefix.split("/")[1:]): chunk.id for chunk in scheme.chunks}
    if dot is not None:
        with open_output(dot) as stream:
            stream.write(tree_dot(tree, chunks))
    if svg is not None:
        with open_output(svg) as stream:
            stream.write(tree_svg(tree, chunks))
