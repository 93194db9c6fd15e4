"""``extract bench register``: what a subscription costs from the query file to the matcher.

Every row is a process of its own, because memory that is freed does not go back to the system. It
reads a file of queries, prepares them, makes the matcher, saves the scheme and loads it again; and
compiles a part of the queries with lxml, to compare.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

from lxml import etree

from extract.bench.stock import FIVE_PREDICATES, MIXED, alerts, stock_schema
from extract.bench.table import ResultTable
from extract.filtertool.document_filter import Options, document_filter
from extract.filtertool.matchers.registry import load_matcher
from extract.preptool.prepare import prepare
from extract.scheme import Scheme
from extract.subscriptions import Subscriptions

_SIZES = (10_000, 100_000, 1_000_000)
_COMPILED = 20_000  # queries that lxml compiles
_DOCUMENT = b"<stock/>"


def run(data: Path | None, scale: float = 1.0) -> ResultTable:
    """Registers more and more subscriptions, of one shape and of several."""
    rows: list[list[str | int | float]] = []
    with tempfile.TemporaryDirectory(prefix="extract-bench-") as folder:
        for name, shapes in (("one template", (FIVE_PREDICATES,)), ("mixed", MIXED)):
            for size in _SIZES:
                count = max(100, int(size * scale))
                file = Path(folder) / "alerts.tsv"
                with file.open("w", encoding="utf-8") as stream:
                    stream.writelines(f"{i}\t{xpath}\n" for i, xpath in alerts(count, shapes))
                facts = _in_a_process(file)
                rows.append([name, count, *facts.values()])
    columns = (
        "subscriptions",
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
        "us each: processor time to read, prepare and make the matcher, for one subscription.",
        "x lxml: the same against one etree.XPath compiled for each. Goal: 5 at most; aim: 2.",
        "bytes each: memory of scheme and matcher beyond ids and constants. Goal: 500; aim: 100.",
        "Goals for 1,000,000: 60 MB on disk, loaded in 2 s.",
    )
    return ResultTable("Registering subscriptions, one core", columns, rows, remarks)


def _in_a_process(file: Path) -> dict[str, float]:
    code = "import sys; from extract.bench.register import measure; measure(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)], stdout=subprocess.PIPE, check=True
    )
    facts: dict[str, float] = json.loads(done.stdout)
    return facts


def measure(path: str) -> None:
    """Registers the queries of a file, and prints the figures as JSON."""
    schema = stock_schema()
    _warm_up(schema)
    before = _memory()
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
    filter_ = document_filter(scheme, load_matcher("columnar"), Options(select="doc"))
    filter_.process([("warm", _DOCUMENT)])
    made = step()
    own = len(scheme.members.heap)
    memory = _memory() - before - own
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


def _warm_up(schema: Any) -> None:
    """Imports all that is used, and makes what is made once."""
    importlib.import_module("pyarrow.parquet")
    some = Subscriptions.of(dict(alerts(20, MIXED)))
    scheme = prepare(schema, some, chunks=1)
    document_filter(scheme, load_matcher("columnar"), Options(select="doc")).process(
        [("warm", _DOCUMENT)]
    )


def _memory() -> int:
    """Bytes of this process that are in memory."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


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
