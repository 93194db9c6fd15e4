"""``extract bench load``: a million subscriptions on one machine, and what each of them costs.

Each step is a command in a process of its own, as a user would call it, whose processor time and
peak memory the system counts. A sample of the answers is compared with those of lxml.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from itertools import chain, count, islice
from pathlib import Path
from random import Random
from typing import NamedTuple

import pyarrow.compute as pc
import pyarrow.dataset as ds
from lxml import etree

from extract.bench.process import measured
from extract.bench.table import ResultTable
from extract.scenarios import Scenario, scenario
from extract.scenarios.queries import random_queries
from extract.subscriptions import Subscriptions

_SUBSCRIPTIONS = 1_000_000
_PARTS = (0.01, 0.1, 1.0)  # of them, to see how costs grow
_KINDS = 10  # of queries; there are as many of each
_SAMPLE = 300  # subscriptions whose answers are compared


def run(data: Path | None, scale: float = 1.0) -> ResultTable:
    """Registers more and more subscriptions, and asks for all of them in all messages."""
    news = scenario("nitf", data)
    rows: list[list[str | int | float]] = []
    with tempfile.TemporaryDirectory(prefix="extract-bench-") as folder:
        place = Path(folder)
        messages = _write_messages(news, place / "messages")
        queries = different_queries(news, data, max(100, int(_SUBSCRIPTIONS * scale)))
        for part in _PARTS:
            some = queries[: max(10, int(len(queries) * part))]
            rows.append(_measure(news, some, messages, place))
    columns = (
        "subscriptions",
        "different",
        "prep s",
        "prep MB",
        "file MB",
        "start s",
        "run MB",
        "KB each",
        "ms a message",
        "messages/s",
        "rows",
        "compared",
        "wrong",
    )
    remarks = [
        "prep s: processor seconds of `extract prep`; MB: peak memory of a process, if it is more",
        "than the benchmark's own.",
        "start s: of `extract run --engine local --jobs 1 --select count` for one message, to load",
        "the scheme and to compile the queries; ms a message: what each further one adds.",
        "KB each: run MB for one subscription, interpreter and libraries included.",
        "compared: numbers of matches, of a sample of subscriptions, with those of lxml.",
    ]
    if not news.real:
        remarks.append("Messages and queries of our own: ../shared/data is not there.")
    return ResultTable("A million subscriptions, one core", columns, rows, tuple(remarks))


def different_queries(news: Scenario, data: Path | None, wanted: int) -> list[str]:
    """So many different queries, in an order of chance.

    Some are YFilter's own, where they are; some as its generator makes them, with one to three
    nested paths; the others are all of those again with a value that the node must have.
    """
    files = sorted((data / "nitf").glob("*.tsv.gz")) if data is not None and news.real else []
    some = -(-wanted // _KINDS)
    schema = news.schema()
    written = [islice(_xpaths(file), some) for file in files]
    made = [random_queries(schema, some, filters, seed=filters) for filters in (1, 2, 3)]
    plain = list(dict.fromkeys(chain(*written, *made)))
    valued = (f"{xpath}[. = '{value}']" for value in count(1) for xpath in plain)
    every = [*plain, *islice(valued, wanted - len(plain))]
    Random(1).shuffle(every)
    return every


def _xpaths(file: Path) -> Iterator[str]:
    return (one.xpath for one in Subscriptions.load(file))


def _write_messages(news: Scenario, folder: Path) -> list[Path]:
    folder.mkdir()
    paths = []
    for number, data in enumerate(news.documents()):
        paths.append(folder / f"{number}.xml")
        paths[-1].write_bytes(data)
    return paths


def _measure(
    news: Scenario, queries: list[str], messages: list[Path], place: Path
) -> list[str | int | float]:
    file, scheme, results = place / "queries.tsv", place / "scheme.json", place / "results"
    with file.open("w", encoding="utf-8") as stream:
        stream.writelines(f"{number}\t{xpath}\n" for number, xpath in enumerate(queries))
    schema = ["--schema", str(news.folder / news.generator.SCHEMA), "--root", news.generator.ROOT]
    samples = [f"--sample={path}" for path in messages[:5]]
    prep = measured("prep", *schema, "--queries", str(file), *samples, "-o", str(scheme))
    asked = ("--engine", "local", "--jobs", "1", "--select", "count", "-o", str(results))
    started = measured("run", "--scheme", str(scheme), *asked, str(messages[0]))
    ran = measured("run", "--scheme", str(scheme), *asked, str(messages[0].parent))
    report = json.loads((results / "report.json").read_bytes())
    each = max(1e-6, ran.seconds - started.seconds) / (len(messages) - 1)
    answers = compare_answers(queries, messages, results / "matches")
    return [
        len(queries),
        report["queries"]["canonical"],
        prep.seconds,
        prep.peak_mb,
        scheme.stat().st_size / 1e6,
        started.seconds,
        ran.peak_mb,
        1e3 * ran.peak_mb / len(queries),
        1e3 * each,
        1 / each,
        report["matches"],
        answers.compared,
        answers.wrong,
    ]


class AnswerCheck(NamedTuple):
    """How many numbers of matches were compared, and how many of ours were wrong."""

    compared: int
    wrong: int


def compare_answers(queries: list[str], messages: Iterable[Path], matches: Path) -> AnswerCheck:
    """Compares the answers of a sample of queries, in all messages, with those of lxml."""
    chosen = Random(2).sample(range(len(queries)), min(_SAMPLE, len(queries)))
    wanted = pc.field("query").isin([str(number) for number in chosen])
    table = ds.dataset(matches, format="parquet").to_table(filter=wanted)
    ours = {(row["document"], row["query"]): row["count"] for row in table.to_pylist()}
    compiled = {str(number): etree.XPath(queries[number]) for number in chosen}
    compared = wrong = 0
    for message in messages:
        tree = etree.parse(message)
        for name, xpath in compiled.items():
            compared += 1
            wrong += len(xpath(tree)) != ours.pop((str(message), name), 0)
    return AnswerCheck(compared, wrong + len(ours))
