"""``extract demo``: the whole pipeline on a bundled scenario, and what it is good for."""

from __future__ import annotations

import gzip
import re
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import click
from lxml import etree
from pyarrow import parquet

from extract.chunktool.input.find import find_inputs
from extract.cli.options import engine_option, output_directory_option
from extract.cli.output import require_directory
from extract.cli.scenarios import scenario_list, shared_data
from extract.errors import ExtractError
from extract.filtertool.local import available_cores
from extract.filtertool.options import Options
from extract.filtertool.results.report import Report
from extract.filtertool.spark.java import require_spark
from extract.markup.lxml_parser import parse_tree
from extract.pipeline import match, prepare, run, run_on_spark
from extract.preptool.explain.tree_picture import tree_svg
from extract.preptool.prepare import tree_of
from extract.scenarios import Scenario, scenario
from extract.scheme import Scheme
from extract.subscriptions import Subscription, Subscriptions

_QUERIES: Final = 500  # at most, where documents are small
_MANY: Final = 2_000  # at most, where one is large
_DOCUMENTS: Final = 8
_SIZE: Final = 60_000  # bytes of a document, at most
LARGE: Final = 1_000_000  # bytes of a scenario's own documents from which there is one more
_MARK: Final = "scheme.json"  # what a directory of an earlier demo has
_PART: Final = 100  # queries that are evaluated one by one, at most
_PATIENCE: Final = 3.0  # seconds that this may take
_LONGEST: Final = 60  # characters of an XPath or a value that are shown


@click.command(epilog="\b\nSCENARIO is one of:\n" + scenario_list())
@click.argument("name", metavar="[SCENARIO]", default="university")
@output_directory_option(
    "Where everything goes: queries, documents, scheme and results.", default="demo-results"
)
@engine_option("Run on Spark, or without it.")
def demo(name: str, output: str, engine: str) -> int:
    """Run the whole pipeline on a bundled scenario, and say what it is good for.

    Many subscriptions, by default 2,000 to the people of a university, are prepared against their
    schema; then a few documents are filtered, of which one is broken and one breaks the schema. A
    part of the same work is done without extract, to compare. Takes about half a minute.
    """
    one = scenario(name, shared_data())
    if engine == "spark":
        require_spark()
    require_directory(output)
    target = Path(output)
    if target.exists() and not (target / _MARK).is_file():
        reason = "exists and was not written by `extract demo`"
        raise ExtractError(reason, "choose another directory with -o", output)
    queries = _queries(one)
    _write_documents(one, target / "documents")
    _write_queries(one, queries, target)
    documents = [file.stat().st_size for file in (target / "documents").iterdir()]
    click.echo(
        f"The task: {len(queries):,} subscriptions, {len(documents)} XML documents "
        f"({sum(documents) / 1e6:.1f} MB).\nWhich subscription selects how many nodes of which "
        "document?\nSome of the subscriptions:\n"
    )
    for query in list(queries)[:3]:
        click.echo(f"  {query.id}\n    {_shortened(query.xpath)}")
    alone = _one_by_one(one, queries, target / "documents")
    click.echo(f"\n{alone}")
    started = time.perf_counter()
    scheme = _prepare(one, queries, target)
    report = _filter(scheme, target, engine)
    seconds = time.perf_counter() - started
    counts = _counts(target / "results")
    _compare(alone, seconds, counts)
    _show_result(report, counts, target)
    return 0


# -- What it starts from


def _queries(which: Scenario) -> Subscriptions:
    """The queries of the scenario, with names that can be read."""
    most = _MANY if which.generator.SIZE_BYTES >= LARGE else _QUERIES
    given = list(which.queries(min(most, which.generator.QUERIES)))
    names = readable_names([one.xpath for one in given], which.generator.ROOT.rpartition(":")[2])
    named = [Subscription(name, one.xpath) for name, one in zip(names, given, strict=True)]
    return Subscriptions.of(named, which.generator.NAMESPACES)


