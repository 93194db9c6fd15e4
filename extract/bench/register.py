"""``extract bench register``: what a subscription costs from the query file to the first message.

Every row is a process of its own, because memory that is freed does not go back to the system. It
reads a file of queries, prepares them, makes a filter (`extract.Filter`) and gives it a message,
saves the scheme and loads it again; and compiles a part of the queries with lxml, to compare.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from lxml import etree

from extract.bench.process import resident_bytes
from extract.bench.stock import (
    FIVE_PREDICATES,
    MIXED,
    alerts,
    different_shapes,
    messages,
    stock_schema,
)
from extract.bench.table import ResultTable
from extract.filtertool.matchers.registry import AUTO
from extract.live_filter import Filter
from extract.preptool.prepare import prepare
from extract.schema.model import Schema
from extract.scheme import Scheme
from extract.subscriptions import Subscriptions

_SIZES = (10_000, 100_000, 1_000_000)
_FEWER = (1_000, 10_000, 100_000)  # where every subscription is a shape of its own
_MATCHERS = (AUTO, "columnar")
_COMPILED = 20_000  # queries that lxml compiles

Queries: TypeAlias = Callable[[int], Iterable[tuple[str, str]]]

_KINDS: tuple[tuple[str, Queries, tuple[int, ...]], ...] = (
    ("one template", partial(alerts, shapes=(FIVE_PREDICATES,)), _SIZES),
    ("mixed", partial(alerts, shapes=MIXED), _SIZES),
    ("all different", different_shapes, _FEWER),
)


def run(data: Path | None, scale: float = 1.0) -> ResultTable:
    """Registers more and more subscriptions: of one shape, of several, and of one each."""
    rows: list[list[str | int | float]] = []
    with tempfile.TemporaryDirectory(prefix="extract-bench-") as folder:
        file = Path(folder) / "alerts.tsv"
        for name, queries, sizes in _KINDS:
            for size in sizes:
                count = max(100, int(size * scale))
                with file.open("w", encoding="utf-8") as stream:
                    stream.writelines(f"{i}\t{xpath}\n" for i, xpath in queries(count))
                for matcher in _MATCHERS:
                    facts = _in_a_process(file, matcher)
                    rows.append([name, matcher, count, *facts.values()])
    columns = (
        "subscriptions",
        "matcher",
        "count",
        "read s",
        "prepare s",
        "matcher s",
        "us each",
        "x lxml",
        "bytes each",
        "save s",
        "MB on disk",
        "load s",
    )
    remarks = (
        "auto is the push engine, with others for what it does not take.",
        "us each: processor time to read, prepare and make the filter, for one subscription.",
        "x lxml: the same against one etree.XPath compiled for each. Goal: 5 at most; aim: 2.",
        "bytes each: memory of scheme and filter beyond ids and constants. Goal: 500; aim: 100.",
        "Goals for 1,000,000: 60 MB on disk, loaded in 2 s. Where all are different shapes there",
        "is nothing to share, and no goal but that it costs no more than without templates.",
    )
    return ResultTable("Registering subscriptions, one core", columns, rows, remarks)


def _in_a_process(file: Path, matcher: str) -> dict[str, float]:
    code = "import sys; from extract.bench.register import measure; measure(*sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(file), matcher], stdout=subprocess.PIPE, check=True
    )
    facts: dict[str, float] = json.loads(done.stdout)
    return facts


def measure(path: str, matcher: str) -> None:
    """Registers the queries of a file, and prints the figures as JSON."""
    schema, message = stock_schema(), next(messages(1))
    _warm_up(schema, matcher, message)
    before = resident_bytes()
    times = [time.process_time()]

    def step() -> float:
        times.append(time.process_time())
        return times[-1] - times[-2]

    subscriptions = Subscriptions.load(path)
    read = step()
    scheme = prepare(schema, subscriptions, chunks=1)
    prepared = step()
    count = len(subscriptions)
    del subscriptions
    ready = Filter(scheme, "doc", matcher)
    ready.table([("first", message)])  # which has all values: some indexes are made now
    made = step()
    own = len(scheme.members.heap)
    memory = resident_bytes() - before - own
    file = Path(f"{path}.scheme.json")
    step()
    scheme.save(file)
    saved = step()
    size = sum(one.stat().st_size for one in file.parent.glob(f"{file.name}*"))
    step()
    loaded = Scheme.load(file)
    load = step()
    assert len(loaded.members) == count
    each = (read + prepared + made) / count
    facts = {
        "read": read,
        "prepare": prepared,
        "matcher": made,
        "us": each * 1e6,
        "ratio": each / _compiling(path),
        "bytes": max(0, memory) / count,
        "save": saved,
        "disk": size / 1e6,
        "load": load,
    }
    for one in file.parent.glob(f"{file.name}*"):
        one.unlink()
    sys.stdout.write(json.dumps(facts))


def _warm_up(schema: Schema, matcher: str, message: bytes) -> None:
    """Imports all that is used, and makes what is made once."""
    importlib.import_module("pyarrow.parquet")
    some = Subscriptions.of(dict(alerts(20, MIXED)))
    Filter(prepare(schema, some, chunks=1), "doc", matcher).table([("first", message)])


def _compiling(path: str) -> float:
    """Seconds of lxml for one query; the better of two rounds."""
    with open(path, encoding="utf-8") as lines:
        xpaths = [line.rstrip("\n").partition("\t")[2] for line in islice(lines, _COMPILED)]
    best = float("inf")
    for _ in range(2):
        started = time.process_time()
        compiled = [etree.XPath(xpath) for xpath in xpaths]
        best = min(best, (time.process_time() - started) / len(compiled))
    return best
