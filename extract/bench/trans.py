"""``extract bench trans``: what normalising costs, and how it grows with the number of queries."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

from lxml import etree

from extract.bench.table import ResultTable
from extract.scenarios import scenario
from extract.scenarios.queries import random_queries
from extract.schema.model import Schema
from extract.subscriptions import Subscriptions
from extract.transtool import normalise_all

_SETS = ("linear", "nested1", "nested2")
_SIZES = (10_000, 30_000, 100_000)


def run(data: Path | None, scale: float = 1.0) -> ResultTable:
    """Normalises growing parts of each query set on one core, and compiles them in lxml."""
    rows: list[list[str | int | float]] = []
    remarks = []
    for name, schema, subscriptions in _inputs(data, scale):
        for size in _SIZES:
            part = Subscriptions.of(subscriptions[: max(1, int(size * scale))])
            if rows and rows[-1][:2] == [name, len(part)]:
                continue  # fewer queries than asked for
            rows.append([name, len(part), *_measure(schema, part)])
    if data is None:
        remarks.append("Own queries over a built-in schema: ../shared/data is not there.")
    remarks.append("lxml: one etree.XPath compiled per query, nothing evaluated.")
    columns = ("queries", "count", "seconds", "us/query", "branches", "unsat", "x lxml", "peak MB")
    return ResultTable("TRANSTOOL, one core", columns, rows, tuple(remarks))


def _inputs(data: Path | None, scale: float) -> list[tuple[str, Schema, Subscriptions]]:
    if data is not None:
        schema = Schema.load(data / "nitf" / "nitf.dtd", "nitf")
        return [
            (f"nitf {name}", schema, Subscriptions.load(data / "nitf" / f"{name}.tsv.gz"))
            for name in _SETS
        ]
    schema = scenario("nitf").schema()
    count = int(_SIZES[-1] * scale)
    return [
        (name, schema, Subscriptions.of(random_queries(schema, count, filters)))
        for filters, name in enumerate(_SETS)
    ]


def _measure(schema: Schema, subscriptions: Subscriptions) -> list[float | int]:
    started = time.process_time()
    branches = dead = 0
    for query in normalise_all(schema, subscriptions):
        assert query.form is not None, query.error
        branches += len(query.form.branches)
        dead += not query.form.branches
    seconds = time.process_time() - started
    started = time.process_time()
    for subscription in subscriptions:
        etree.XPath(subscription.xpath)
    compiled = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    megabytes = peak // (1024 if sys.platform.startswith("linux") else 1024 * 1024)
    count = len(subscriptions)
    return [
        seconds,
        seconds / count * 1e6,
        branches / count,
        dead,
        seconds / compiled,
        megabytes,
    ]
