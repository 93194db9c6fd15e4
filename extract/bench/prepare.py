"""``extract bench prepare``: what real queries cost before the first document, next to lxml.

The unit is ``etree.XPath`` over the same queries, in the same process: rules of real rule sets are
written one by one, so that nearly each is a template of its own.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from lxml import etree

from extract.bench.table import ResultTable
from extract.filtertool.job import Job
from extract.filtertool.matchers.registry import AUTO, load_matcher
from extract.filtertool.options import Options
from extract.preptool.prepare import prepare
from extract.scenarios import scenario
from extract.scenarios.queries import random_queries
from extract.schema.model import Schema
from extract.scheme.model import Scheme
from extract.subscriptions import Subscriptions

# Schema, root and queries of the real sets.
_SETS: Final = {
    "eforms": (
        "schemas/maindoc/UBL-ContractNotice-2.3.xsd",
        "ContractNotice",
        "queries.jsonl.gz",
    ),
    "ubl": ("schema/maindoc/UBL-Invoice-2.1.xsd", "Invoice", "rules.jsonl"),
    "wordnet": ("WN-LMF-relaxed-1.1.dtd", "LexicalResource", "queries.tsv"),
    "nitf": ("nitf.dtd", "nitf", "nested1.tsv.gz"),
}
_MADE: Final = "own queries"
_SIZES: Final = (500, 2_000, 8_000)
_ROUNDS: Final = 3


class PrepareCost(NamedTuple):
    """Processor time for one query, in seconds.

    Attributes:
        queries: How many queries there are.
        templates: How many templates they have.
        compiling: One ``etree.XPath`` each.
        preparing: From queries to a scheme.
        filter: From the scheme to a filter.
    """

    queries: int
    templates: int
    compiling: float
    preparing: float
    filter: float

    @property
    def ratio(self) -> float:
        """How many times compiling it a query costs until documents can come."""
        return (self.preparing + self.filter) / self.compiling


def prepare_ratio(schema: Schema, subscriptions: Subscriptions) -> PrepareCost:
    """Prepares queries and makes their filter, once, and compiles them in lxml.

    Call it once in a process: what was read before is known, and a second time costs less. What is
    made once for a schema, and what is imported, is made before.

    Args:
        schema: The schema.
        subscriptions: The queries.
    """
    _filter(prepare(schema, Subscriptions.of(subscriptions[:20]), AUTO))
    compiling = _compiling(subscriptions)
    gc.collect()
    started = time.process_time()
    scheme = prepare(schema, subscriptions, AUTO)
    prepared = time.process_time()
    ready = _filter(scheme)
    filtering = time.process_time() - prepared
    del ready
    compiling = min(compiling, _compiling(subscriptions))
    count = max(1, len(subscriptions))
    each = [seconds / count for seconds in (compiling, prepared - started, filtering)]
    return PrepareCost(len(subscriptions), len(scheme.templates.xpaths), *each)


def _compiling(subscriptions: Subscriptions) -> float:
    """Seconds of lxml for all queries; the better of two rounds."""
    seconds: list[float] = []
    for _ in range(2):
        gc.collect()
        started = time.process_time()
        compiled = _compiled(subscriptions)
        seconds.append(time.process_time() - started)
        del compiled
    return min(seconds)


def run(data: Path | None, scale: float = 1.0) -> ResultTable:
    """Measures growing parts of each set, and the memory of all its queries."""
    rows: list[list[str | int | float]] = []
    for name in _names(data):
        last = 0
        for size in _SIZES:
            facts = [_in_a_process(data, name, max(1, int(size * scale))) for _ in range(_ROUNDS)]
            if facts[0]["queries"] == last:
                continue  # fewer queries than asked for
            last = int(facts[0]["queries"])
            lxml, prepared, made = (
                min(one[key] for one in facts) * 1e6 for key in ("compiling", "preparing", "filter")
            )
            ours, theirs = (min(one[key] for one in facts) for key in ("ours", "theirs"))
            rows.append(
                [
                    name,
                    last,
                    int(facts[0]["templates"]),
                    min(one["schema"] for one in facts),
                    lxml,
                    prepared,
                    made,
                    prepared / lxml,
                    (prepared + made) / lxml,
                    ours / last / 1000,
                    ours / max(1, theirs),
                ]
            )
    remarks = [
        "us: processor time for one query, the first time in a process, best of several processes;",
        "lxml: one etree.XPath compiled for each. x lxml: preparing against that; all x: with the",
        "filter. KB: memory of scheme and filter for one query, and against that of the compiled",
        "XPaths. schema s: loading the schema, which is not in the others.",
    ]
    if data is None:
        remarks.append("Own queries over a built-in schema: ../shared/data is not there.")
    columns = ("set", "queries", "templates", "schema s", "lxml us", "prepare us", "filter us")
    return ResultTable(
        "Preparing real queries, one core",
        (*columns, "x lxml", "all x", "KB", "x lxml KB"),
        rows,
        tuple(remarks),
    )


def _names(data: Path | None) -> Iterator[str]:
    if data is None:
        yield _MADE
    else:
        yield from [name for name in _SETS if (data / name).is_dir()]


def _schema(data: Path | None, name: str) -> Schema:
    if data is None:
        return scenario("nitf").schema()
    path, root, _ = _SETS[name]
    return Schema.load(data / name / path, root)


def _queries(data: Path | None, name: str) -> Subscriptions:
    if data is None:
        return Subscriptions.of(random_queries(_schema(None, name), _SIZES[-1], 1))
    return Subscriptions.load(data / name / _SETS[name][2])


def _filter(scheme: Scheme) -> object:
    return Job(scheme, load_matcher(AUTO), Options("count")).filter()


def _compiled(subscriptions: Subscriptions) -> list[etree.XPath]:
    """The queries in lxml, without those that it does not compile."""
    out: list[etree.XPath] = []
    for one in subscriptions:
        try:
            out.append(etree.XPath(one.xpath, namespaces=dict(one.namespaces)))
        except etree.XPathError:
            continue
    return out


def _in_a_process(data: Path | None, name: str, count: int) -> dict[str, float]:
    code = "import sys; from extract.bench.prepare import measure; measure(*sys.argv[1:])"
    arguments = [str(data or ""), name, str(count)]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, check=True
    )
    facts: dict[str, float] = json.loads(done.stdout)
    return facts


def measure(folder: str, name: str, count: str) -> None:
    """Prints what queries of a set cost, as JSON."""
    data = Path(folder) if folder else None
    queries = _queries(data, name)
    part = Subscriptions.of(queries[: int(count)])
    # Before the schema is loaded: memory that this frees would be taken again, and not be seen.
    start = _memory()
    compiled = _compiled(part)
    theirs = _memory() - start
    del compiled
    started = time.process_time()
    schema = _schema(data, name)
    assert schema.places.all
    loading = time.process_time() - started
    cost = prepare_ratio(schema, part)
    tracemalloc.start()
    ready = _filter(prepare(schema, part, AUTO))
    ours, _ = tracemalloc.get_traced_memory()
    del ready
    facts = {**cost._asdict(), "schema": loading, "ours": ours, "theirs": theirs}
    sys.stdout.write(json.dumps(facts))


def _memory() -> int:
    """Bytes of this process that are in memory."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
