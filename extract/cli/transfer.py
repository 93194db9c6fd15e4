"""``extract subs import`` and ``export``: all subscriptions at once, from and to tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

import click

from extract.cli.broker_subs import BROKER, add_remotely, exported_table
from extract.cli.options import (
    WithLimits,
    json_option,
    limit_options,
    namespaces_option,
    xpath_version_option,
)
from extract.cli.output import open_binary_output
from extract.cli.preparing import load_queries
from extract.cli.revising import revise_scheme
from extract.cli.revision import Revision
from extract.flwr.parser import is_flwr
from extract.limits import Limits
from extract.preptool.revise import Reviser
from extract.scheme import Scheme
from extract.scheme.database import is_database
from extract.subscriptions.table_files import is_table_file, read_table_file

SCHEME: Final = "extract.subs.scheme"  # key in click's context.meta
_FORMATS: Final = (".csv", ".parquet", ".jsonl")


def scheme_of(ctx: click.Context) -> str:
    """Returns the scheme that the command works on.

    Raises:
        click.UsageError: Neither a scheme nor a broker is given.
    """
    scheme: str | None = ctx.meta.get(SCHEME)
    if scheme is None:
        raise click.UsageError(
            "Give --scheme, or --url for a broker, as in: subs --scheme FILE add …"
        )
    return scheme


@click.command("import", cls=WithLimits)
@click.argument("file", type=click.Path(), metavar="FILE")
@namespaces_option
@xpath_version_option
@limit_options("query")
@json_option
@click.pass_context
def import_(
    ctx: click.Context,
    file: str,
    namespaces: dict[str, str],
    version: str,
    limits: Limits,
    as_json: bool,
) -> int:
    """Add all subscriptions of a file: CSV, Parquet, JSON lines, or lines with tabs.

    A table has the columns id and xpath, and may have weight, version, and namespaces and metadata
    as JSON objects; any other column is metadata of its name. All subscriptions are added, or none:
    none if an id is taken. A query that does not parse is recorded as rejected, as by `add`.

    \b
    Example:
      extract subs --scheme duckdb:subs.duckdb import alerts.parquet
      extract subs --scheme scheme.json import alerts.csv
      extract subs --url http://127.0.0.1:8080/feeds/orders import alerts.csv
    """
    if is_table_file(file):
        added = read_table_file(file, namespaces, limits, version)
    else:
        added = load_queries(file, namespaces, limits, version)
    if BROKER in ctx.meta:
        return add_remotely(ctx.meta[BROKER], added, as_json)

    def change(reviser: Reviser, revision: Revision) -> None:
        revision.source = added.source
        outcome = reviser.add_all(added.with_defaults(reviser.namespaces))
        revision.added, revision.rejected, revision.unsatisfiable = outcome

    return revise_scheme(scheme_of(ctx), None, as_json, "import", change, limits)


@click.command()
@click.argument("file", type=click.Path(), metavar="FILE")
@click.option(
    "--format",
    "form",
    type=click.Choice([one[1:] for one in _FORMATS]),
    help="The format, where the name of the file does not say it.",
)
@click.pass_context
def export(ctx: click.Context, file: str, form: str | None) -> None:
    """Write all subscriptions to a file: CSV, Parquet or JSON lines, by its name.

    With the file they can be imported, or prepared again: the query in canonical form (FLWR as it
    is written), its prefixes, weight and metadata. - is standard output, as JSON lines unless
    --format says otherwise.

    \b
    Example:
      extract subs --scheme duckdb:subs.duckdb export alerts.parquet
      extract subs --scheme scheme.json export - | jq -r .owner
    """
    suffix = f".{form}" if form else Path(file).suffix.lower()
    if file == "-" and not form:
        suffix = ".jsonl"
    if suffix not in _FORMATS:
        raise click.UsageError(f"Name a file that ends in {', '.join(_FORMATS)}, or give --format.")
    table = _table(ctx)
    with open_binary_output(file) as stream:
        _WRITERS[suffix](table, stream)
    if file != "-":
        click.echo(f"{table.num_rows:,} queries exported to {file}", err=True)


def _table(ctx: click.Context) -> Any:
    if BROKER in ctx.meta:
        return exported_table(ctx.meta[BROKER])
    from extract.scheme.query_table import query_table

    return query_table(Scheme.load(scheme_of(ctx)))


@click.command()
@click.pass_context
def upgrade(ctx: click.Context) -> None:
    """Bring the tables of a database up to date, for this version of extract.

    Every command that changes subscriptions does so as well; this one does nothing else.
    """
    url = ctx.meta.get(SCHEME) or ""
    if not is_database(url):
        raise click.UsageError("Only a scheme in a database can be upgraded; a file is read as is.")
    from extract.scheme.database.write import upgrade_tables

    click.echo(f"The tables are of version {upgrade_tables(url)}.", err=True)


def _write_csv(table: Any, stream: BinaryIO) -> None:
    from pyarrow import csv

    csv.write_csv(table, stream)


def _write_parquet(table: Any, stream: BinaryIO) -> None:
    import pyarrow.parquet as pq

    if stream is sys.stdout.buffer and sys.stdout.isatty():
        raise click.UsageError("Parquet is not for a terminal: name a file, or pipe it.")
    pq.write_table(table, stream, compression="zstd")


def _write_lines(table: Any, stream: BinaryIO) -> None:
    encode = json.JSONEncoder(ensure_ascii=False).encode
    for batch in table.to_batches(10_000):
        lines = [encode(_line(row)) for row in batch.to_pylist()]
        stream.write("".join([f"{line}\n" for line in lines]).encode())


def _line(row: dict[str, Any]) -> dict[str, Any]:
    """A subscription as a line of a query file; what is as usual is left out."""
    kind = "flwr" if row["version"] == "1.0" and is_flwr(row["xpath"]) else "xpath"
    line: dict[str, Any] = {"id": row["id"], kind: row["xpath"]}
    if row["namespaces"]:
        line["namespaces"] = json.loads(row["namespaces"])
    if row["weight"] != 1:
        line["weight"] = row["weight"]
    if row["version"] != "1.0":
        line["version"] = row["version"]
    if row["metadata"]:
        line |= json.loads(row["metadata"])
    return line


_WRITERS: Final[Mapping[str, Callable[[Any, BinaryIO], None]]] = {
    ".csv": _write_csv,
    ".parquet": _write_parquet,
    ".jsonl": _write_lines,
}