def readable_names(xpaths: Iterable[str], root: str = "") -> list[str]:
    """Names for queries, made of the last steps and of a value that they ask for; each once.

    Args:
        xpaths: The queries.
        root: The document element, which is in no name.

    >>> readable_names(["/db/student[name = 'Ada']/@id", "/db/student", "//*", "//*"], "db")
    ['student-id-of-Ada', 'student', 'any', 'any-2']
    """
    names: list[str] = []
    seen: Counter[str] = Counter()
    for xpath in xpaths:
        values = re.findall(r"'([^']+)'|([0-9.]+)", xpath)
        spine, left = "", xpath
        while spine != left:  # filters may be inside of each other
            spine, left = left, re.sub(r"\[[^\[\]]*\]", "", left)
        steps = [one for one in re.findall(r"(?:[\w.-]+:)?([\w.-]+|\*)", spine) if one != root]
        steps = steps[-2:] or ["document"]
        name = "-".join("any" if step == "*" else step for step in steps)
        value = re.sub(r"[^\w.]+", "", "".join(values[0])) if values else ""
        if value:
            name += f"-of-{value}"
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return names


def _write_queries(which: Scenario, queries: Subscriptions, output: Path) -> None:
    bound = "".join(f"#! ns {prefix}={uri}\n" for prefix, uri in which.generator.NAMESPACES.items())
    lines = "".join(f"{one.id}\t{one.xpath}\n" for one in queries)
    (output / "queries.tsv").write_text(bound + lines, encoding="utf-8")
    schema = which.folder / which.generator.SCHEMA
    for file in schema.parent.glob(f"*{schema.suffix}"):  # what the schema imports as well
        (output / file.name).write_bytes(file.read_bytes())


