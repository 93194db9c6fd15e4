"""``extract demo``: the whole pipeline on a bundled scenario, with explanations for new users."""

from __future__ import annotations

import gzip
import time
from collections import Counter
from pathlib import Path
from typing import Final

import click
from pyarrow import parquet

from extract.chunktool.input.find import find_inputs
from extract.cli.options import engine_option, output_directory_option
from extract.cli.output import require_directory
from extract.cli.scenarios import scenario_list, shared_data
from extract.errors import ExtractError
from extract.filtertool.results.report import Report
from extract.filtertool.spark.java import require_spark
from extract.pipeline import prepare, run, run_on_spark
from extract.scenarios import Scenario, scenario
from extract.scheme import Scheme

_QUERIES: Final = 500
_DOCUMENTS: Final = 8
_SIZE: Final = 60_000  # of a document, at most
_MARK: Final = "scheme.json"  # what a directory of an earlier demo has


@click.command(epilog="\b\nSCENARIO is one of:\n" + scenario_list())
@click.argument("name", metavar="[SCENARIO]", default="university")
@output_directory_option(
    "Where everything goes: queries, documents, scheme and results.", default="demo-results"
)
@engine_option("Run on Spark, or without it.")
def demo(name: str, output: str, engine: str) -> int:
    """Run the whole pipeline on a bundled scenario, and say what happens.

    500 subscriptions, by default to the people of a university, are prepared against their schema;
    then a Spark job filters a few documents, of which one is broken and one breaks the schema.
    Takes about a minute.
    """
    one = scenario(name, shared_data())
    if engine == "spark":
        require_spark()
    require_directory(output)
    target = Path(output)
    if target.exists() and not (target / _MARK).is_file():
        reason = "exists and was not written by `extract demo`"
        raise ExtractError(reason, "choose another directory with -o", output)
    click.echo("extract finds out which of many XPath subscriptions match which XML documents.\n")
    scheme = _prepare(one, target)
    _write_documents(one, target / "documents")
    report = _filter(scheme, target, engine)
    click.echo(_result(report, target))
    return 0


def _prepare(which: Scenario, output: Path) -> Scheme:
    """First half: queries and schema become a scheme."""
    output.mkdir(parents=True, exist_ok=True)
    queries = which.queries(min(_QUERIES, which.generator.QUERIES))
    bound = "".join(f"#! ns {prefix}={uri}\n" for prefix, uri in which.generator.NAMESPACES.items())
    lines = "".join(f"{one.id}\t{one.xpath}\n" for one in queries)
    (output / "queries.tsv").write_text(bound + lines, encoding="utf-8")
    schema = which.folder / which.generator.SCHEMA
    for file in schema.parent.glob(f"*{schema.suffix}"):  # what the schema imports as well
        (output / file.name).write_bytes(file.read_bytes())
    started = time.perf_counter()
    scheme = prepare(which.schema(), queries, 4)
    seconds = time.perf_counter() - started
    scheme.save(output / _MARK)
    facts = scheme.counts()
    chunks = ", ".join(chunk.prefix for chunk in scheme.chunks)
    examples = "".join(f"\n        {one.xpath}" for one in list(queries)[:3])
    click.echo(
        f"1. Prepare, once for all documents\n"
        f"     {len(queries):,} subscriptions, such as{examples}\n"
        f"     against {schema.name} they are {facts['canonical']:,} different queries.\n"
        f"     Documents will be cut into chunks that answer them: {chunks}; and the rest.\n"
        f"     It took {seconds:.1f} s.\n"
    )
    return scheme


def _write_documents(which: Scenario, folder: Path) -> None:
    """Good ones, one of them gzipped; and two that are not good."""
    folder.mkdir(exist_ok=True)
    size = min(_SIZE, which.generator.SIZE_BYTES)
    for n in range(1, _DOCUMENTS + 1):
        data = b"".join(which.document(size, seed=n))
        if n < _DOCUMENTS:
            (folder / f"{n}.xml").write_bytes(data)
        else:
            (folder / f"{n}.xml.gz").write_bytes(gzip.compress(data))
    (folder / "broken.xml").write_bytes(data[: len(data) // 3])
    end = data.rindex(b"</")
    (folder / "nonconforming.xml").write_bytes(data[:end] + b"<hobby>chess</hobby>" + data[end:])


def _filter(scheme: Scheme, output: Path, engine: str) -> Report:
    """Second half: documents become matches."""
    listed = find_inputs([str(output / "documents")])
    where = "Spark, on all cores of this machine" if engine == "spark" else "this machine"
    click.echo(f"2. Filter {len(listed)} documents on {where}")
    if engine == "spark":
        report = run_on_spark(scheme, listed, output / "results")
        start, job = report.seconds["start_spark"], report.seconds["job"]
        click.echo(f"     Spark took {start:.1f} s to start, and {job:.1f} s for the job.")
    else:
        report = run(scheme, [one.name for one in listed], output / "results")
        click.echo(f"     It took {report.seconds['elapsed']:.1f} s.")
    documents = report.documents
    click.echo(
        f"     {documents['conforming']} documents were cut into chunks;\n"
        f"     {documents['whole']} breaks the schema, and was evaluated whole;\n"
        f"     {documents['rejected']} was rejected:"
    )
    for example in report.examples:
        click.echo("".join(f"        {line}\n" for line in example.splitlines()), nl=False)
    return report


def _result(report: Report, output: Path) -> str:
    """What came out, with an example."""
    results = output / "results"
    table = parquet.read_table(results / "matches")
    queries = Counter(table.column("query").to_pylist())
    row = table.slice(0, 1).to_pylist()[0]
    value = row["value"] if len(row["value"]) <= 60 else f"{row['value'][:57]}..."
    return (
        f"\n3. Result\n"
        f"     {report.matches:,} matches, of {len(queries):,} of the "
        f"{report.scheme.counts()['registered']:,} subscriptions; the first one:\n"
        f"        document  {row['document']}\n"
        f"        query     {row['query']}\n"
        f"        node      {row['path']}, bytes {row['start']:,} to {row['end']:,}\n"
        f"        value     {value}\n\n"
        f"Matches are in {results / 'matches'} (Parquet), what was rejected and why in\n"
        f"{results / 'rejected'}, figures in {results / 'report.json'}.\n\n"
        f"To go on:\n"
        f"  extract explain --scheme {output / _MARK} {row['query']}\n"
        f"  extract run --scheme {output / _MARK} {output / 'documents'} -o results --select count"
    )