def _write_documents(which: Scenario, folder: Path) -> None:
    """Good ones, one of them gzipped, one of them large; and two that are not good."""
    folder.mkdir(parents=True, exist_ok=True)
    usual = which.generator.SIZE_BYTES
    for n in range(1, _DOCUMENTS + 1):
        data = b"".join(which.document(min(_SIZE, usual), seed=n))
        if n < _DOCUMENTS:
            (folder / f"{n}.xml").write_bytes(data)
        else:
            (folder / f"{n}.xml.gz").write_bytes(gzip.compress(data))
    if usual >= LARGE:
        (folder / "large.xml").write_bytes(b"".join(which.document(usual, seed=_DOCUMENTS + 1)))
    (folder / "broken.xml").write_bytes(data[: len(data) // 3])
    end = data.rindex(b"</")
    (folder / "nonconforming.xml").write_bytes(data[:end] + b"<hobby>chess</hobby>" + data[end:])


# -- Without extract


class _OneByOne(NamedTuple):
    """What came out of queries that were evaluated one after the other, and how long it took.

    Attributes:
        seconds: Of processor time.
        nodes: How many nodes each of these queries selects.
        queries: How many queries there are.
    """

    seconds: float
    nodes: dict[str, int]
    queries: int

    @property
    def all_seconds(self) -> float:
        """How long all of them would take."""
        return self.seconds * self.queries / len(self.nodes)

    def __str__(self) -> str:
        return (
            "Without extract: one XPath after the other on whole documents, with lxml\n"
            f"  {len(self.nodes):,} of the queries took {self.seconds:.1f} s on one core; all "
            f"{self.queries:,} would take about {self.all_seconds:.0f} s.\n"
        )


def _one_by_one(which: Scenario, queries: Subscriptions, folder: Path) -> _OneByOne:
    """Evaluates a part of the queries on all documents that can be parsed."""
    trees = []
    for file in sorted(folder.iterdir()):
        if file.name != "broken.xml":
            data = file.read_bytes()
            data = gzip.decompress(data) if file.suffix == ".gz" else data
            trees.append(parse_tree(data))
    every = list(queries)
    some = every[:: max(1, len(every) // _PART)]  # from all over the file
    nodes: dict[str, int] = {}
    started, spent = time.perf_counter(), time.process_time()
    for query in some:
        ready = etree.XPath(query.xpath, namespaces=which.generator.NAMESPACES or None)
        nodes[query.id] = sum(_count(ready(tree)) for tree in trees)
        if time.perf_counter() - started > _PATIENCE:
            break
    return _OneByOne(time.process_time() - spent, nodes, len(every))


def _count(answer: object) -> int:
    """How many nodes lxml has selected; a value counts if it is true."""
    return len(answer) if isinstance(answer, list) else int(bool(answer))


# -- With extract


def _prepare(which: Scenario, queries: Subscriptions, output: Path) -> Scheme:
    """First half: queries and schema become a scheme."""
    started = time.perf_counter()
    scheme = prepare(which.schema(), queries, 4)
    seconds = time.perf_counter() - started
    scheme.save(output / _MARK)
    chunks = "".join(f"\n    {chunk.prefix}" for chunk in scheme.chunks)
    click.echo(
        f"With extract\n"
        f"  1. Prepare, once for all documents: {seconds:.1f} s\n"
        f"  From {which.generator.SCHEMA} it is known where answers can be. Documents will be cut\n"
        f"  into small chunks, each for its own queries; these, and one for the rest:{chunks}"
    )
    chosen = {tuple(chunk.prefix.split("/")[1:]): chunk.id for chunk in scheme.chunks}
    picture = tree_svg(tree_of(scheme), chosen, title=f"The queries of {which.name}")
    (output / "queries.svg").write_text(picture, encoding="utf-8")
    return scheme


def _filter(scheme: Scheme, output: Path, engine: str) -> Report:
    """Second half: documents become counts."""
    listed = find_inputs([str(output / "documents")])
    options = Options("count")
    if engine == "spark":
        report = run_on_spark(scheme, listed, output / "results", options=options)
        start, seconds = report.seconds["start_spark"], report.seconds["elapsed"]
        where = (
            f"on Spark: {seconds:.1f} s, and {start:.1f} s until Spark had started\n"
            "  (on one machine --engine local is faster; Spark is for many)"
        )
    else:
        names = [one.name for one in listed]
        report = run(scheme, names, output / "results", options=options)
        seconds = report.seconds["elapsed"]
        where = f"on {available_cores()} cores of this machine: {seconds:.1f} s"
    documents = report.documents
    click.echo(
        f"  2. Filter {len(listed)} documents {where}\n"
        f"  {documents['conforming']} were read in one pass;\n"
        f"  {documents['whole']} breaks the schema, and was evaluated whole, so that nothing is "
        "missed;\n"
        f"  {documents['rejected']} was rejected, and the others went on:"
    )
    for example in report.examples:
        click.echo("".join(f"    {line}\n" for line in example.splitlines()), nl=False)
    return report


def _counts(results: Path) -> Counter[str]:
    """How many nodes each query selects in all documents."""
    table = parquet.read_table(results / "matches", columns=["query", "count"])
    counts: Counter[str] = Counter()
    for query, count in zip(*[column.to_pylist() for column in table.columns], strict=True):
        counts[query] += count
    return counts


def _compare(alone: _OneByOne, seconds: float, counts: Counter[str]) -> None:
    wrong = [query for query, nodes in alone.nodes.items() if counts[query] != nodes]
    if wrong:
        raise ExtractError(f"lxml selects other nodes for {wrong[0]}", "this is a fault of extract")
    same = f"the {len(alone.nodes):,} queries that were evaluated both ways agree"
    if alone.all_seconds > 2 * seconds:
        took = f"{seconds:.1f} s for all of it, in place of about {alone.all_seconds:.0f} s"
        click.echo(f"\n  {took}.\n  {same[0].upper()}{same[1:]}.")
    else:
        click.echo(
            f"\n  One by one does as well here; {same}.\n"
            "  extract pays with many queries on large documents: `extract demo university`."
        )


def _show_result(report: Report, counts: Counter[str], output: Path) -> None:
    """What came out, in words and with an example."""
    results, scheme = output / "results", report.scheme
    click.echo(
        f"\nThe answer\n"
        f"  {len(counts):,} of {scheme.counts()['registered']:,} subscriptions select something, "
        f"{sum(counts.values()):,} nodes together."
    )
    found_in_first = match(scheme, output / "documents" / "1.xml")
    first = min(found_in_first, default=None, key=lambda one: counts[one.query])
    identifier = first.query if first is not None else next(iter(counts), "")
    if first is not None:
        click.echo(
            f"  For example {first.query}, of which 1.xml has\n"
            f"    {first.path}\n    {_shortened(first.value or '')}"
        )
    scheme_file = output / _MARK
    click.echo(
        f"\nA picture of the queries and the chunks: {output / 'queries.svg'}\n"
        f"The results, as Parquet: {results / 'matches'}\n"
        f"What was rejected, and why: {results / 'rejected'}\n\n"
        f"To go on:\n"
        f"  extract explain --scheme {scheme_file} {identifier}\n"
        f"  extract run --engine local --scheme {scheme_file} \\\n"
        f"    {output / 'documents' / '1.xml'} -o rows\n"
        "  extract run --help"
    )


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
